"""SPEC L2: the twins of the walk say the same of every section, sound or not."""

from __future__ import annotations

from array import array
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from strandline.model.failures import CorruptData
from strandline.records import walk
from strandline.records.batch import Buffer
from strandline.records.builder import encode_record, encode_records
from strandline.records.record import Record
from strandline.records.varint import append_varint, encode_varint

Walk = Callable[[Buffer, int], "array[int]"]
TWINS: list[Walk] = [walk.walk_records_pure, walk.walk_records]
if walk.IS_COMPILED:
    TWINS.append(walk.walk_records_compiled)

every_twin = pytest.mark.parametrize("twin", TWINS, ids=lambda twin: twin.__name__)

headers = st.lists(st.tuples(st.text(max_size=5), st.none() | st.binary(max_size=5)), max_size=3).map(tuple)
records = st.builds(
    Record,
    st.integers(0, 2**31 - 1),
    st.integers(-(2**63), 2**63 - 1),
    st.none() | st.binary(max_size=80),
    st.none() | st.binary(max_size=200),
    headers,
)


def outcome(twin: Walk, section: Buffer, count: int) -> array[int] | str:
    try:
        return twin(section, count)
    except CorruptData as corrupt:
        return str(corrupt)


def record_of(*fields: int | bytes) -> bytes:
    """A record from its fields: integers become varints, the attributes go before."""
    body = b"\x00" + b"".join(encode_varint(field) if isinstance(field, int) else field for field in fields)
    return encode_varint(len(body)) + body


@every_twin
def test_columns(twin: Walk) -> None:
    section = bytearray()
    encode_record(section, 0, 0, b"key", b"value", (("h", b"1"), ("n", None)))
    encode_record(section, 5, -70, None, b"")
    columns = twin(section, 2)
    assert list(columns[: walk.COLUMNS]) == [0, 22, 0, 0, 5, 3, 9, 5, 15, 2]
    assert list(columns[walk.COLUMNS :]) == [22, 30, -70, 5, 28, -1, 29, 0, 30, 0]
    assert section[columns[walk.KEY_POSITION] :][: columns[walk.KEY_LENGTH]] == b"key"
    assert section[columns[walk.VALUE_POSITION] :][: columns[walk.VALUE_LENGTH]] == b"value"
    assert section[columns[walk.HEADERS_POSITION] :].startswith(b"\x02h\x021")


@given(st.lists(records, max_size=12))
def test_twins_agree_on_sound_sections(entries: list[Record]) -> None:
    section = encode_records(entries, 0, 0)
    expected = walk.walk_records_pure(section, len(entries))
    for twin in TWINS:
        assert twin(memoryview(section), len(entries)) == expected


@settings(max_examples=400)
@given(
    st.lists(records, min_size=1, max_size=4),
    st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), max_size=3),
    st.integers(-1, 1),
    st.integers(-3, 3),
)
def test_twins_agree_on_damaged_sections(
    entries: list[Record], changes: list[tuple[int, int]], more_records: int, more_bytes: int
) -> None:
    section = encode_records(entries, 0, 0)
    for position, byte in changes:
        section[position % len(section)] = byte
    section = section[:more_bytes] if more_bytes < 0 else section + bytes(more_bytes)
    expected = outcome(walk.walk_records_pure, section, len(entries) + more_records)
    for twin in TWINS:
        assert outcome(twin, section, len(entries) + more_records) == expected


@given(st.binary(max_size=60), st.integers(-1, 9))
def test_twins_agree_on_garbage(section: bytes, count: int) -> None:
    expected = outcome(walk.walk_records_pure, section, count)
    for twin in TWINS:
        assert outcome(twin, section, count) == expected


