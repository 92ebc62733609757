"""SPEC D1, D2: batches of every format and codec become the Arrow rows that Kafka's consumer would show."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from strandline.model.failures import CorruptData
from strandline.records import columns
from strandline.records.builder import build_batch
from strandline.records.compression import Codec
from strandline.records.control import build_marker
from strandline.records.record import Headers, Record
from strandline.spark.arrow_decoding import (
    DECODED_SCHEMA_WITH_HEADERS,
    KAFKA_SCHEMA,
    KAFKA_SCHEMA_WITH_HEADERS,
    ArrowDecoder,
    Decoded,
    kafka_rows,
)

BATCHES = Path(__file__).parent.parent / "golden" / "batches"
GOLDEN = sorted(path.stem for path in BATCHES.glob("*.bin"))
TYPES = {"CreateTime": 0, "LogAppendTime": 1, "NoTimestampType": -1}


def rows_of(decoded: Decoded) -> list[dict[str, Any]]:
    for rows in decoded.record_batches:
        rows.validate(full=True)
    return [row for rows in decoded.record_batches for row in rows.to_pylist()]


def offsets_of(decoded: Decoded) -> list[int]:
    return [row["offset"] for row in rows_of(decoded)]


@pytest.fixture(params=["compiled", "pure"])
def either_twin(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "pure":
        monkeypatch.setattr(columns, "IS_COMPILED", False)


@pytest.mark.usefixtures("either_twin")
@pytest.mark.parametrize("name", GOLDEN)
def test_golden_batches_are_read_as_kafka_reads_them(name: str) -> None:
    told = json.loads((BATCHES / f"{name}.json").read_text())
    decoded = ArrowDecoder(include_headers=True, group_bytes=1).decode((BATCHES / f"{name}.bin").read_bytes())
    expected = [
        (record, batch["timestamp_type"])
        for batch in told["batches"]
        if not batch.get("is_control")
        for record in batch["records"]
    ]
    rows = rows_of(decoded)
    assert len(rows) == len(expected)
    for row, (record, timestamp_type) in zip(rows, expected, strict=True):
        assert row["offset"] == record["offset"]
        assert row["timestamp"] == datetime.fromtimestamp(0, UTC) + _milliseconds(record["timestamp"])
        assert row["timestampType"] == TYPES[timestamp_type]
        _is_told(row["key"], record["key"])
        _is_told(row["value"], record["value"])
        told_headers = record.get("headers") or None
        assert (None if row["headers"] is None else len(row["headers"])) == (told_headers and len(told_headers))
        for header, told_header in zip(row["headers"] or (), told_headers or (), strict=True):
            assert header["key"] == told_header["key"]
            _is_told(header["value"], told_header["value"])
    assert decoded.next_offset == told["batches"][-1]["next_offset"]


def _milliseconds(count: int) -> Any:
    from datetime import timedelta

    return timedelta(milliseconds=count)


def _is_told(data: bytes | None, told: str | dict[str, Any] | None) -> None:
    if isinstance(told, dict):
        assert data is not None
        assert len(data) == told["size"]
    else:
        assert (None if data is None else data.hex()) == told


def batch(first_offset: int, count: int, *, headers: Headers = (), **fields: Any) -> bytes:
    records = [
        Record(offset, 1000 + offset, b"k%d" % offset, b"v" * offset, headers)
        for offset in range(first_offset, first_offset + count)
    ]
    return bytes(build_batch(records, **fields))


def test_a_window_cuts_batches_and_says_where_to_go_on() -> None:
    data = batch(0, 10) + batch(10, 10, codec=Codec.ZSTD) + batch(20, 10)
    decoded = ArrowDecoder().decode(data, from_offset=7, to_offset=22)
    assert offsets_of(decoded) == list(range(7, 22))
    assert (decoded.next_offset, decoded.is_at_end) == (30, True)
    decoded = ArrowDecoder().decode(data, from_offset=12, to_offset=20)
    assert (offsets_of(decoded), decoded.next_offset, decoded.is_at_end) == (list(range(12, 20)), 20, True)
    decoded = ArrowDecoder().decode(data, from_offset=25)
    assert (offsets_of(decoded), decoded.next_offset, decoded.is_at_end) == (list(range(25, 30)), 30, False)


def test_nothing_and_a_batch_cut_short_leave_the_position_where_it_was() -> None:
    assert ArrowDecoder().decode(b"", from_offset=5) == Decoded([], 5, False)
    decoded = ArrowDecoder().decode((batch(5, 3) + batch(8, 3))[:-1], from_offset=5)
    assert (offsets_of(decoded), decoded.next_offset) == ([5, 6, 7], 8)


def test_whole_batches_are_grouped_by_their_bytes() -> None:
    data = b"".join(batch(10 * number, 10) for number in range(10))
    decoded = ArrowDecoder(group_bytes=2000).decode(data)
    assert len(decoded.record_batches) > 1
    assert all(rows.num_rows % 10 == 0 for rows in decoded.record_batches)
    assert offsets_of(decoded) == list(range(100))


def transactional(first_offset: int, count: int, producer_id: int) -> bytes:
    return batch(first_offset, count, producer_id=producer_id, producer_epoch=0, base_sequence=0, is_transactional=True)


def marker(offset: int, producer_id: int, *, is_commit: bool) -> bytes:
    return bytes(
        build_marker(
            producer_id=producer_id,
            producer_epoch=0,
            is_commit=is_commit,
            coordinator_epoch=0,
            timestamp=0,
            base_offset=offset,
        )
    )


def test_readers_of_committed_data_are_shown_neither_markers_nor_aborted_ranges() -> None:
    data = (
        transactional(0, 2, producer_id=1)
        + transactional(2, 2, producer_id=2)
        + batch(4, 1)
        + marker(5, 1, is_commit=False)
        + transactional(6, 1, producer_id=1)  # the next transaction of the same producer
        + marker(7, 2, is_commit=True)
        + marker(8, 1, is_commit=True)
        + transactional(9, 1, producer_id=1)
        + marker(10, 1, is_commit=False)
    )
    decode = ArrowDecoder().decode
    assert offsets_of(decode(data)) == [0, 1, 2, 3, 4, 6, 9]
    assert offsets_of(decode(data, aborted=[])) == [0, 1, 2, 3, 4, 6, 9]
    assert offsets_of(decode(data, aborted=[(1, 9), (1, 0)])) == [2, 3, 4, 6]
    # A fetch that begins amid the transaction is told of it with its first offset, which lies below.
    assert offsets_of(decode(data, from_offset=1, aborted=[(1, 0)])) == [2, 3, 4, 6, 9]
    assert decode(data, aborted=[(1, 9), (1, 0)]).next_offset == 11


def test_damage_is_told_and_leaves_nothing_for_the_next_call() -> None:
    damaged = bytearray(batch(10, 10))
    damaged[-2] ^= 1  # in the last value
    decoder = ArrowDecoder()
    with pytest.raises(CorruptData, match="CRC of the batch at offset 10"):
        decoder.decode(batch(0, 10) + damaged)
    assert offsets_of(decoder.decode(batch(20, 2))) == [20, 21]
    unchecked = ArrowDecoder(verify_crc=False)
    assert offsets_of(unchecked.decode(batch(0, 10) + damaged)) == list(range(20))


def test_header_keys_that_are_not_utf_8_become_text_that_is() -> None:
    data = batch(0, 1, headers=(("caf\xe9", b""), (b"\xff\xfe".decode("utf-8", "surrogateescape"), None)))
    [row] = rows_of(ArrowDecoder(include_headers=True).decode(data))
    assert row["headers"] == [{"key": "café", "value": b""}, {"key": "\ufffd\ufffd", "value": None}]


def test_kafkas_schema_has_topic_and_partition_between() -> None:
    for include_headers, schema in ((False, KAFKA_SCHEMA), (True, KAFKA_SCHEMA_WITH_HEADERS)):
        [decoded] = ArrowDecoder(include_headers=include_headers).decode(batch(3, 2)).record_batches
        rows = kafka_rows(decoded, "orders", 7)
        assert rows.schema.equals(schema)
        assert rows.column("topic").to_pylist() == ["orders", "orders"]
        assert rows.column("partition").to_pylist() == [7, 7]
        assert rows.column("offset").to_pylist() == [3, 4]


def test_the_decoder_names_the_schema_of_what_it_gives() -> None:
    decoder = ArrowDecoder(include_headers=True)
    assert decoder.schema is DECODED_SCHEMA_WITH_HEADERS
    [rows] = decoder.decode(batch(0, 1)).record_batches
    assert isinstance(rows, pa.RecordBatch)
    assert rows.schema.equals(decoder.schema)
