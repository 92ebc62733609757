"""SPEC D2: log files as rows. Kafka's own files, damage, files that grow and vanish; nothing is ever written."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.golden.dump_text import records_in
from tests.golden.test_golden_directories import ALL
from tests.log.making_logs import append, append_marker, numbered
from tests.spark.segment_tables import (
    GOLDEN,
    Rows,
    numbered_batch,
    one_log_file,
    open_writer,
    read,
    rows_in,
    tasks_for,
    without_place,
    write_log,
)

from strandline.log.filesystem import RealFileSystem
from strandline.log.log_directory import LogDirectory
from strandline.model.partitions import TopicPartition
from strandline.model.settings import LogSettings
from strandline.records.batch import set_base_offset, split_batches
from strandline.records.compression import Codec

EPOCH = datetime.fromtimestamp(0, UTC)
BATCH_BYTES = len(numbered_batch(0))


@pytest.mark.parametrize(("golden", "topic"), ALL)
@pytest.mark.parametrize("max_bytes", ["1", "1000000"])
def test_kafkas_directories_have_the_rows_that_kafka_dumps(golden: str, topic: str, max_bytes: str) -> None:
    dumped = records_in((GOLDEN / golden / f"{topic}-0.dump.txt").read_text())
    rows = read(GOLDEN / golden, topics=topic, maxBytesPerPartition=max_bytes)
    assert len(rows) == len(dumped)
    for row, record in zip(rows, dumped, strict=True):
        assert (row["topic"], row["partition"], row["offset"]) == (topic, 0, record.offset)
        assert row["timestamp"] == EPOCH + timedelta(milliseconds=record.timestamp)
        assert row["control"] == record.is_control
        assert tuple(header["key"] for header in row["headers"] or ()) == record.header_keys
        assert (row["crcOk"], row["fault"]) == (True, None)
        if not record.is_control:
            assert (row["key"], row["value"]) == (record.key, record.value)


def test_a_row_per_batch_has_what_is_in_its_head() -> None:
    rows = read(GOLDEN / "kraft-3.9" / "accounts-0", rowPer="batch")
    assert sum(row["recordCount"] for row in rows) == len(read(GOLDEN / "kraft-3.9" / "accounts-0"))
    emptied, cleaned, marker = rows[:3]
    assert (emptied["recordCount"], emptied["baseOffset"], emptied["lastOffset"]) == (0, 0, 2)
    assert emptied["baseTimestamp"] is None
    assert (cleaned["codec"], cleaned["baseSequence"], cleaned["lastSequence"]) == ("gzip", 0, 10)
    assert cleaned["deleteHorizon"] > cleaned["maxTimestamp"]
    assert (marker["control"], marker["transactional"], marker["position"]) == (True, True, 208)
    assert marker["position"] == emptied["sizeBytes"] + cleaned["sizeBytes"]


def test_batch_fields_are_repeated_for_their_records_and_sequences_counted_on(tmp_path: Path) -> None:
    log = open_writer(tmp_path / "orders-0")
    append(log, numbered_batch(0), leader_epoch=1)
    append(log, numbered(2**31 - 2, 4, producer_id=9, producer_epoch=5), leader_epoch=2)
    log.close(now_ms=0)
    rows = read(tmp_path)
    assert [row["sequence"] for row in rows[8:]] == [-1, -1, 2147483646, 2147483647, 0, 1]
    assert {(row["leaderEpoch"], row["producerId"], row["producerEpoch"], row["position"]) for row in rows} == {
        (1, -1, -1, 0),
        (2, 9, 5, BATCH_BYTES),
    }
    assert {row["file"] for row in rows} == {str(one_log_file(tmp_path / "orders-0"))}


def test_readers_of_committed_data_stop_where_a_transaction_is_open(tmp_path: Path) -> None:
    log = open_writer(tmp_path / "orders-0", segment_bytes=500)
    append(log, numbered(0, 2, producer_id=1, is_transactional=True))  # 0, 1
    append(log, numbered(0, 2, producer_id=2, is_transactional=True))  # 2, 3
    append_marker(log, 1, is_commit=False)  # 4
    append(log, numbered(2, 1, producer_id=1, is_transactional=True))  # 5
    append_marker(log, 2, is_commit=True)  # 6
    append_marker(log, 1, is_commit=True)  # 7
    append(log, numbered_batch(0))  # 8 to 17
    append(log, numbered(3, 1, producer_id=1, is_transactional=True))  # 18, open
    append(log, numbered_batch(0))  # 19 to 28
    log.close(now_ms=0)
    assert len(list((tmp_path / "orders-0").glob("*.log"))) > 1
    assert [row["offset"] for row in read(tmp_path)] == list(range(29))
    for max_bytes in ("1", "1000000"):
        rows = read(tmp_path, isolationLevel="read_committed", maxBytesPerPartition=max_bytes)
        assert [row["offset"] for row in rows] == [2, 3, 5, *range(8, 18)]
    batches = read(tmp_path, isolationLevel="read_committed", rowPer="batch")
    assert [row["baseOffset"] for row in batches] == [2, 5, 8]


@pytest.mark.parametrize("row_per", ["record", "batch"])
@pytest.mark.parametrize("max_bytes", ["1", "900", "1000000"])
def test_a_batch_with_a_wrong_crc_is_one_row_and_the_rest_is_read(tmp_path: Path, row_per: str, max_bytes: str) -> None:
    folder = write_log(tmp_path / "orders-0", 20)
    damage(folder, 7 * BATCH_BYTES + 100)
    rows = read(folder, rowPer=row_per, maxBytesPerPartition=max_bytes)
    [fault] = [row for row in rows if row["fault"]]
    assert fault["fault"] == "CRC of the batch at offset 70 does not match its bytes"
    assert (fault["position"], fault["crcOk"], fault["leaderEpoch"]) == (7 * BATCH_BYTES, False, 3)
    assert (fault["topic"], fault["partition"]) == ("orders", 0)
    if row_per == "record":
        assert (fault["offset"], fault["key"], fault["value"]) == (70, None, None)
        assert [row["offset"] for row in rows] == [*range(71), *range(80, 200)]
    else:
        assert [row["baseOffset"] for row in rows] == list(range(0, 200, 10))


def damage(folder: Path, position: int, data: bytes = b"\xff") -> None:
    with one_log_file(folder).open("r+b") as file:
        file.seek(position)
        file.write(data)


@pytest.mark.parametrize("length", [0, 80, 4096, 2**31 - 1, -1])
def test_where_a_length_is_wrong_reading_goes_on_at_the_next_indexed_batch(tmp_path: Path, length: int) -> None:
    folder = write_log(tmp_path / "orders-0", 20)
    damage(folder, 7 * BATCH_BYTES + 8, length.to_bytes(4, "big", signed=True))
    whole = read(folder)
    assert [row["offset"] for row in whole if not row["fault"]][:70] == list(range(70))
    assert [row["offset"] for row in whole if not row["fault"]][-110:] == list(range(90, 200))
    assert next(row["position"] for row in whole if row["fault"]) == 7 * BATCH_BYTES
    for max_bytes in ("1", "900", "3000"):
        assert read(folder, maxBytesPerPartition=max_bytes) == whole


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 10**6), st.binary(min_size=1, max_size=40)), min_size=1, max_size=4))
def test_no_damage_ends_a_query_or_shows_where_splits_were_cut(changes: list[tuple[int, bytes]]) -> None:
    with TemporaryDirectory() as scratch:
        folder = write_log(Path(scratch) / "orders-0", 20)
        size_bytes = one_log_file(folder).stat().st_size
        for position, data in changes:
            damage(folder, position % (size_bytes - len(data)), data)
        whole = read(folder)
        for max_bytes in ("1", "900", "3000"):
            assert read(folder, maxBytesPerPartition=max_bytes) == whole


def test_without_an_index_what_follows_a_wrong_length_is_told_as_lost(tmp_path: Path) -> None:
    folder = write_log(tmp_path / "orders-0", 20)
    next(folder.glob("*.index")).unlink()
    damage(folder, 7 * BATCH_BYTES + 8, b"\0\0\0\0")
    rows = read(folder, rowPer="batch")
    assert [row["baseOffset"] for row in rows] == [*range(0, 70, 10), None]
    assert rows[-1]["fault"] == f"no batch at position {7 * BATCH_BYTES}: its length reads 0"
    assert rows[-1]["sizeBytes"] == 13 * BATCH_BYTES


def test_records_that_do_not_fill_their_batch_are_a_fault_though_its_crc_is_right(tmp_path: Path) -> None:
    from strandline.records.builder import seal_batch

    folder = write_log(tmp_path / "orders-0", 1)
    bad = seal_batch(
        b"\x01" * 20, base_offset=10, last_offset_delta=0, base_timestamp=0, max_timestamp=0, record_count=1
    )
    garbled = seal_batch(
        b"nothing that lz4 knows",
        base_offset=11,
        last_offset_delta=0,
        base_timestamp=0,
        max_timestamp=0,
        record_count=1,
    )
    garbled = bytearray(_with_codec(garbled, Codec.LZ4))
    with one_log_file(folder).open("ab") as file:
        file.write(bad + garbled)
    *_, first, second = read(folder)
    assert (first["offset"], first["crcOk"]) == (10, True)
    assert "has a length of -1" in first["fault"]
    assert (second["offset"], second["codec"]) == (11, "lz4")
    assert "lz4 data is damaged" in second["fault"]


def _with_codec(batch: bytearray, codec: Codec) -> bytes:
    from strandline.records.batch import ATTRIBUTES_POSITION, CRC, CRC_POSITION, batch_crc

    batch[ATTRIBUTES_POSITION + 1] |= codec
    CRC.pack_into(batch, CRC_POSITION, batch_crc(batch))
    return bytes(batch)


def test_a_segment_that_is_being_written_is_read_up_to_its_last_whole_batch(tmp_path: Path) -> None:
    folder = write_log(tmp_path / "orders-0", 5)
    log_file = one_log_file(folder)
    whole = log_file.read_bytes()
    following = numbered_batch(0)
    set_base_offset(following, 50)
    expected = read(folder)
    for size in (1, 8, 11, 12, 17, 60, 61, len(following) - 1):
        log_file.write_bytes(whole + following[:size])
        assert read(folder) == expected, size
    log_file.write_bytes(whole + bytes(200))
    *_, last = read(folder)
    assert (last["position"], last["fault"] is not None) == (len(whole), True)


def test_the_end_of_a_closed_segment_is_no_place_for_half_a_batch(tmp_path: Path) -> None:
    folder = write_log(tmp_path / "orders-0", 20, segment_bytes=2000)
    first, *_ = sorted(folder.glob("*.log"))
    with first.open("r+b") as file:
        file.truncate(first.stat().st_size - 1)
    rows = read(folder)
    [fault] = [row for row in rows if row["fault"]]
    assert fault["fault"] == "the bytes from here to the end of the file are no whole batch"
    assert fault["file"] == str(first)
    count = len(rows) - 1
    assert count == 190


def test_a_live_directory_is_read_beside_its_owner_and_left_as_it_is(tmp_path: Path) -> None:
    filesystem = RealFileSystem()
    directory = LogDirectory.open(filesystem, str(tmp_path), lambda _: LogSettings(segment_bytes=3000), now_ms=0)
    partition = TopicPartition("orders", 0)
    log = directory.create(partition, now_ms=0)
    for number in range(20):
        append(log, numbered_batch(10 * number))
    before = snapshot(tmp_path)
    assert [row["offset"] for row in read(tmp_path, maxBytesPerPartition="1")] == list(range(200))
    assert snapshot(tmp_path) == before
    append(log, numbered_batch(200))
    assert len(read(tmp_path)) == 210
    directory.close(now_ms=0)


def snapshot(folder: Path) -> dict[str, tuple[int, int, int]]:
    paths = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path): (path.stat().st_size, path.stat().st_mtime_ns, path.stat().st_ino) for path in paths}


def test_files_that_a_broker_takes_away_meanwhile_are_told_of(tmp_path: Path) -> None:
    folder = write_log(tmp_path / "orders-0", 20, segment_bytes=2000)
    tasks = tasks_for(folder)
    first, second, third, *_ = sorted(folder.glob("*.log"))
    first.unlink()
    second.write_bytes(second.read_bytes()[:-BATCH_BYTES])
    third.write_bytes(third.read_bytes())
    rows = rows_in(tasks)
    faults = [row for row in rows if row["fault"]]
    assert [os.path.basename(row["file"]) for row in faults] == [first.name, second.name]
    assert "the file is gone" in faults[0]["fault"]
    assert "was replaced" in faults[1]["fault"]
    assert len(rows) - 2 == 200 - 10 * (len(list(split_batches(second.read_bytes()))) + 1) - int(second.name[:20])


def test_a_file_that_may_not_be_read_is_told_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_log(tmp_path / "orders-0", 2)
    tasks = tasks_for(folder)

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(RealFileSystem, "open", refuse)
    [row] = rows_in(tasks)
    assert "permission denied; run this as the user the broker runs as" in row["fault"]


@pytest.mark.parametrize("codec", list(Codec))
def test_every_codec(tmp_path: Path, codec: Codec) -> None:
    rows: Rows = read(write_log(tmp_path / "orders-0", 5, codec=codec))
    assert [row["value"] for row in rows] == [b"value %06d" % number for number in range(50)]
    assert {row["codec"] for row in rows} == {codec.name.lower()}
    assert [row["offset"] for row in without_place(rows)] == list(range(50))
