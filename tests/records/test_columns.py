"""The twins of the columns: equal buffers of every section, equal refusals, and nothing kept of what is refused."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from strandline.model.failures import CorruptData
from strandline.records import columns
from strandline.records.builder import encode_record, encode_records
from strandline.records.columns import ColumnBuffers, Columns, CompiledColumns, PureColumns, SectionFields
from strandline.records.record import Record

headers = st.lists(st.tuples(st.text(max_size=5), st.none() | st.binary(max_size=5)), max_size=3).map(tuple)
records = st.builds(
    Record,
    st.integers(0, 300),
    st.integers(-(2**62), 2**62),
    st.none() | st.binary(max_size=80),
    st.none() | st.binary(max_size=200),
    headers,
)
sections = st.lists(records, max_size=10)
windows = st.tuples(st.integers(0, 320), st.integers(0, 320))
changes = st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), max_size=2)


def test_the_compiled_twin_is_here_where_the_rest_of_the_compiled_module_is() -> None:
    from strandline.records import walk

    assert walk.IS_COMPILED == columns.IS_COMPILED


def fields_of(record_count: int, window: tuple[int, int] = (0, columns.OFFSETS_END)) -> SectionFields:
    return SectionFields(record_count, 0, 0, 0, False, columns.CREATE_TIME, *window)


def twins(*, include_headers: bool) -> list[Columns]:
    both: list[Columns] = [PureColumns(include_headers=include_headers)]
    if columns.IS_COMPILED:
        both.append(CompiledColumns(include_headers=include_headers))
    return both


def filled(target: Columns, parts: list[tuple[bytes, SectionFields]]) -> tuple[list[str], tuple[object, ...]]:
    """What was said of each section, and the buffers as bytes: bits behind the last row mean nothing."""
    outcomes = []
    for section, fields in parts:
        try:
            outcomes.append(f"{target.append(section, fields)} rows of {target.rows}")
        except CorruptData as corrupt:
            outcomes.append(str(corrupt))
    return outcomes, comparable(target.take())


def comparable(buffers: ColumnBuffers) -> tuple[object, ...]:
    counts = {"headers_validity": buffers.rows, "header_value_validity": buffers.headers}
    counts |= {"key_validity": buffers.rows, "value_validity": buffers.rows}
    return tuple(
        value if not isinstance(value, memoryview) else bits_of(value, counts[name]) if name in counts else bytes(value)
        for name, value in zip(ColumnBuffers._fields, buffers, strict=True)
    )


def bits_of(bitmap: memoryview, count: int) -> list[int]:
    return [bitmap[index // 8] >> index % 8 & 1 for index in range(count)]


@given(st.lists(st.tuples(sections, windows), max_size=4), st.booleans())
def test_twins_agree_on_sound_sections(
    parts: list[tuple[list[Record], tuple[int, int]]], include_headers: bool
) -> None:
    encoded = [(bytes(encode_records(rows, 0, 0)), fields_of(len(rows), window)) for rows, window in parts]
    results = [filled(twin, encoded) for twin in twins(include_headers=include_headers)]
    assert all(result == results[0] for result in results)
    kept = sum(start <= row.offset < end for rows, (start, end) in parts for row in rows)
    assert results[0][1][0] == kept


@settings(max_examples=300)
@given(st.lists(st.tuples(sections, changes, st.integers(-1, 1)), max_size=3))
def test_twins_agree_on_damaged_sections(
    parts: list[tuple[list[Record], list[tuple[int, int]], int]],
) -> None:
    encoded = []
    for rows, damage, more_records in parts:
        section = encode_records(rows, 0, 0)
        for position, byte in damage if section else ():
            section[position % len(section)] = byte
        encoded.append((bytes(section), fields_of(len(rows) + more_records)))
    results = [filled(twin, encoded) for twin in twins(include_headers=True)]
    assert all(result == results[0] for result in results)


@pytest.mark.parametrize("twin", [0, -1])
def test_buffers_grow_with_what_comes_and_begin_anew_when_taken(twin: int) -> None:
    target = twins(include_headers=True)[twin]
    section = encode_records([Record(0, 0, b"k" * 9000, b"v" * 300_000, (("h" * 5000, b"x" * 70_000),) * 3)], 0, 0)
    for _ in range(3):
        assert target.append(section, fields_of(1)) == 1
    taken = target.take()
    assert (taken.rows, taken.headers, len(taken.key_data), len(taken.value_data)) == (3, 9, 27_000, 900_000)
    assert taken.header_value_data is not None
    assert bytes(taken.header_value_data) == b"x" * 630_000
    assert target.rows == 0
    target.append(section, fields_of(1))
    assert bytes(target.take().key_data) == b"k" * 9000
    assert bytes(taken.key_data) == b"k" * 27_000


@pytest.mark.parametrize("twin", [0, -1])
def test_times_beyond_microseconds_become_the_greatest_and_those_beyond_64_bits_are_refused(twin: int) -> None:
    target = twins(include_headers=False)[twin]
    section = encode_records([Record(0, 2**63 - 1, None, None), Record(1, -(2**63), None, None)], 0, 0)
    target.append(section, fields_of(2))
    assert list(target.take().timestamps.cast("q")) == [9223372036854775000, -9223372036854775000]
    beyond = bytearray()
    encode_record(beyond, 0, 1, None, None)
    with pytest.raises(CorruptData, match="out of range"):
        target.append(beyond, fields_of(1)._replace(base_timestamp=2**63 - 1))
    assert target.rows == 0


@pytest.mark.parametrize("twin", [0, -1])
def test_a_count_that_lies_costs_nothing(twin: int) -> None:
    with pytest.raises(CorruptData, match="2000000000 records do not fit in 7 bytes"):
        twins(include_headers=False)[twin].append(bytes(7), fields_of(2_000_000_000))
