"""Data directories that Kafka brokers left: we open them, find in them what Kafka's own tool found, and leave them be.

SPEC L1, L4, L5, L7, L8.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.golden.dump_text import DumpedRecord, records_in

from strandline.log.checkpoints import decode_leader_epochs, decode_offsets
from strandline.log.filesystem import RealFileSystem
from strandline.log.log import Log
from strandline.log.log_directory import LogDirectory
from strandline.log.producer_snapshots import decode_snapshot
from strandline.model.partitions import TopicPartition
from strandline.model.settings import LogSettings
from strandline.records.batch import split_batches
from strandline.records.heads import head_of
from strandline.records.record import read_records

GOLDEN = Path(__file__).parent
CLEAN = [
    ("kraft-3.9", "orders"),
    ("kraft-3.9", "payments"),
    ("kraft-3.9", "accounts"),
    ("kraft-3.9", "clicks"),
    ("kraft-4.3", "payments"),
    ("kraft-4.3", "accounts"),
    ("zookeeper-3.9", "ledger"),
]
ALL = [*CLEAN, ("killed-4.3", "orders")]
# One index entry stands for one append at most. The cleaner, and a producer of old messages, append several batches
# at once; reading the log again does not tell where such an append began. The others can be indexed in one way only.
INDEXED_IN_ONE_WAY = [(golden, topic) for golden, topic in CLEAN if topic not in ("accounts", "ledger")]
DERIVED = (".index", ".timeindex", ".txnindex", ".snapshot")


def settings_of(topic: str) -> LogSettings:
    """As in Workload.java."""
    if topic == "ledger":
        return LogSettings(segment_bytes=1200, segment_index_bytes=480, index_interval_bytes=200)
    policy = ("compact",) if topic == "accounts" else ("delete",)
    return LogSettings(segment_bytes=1500, segment_index_bytes=480, index_interval_bytes=300, cleanup_policy=policy)


@contextmanager
def opened(golden: str, copy: Path) -> Iterator[LogDirectory]:
    if not copy.exists():
        shutil.copytree(GOLDEN / golden, copy)
    directory = LogDirectory.open(RealFileSystem(), str(copy), settings_of, now_ms=now_of(golden))
    try:
        yield directory
    finally:
        directory.close(now_ms=now_of(golden))


def now_of(golden: str) -> int:
    """Right after the last record, so that no producer has expired."""
    return max(record.timestamp for text in (GOLDEN / golden).glob("*.txt") for record in dumped(text))


def dumped(text: Path) -> list[DumpedRecord]:
    return records_in(text.read_text())


def read_all(log: Log) -> list[DumpedRecord]:
    """Everything from the log's first segment on, in slices of any size."""
    found: list[DumpedRecord] = []
    offset = log.log_start_offset
    while offset < log.log_end_offset:
        data = log.read(offset, 700).read()
        for batch in split_batches(data):
            head = head_of(batch)
            is_control = head.magic == 2 and head.is_control
            for record in read_records(batch):
                key, value = (None, None) if is_control else (record.key, record.value)
                names = tuple(name for name, _ in record.headers)
                found.append(DumpedRecord(record.offset, record.timestamp, key, value, names, is_control))
            offset = head.next_offset
    return found


@pytest.mark.parametrize(("golden", "topic"), ALL)
def test_we_read_what_kafka_dumped(golden: str, topic: str, tmp_path: Path) -> None:
    with opened(golden, tmp_path / "data") as directory:
        log = directory.logs[TopicPartition(topic, 0)]
        expected = dumped(GOLDEN / golden / f"{topic}-0.dump.txt")
        # A reader gets whole batches, so a few records below the log start come along.
        found = read_all(log)
        assert found == [record for record in expected if record.offset >= found[0].offset]
        assert found[0].offset <= max(log.log_start_offset, expected[0].offset)


@pytest.mark.parametrize(("golden", "topic"), CLEAN)
def test_a_clean_stop_is_believed(golden: str, topic: str, tmp_path: Path) -> None:
    with opened(golden, tmp_path / "data") as directory:
        partition = TopicPartition(topic, 0)
        log = directory.logs[partition]
        assert directory.was_clean
        assert directory.findings == []
        assert log.log_end_offset == log.recovery_point == offsets(golden, "recovery-point")[partition]
        assert log.log_end_offset == directory.read_high_watermarks()[partition]
        assert log.log_start_offset == offsets(golden, "log-start").get(partition, 0)