@every_twin
@pytest.mark.parametrize(
    ("section", "sentence"),
    [
        (record_of(0, 0, -1, -1, 0) + b"\x00", "1 bytes are left after 1 records"),
        (record_of(0, 0, -1, -1, 0)[:-1], "1 records do not fit in 6 bytes"),
        (record_of(0, 0, -1, -1, 0, b"\x00"), "that its fields do not fill"),
        (record_of(0, 0, -1, -1) + bytes(1), "has a length of 5"),
        (encode_varint(-7) + bytes(6), "has a length of -7"),
        (encode_varint(2**31 - 1) + bytes(6), "has a length of 2147483647"),
        (record_of(0, 0, 100, -1, 0), "runs beyond the end"),
        (record_of(0, 0, 2**31 - 1, -1, 0), "runs beyond the end"),
        (record_of(0, 0, -1, 2**31 - 1, 0), "runs beyond the end"),
        (record_of(0, 0, -1, -1, -1), "-1 headers do not fit"),
        (record_of(0, 0, -1, -1, 2**31 - 1), "2147483647 headers do not fit"),
        (record_of(0, 0, -1, -1, 1, -1, -1), "header key at position 8 has a length of -1"),
        (record_of(0, 0, -1, -1, 1, 60, -1), "cut short"),
        (record_of(0, 0, -1, -1, 1, 0, 60), "that its fields do not fill"),
        (record_of(b"\xff" * 9 + b"\x02", 0, -1, -1, 0), "wider than 64 bits"),
        (record_of(0, b"\xff\xff\xff\xff\x10", -1, -1, 0), "wider than 32 bits"),
        (b"\xff\xff\xff\xff\xff\x01\x00", "wider than 32 bits"),
    ],
)
def test_refusals(twin: Walk, section: bytes, sentence: str) -> None:
    with pytest.raises(CorruptData, match=sentence):
        twin(section, 1)


@every_twin
def test_a_record_may_not_borrow_from_the_next(twin: Walk) -> None:
    """The key of the first record would end inside the second: within the section, not the record."""
    section = record_of(0, 0, 9, -1, 0) + record_of(0, 1, -1, b"\x08", b"abcd", 0)
    with pytest.raises(CorruptData):
        twin(section, 2)


@every_twin
@pytest.mark.parametrize("count", [-1, 2, 2**31 - 1])
def test_a_hostile_count_is_refused_before_anything_is_allocated(twin: Walk, count: int) -> None:
    with pytest.raises(CorruptData, match="do not fit in 7 bytes"):
        twin(record_of(0, 0, -1, -1, 0), count)


@every_twin
def test_more_records_than_memory_should_hold_are_refused(twin: Walk) -> None:
    """Their bytes may be few and compress well; what is told of each record is ten numbers."""
    smallest = bytes([12, 0, 0, 0, 1, 1, 0])
    count = walk.RECORDS_MAX + 1
    with pytest.raises(CorruptData, match="more than"):
        twin(smallest * count, count)


@every_twin
def test_negative_lengths_are_null_as_in_kafka(twin: Walk) -> None:
    columns = twin(record_of(0, 0, -5, -64, 1, 0, -3), 1)
    assert (columns[walk.KEY_LENGTH], columns[walk.VALUE_LENGTH], columns[walk.HEADER_COUNT]) == (-1, -1, 1)


@every_twin
def test_no_records_in_no_bytes(twin: Walk) -> None:
    assert list(twin(b"", 0)) == []


@every_twin
def test_the_widest_deltas(twin: Walk) -> None:
    section = record_of(2**63 - 1, -(2**31), -1, -1, 0) + record_of(-(2**63), 2**31 - 1, -1, -1, 0)
    columns = twin(section, 2)
    assert list(columns[walk.TIMESTAMP_DELTA :: walk.COLUMNS]) == [2**63 - 1, -(2**63)]
    assert list(columns[walk.OFFSET_DELTA :: walk.COLUMNS]) == [-(2**31), 2**31 - 1]


@every_twin
def test_long_keys_and_many_headers(twin: Walk) -> None:
    section = bytearray()
    encode_record(section, 0, 0, b"k" * 70_000, b"v" * 3_000_000, (("header", b"x" * 200),) * 300)
    columns = twin(section, 1)
    assert columns[walk.KEY_LENGTH] == 70_000
    assert columns[walk.VALUE_LENGTH] == 3_000_000
    assert columns[walk.HEADER_COUNT] == 300
    assert columns[walk.END] == len(section)


def test_longer_varints_than_needed() -> None:
    body = bytearray(b"\x00\x80\x00\x80\x80\x00\x81\x00\x81\x80\x80\x80\x00\x80\x00")
    section = bytearray()
    append_varint(section, len(body))
    section += body
    for twin in TWINS:
        assert list(twin(section, 1))[2:] == [0, 0, 9, -1, 14, -1, 16, 0]