def offsets(golden: str, name: str) -> dict[TopicPartition, int]:
    return decode_offsets((GOLDEN / golden / f"{name}-offset-checkpoint").read_bytes())


@pytest.mark.parametrize(("golden", "topic"), CLEAN)
def test_opening_and_closing_leaves_every_byte(golden: str, topic: str, tmp_path: Path) -> None:
    with opened(golden, tmp_path / "data"):
        pass
    before, after = GOLDEN / golden / f"{topic}-0", tmp_path / "data" / f"{topic}-0"
    names = {path.name for path in before.iterdir()} - STRAY_SNAPSHOTS.get(topic, set())
    assert {path.name for path in after.iterdir()} == names
    for name in names - {"leader-epoch-checkpoint"}:
        assert (after / name).read_bytes() == (before / name).read_bytes(), name


# Taken at a stop, within what is one segment now; Kafka removes it at the next start, as we do.
STRAY_SNAPSHOTS = {"ledger": {"00000000000000000040.snapshot"}}


@pytest.mark.parametrize(("golden", "topic"), CLEAN)
def test_an_epoch_without_records_is_dropped_on_opening(golden: str, topic: str, tmp_path: Path) -> None:
    """The last leader wrote nothing; a log that ends where an epoch begins does not have it. So does Kafka."""
    with opened(golden, tmp_path / "data") as directory:
        log = directory.logs[TopicPartition(topic, 0)]
        written = decode_leader_epochs((GOLDEN / golden / f"{topic}-0/leader-epoch-checkpoint").read_bytes())
        assert list(log.epochs.entries()) == [each for each in written if each.start_offset < log.log_end_offset]


@pytest.mark.parametrize(("golden", "topic"), ALL)
def test_find_by_timestamp(golden: str, topic: str, tmp_path: Path) -> None:
    with opened(golden, tmp_path / "data") as directory:
        log = directory.logs[TopicPartition(topic, 0)]
        records = [record for record in read_all(log) if record.offset >= log.log_start_offset]
        for timestamp in sorted({record.timestamp + step for record in records for step in (-1, 0, 1)}):
            expected = next((record.offset for record in records if record.timestamp >= max(0, timestamp)), None)
            found = log.find_by_timestamp(max(0, timestamp))
            assert (found and found.offset) == expected, timestamp


@pytest.mark.parametrize(("golden", "topic"), INDEXED_IN_ONE_WAY)
def test_lost_indexes_and_snapshots_come_back_as_kafka_wrote_them(golden: str, topic: str, tmp_path: Path) -> None:
    before, after = GOLDEN / golden / f"{topic}-0", tmp_path / "data" / f"{topic}-0"
    shutil.copytree(GOLDEN / golden, tmp_path / "data")
    (tmp_path / "data" / ".kafka_cleanshutdown").unlink()
    (tmp_path / "data" / "recovery-point-offset-checkpoint").unlink()
    for path in [path for path in after.iterdir() if path.suffix in DERIVED]:
        path.unlink()
    with opened(golden, tmp_path / "data") as directory:
        assert not directory.was_clean
    for path in sorted(before.iterdir()):
        if path.suffix in (".index", ".timeindex", ".txnindex"):
            assert (after / path.name).read_bytes() == path.read_bytes(), path.name
    last = max(path.name for path in before.glob("*.snapshot"))
    assert producers_in(after / last) == producers_in(before / last)


def producers_in(snapshot: Path) -> list[object]:
    """Kafka writes producers in the order of a hash map, which has no meaning."""
    entries = sorted(decode_snapshot(snapshot.read_bytes()), key=lambda entry: entry.producer_id)
    return [tuple(getattr(entry, name) for name in entry.__slots__ if not name.startswith("_")) for entry in entries]


def test_kill_9_loses_nothing(tmp_path: Path) -> None:
    """No clean stop, empty checkpoints, indexes at their allocated size: recovery keeps all and trims them."""
    with opened("killed-4.3", tmp_path / "data") as directory:
        assert not directory.was_clean
        assert directory.logs[TopicPartition("orders", 0)].log_end_offset == 50
    active = tmp_path / "data/orders-0/00000000000000000030"
    assert active.with_suffix(".index").stat().st_size == 16
    assert active.with_suffix(".timeindex").stat().st_size == 24
