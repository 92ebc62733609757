"""What a log does when it is closed, when its neighbour fails, and when it is used wrongly."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from strandline.log.filesystem import RealFileSystem
from strandline.log.log import Log
from strandline.log.log_directory import LogDirectory
from strandline.log.log_writer import Appended
from strandline.model.failures import BrokenInvariant, StorageFailed
from strandline.model.partitions import TopicPartition
from strandline.model.settings import LogSettings
from strandline.records.builder import build_batch
from strandline.records.record import Record

NOW_MS = 1_700_000_000_000
ORDERS, CLICKS = TopicPartition("orders", 0), TopicPartition("clicks", 0)


@pytest.fixture
def directory(tmp_path: Path) -> LogDirectory:
    opened = LogDirectory.open(RealFileSystem(), str(tmp_path / "data"), lambda _: LogSettings(), now_ms=NOW_MS)
    for partition in (ORDERS, CLICKS):
        opened.create(partition, now_ms=NOW_MS)
    return opened


def batch() -> bytearray:
    return build_batch([Record(0, NOW_MS, b"key", b"value")])


def append(log: Log, *batches: bytearray | bytes) -> list[int]:
    outcomes = log.append(batches, leader_epoch=0, now_ms=NOW_MS)
    return [outcome.base_offset for outcome in outcomes if isinstance(outcome, Appended)]


def test_a_closed_log_takes_and_gives_nothing(directory: LogDirectory) -> None:
    """Its directory vouched for a clean stop: what came later would be believed without having been synced."""
    log = directory.logs[ORDERS]
    append(log, batch())
    directory.close(now_ms=NOW_MS)
    for use in (
        lambda: append(log, batch()),
        lambda: log.append_replicated(batch(), now_ms=NOW_MS),
        lambda: log.read(0, 1000),
        lambda: log.truncate_to(0, now_ms=NOW_MS),
        lambda: log.flush(NOW_MS),
    ):
        with pytest.raises(StorageFailed, match="closed"):
            use()


def test_a_removed_log_takes_nothing(directory: LogDirectory) -> None:
    log = directory.logs[ORDERS]
    directory.remove(ORDERS, token="0" * 32, now_ms=NOW_MS)
    with pytest.raises(StorageFailed, match="closed"):
        append(log, batch())
    assert append(directory.logs[CLICKS], batch()) == [0]


def test_a_log_that_is_let_go_without_a_stop_takes_nothing(directory: LogDirectory) -> None:
    directory.release()
    with pytest.raises(StorageFailed, match="closed"):
        append(directory.logs[ORDERS], batch())


def test_one_failed_log_takes_its_whole_directory_offline_at_once(directory: LogDirectory) -> None:
    """SPEC L10: what failed is the disk."""
    directory.logs[ORDERS].failed(OSError(errno.EIO, "input/output error"))
    with pytest.raises(StorageFailed, match="offline"):
        append(directory.logs[CLICKS], batch())
    assert not directory.is_usable()


def test_a_batch_that_cannot_be_written_to_stops_only_itself(directory: LogDirectory) -> None:
    """The one before it has its offset already, so it must be in the file too."""
    log = directory.logs[ORDERS]
    append(log, batch())
    with pytest.raises(TypeError):
        append(log, batch(), bytes(batch()))
    assert log.log_end_offset == 2
    assert log.read(1, 1000).length == len(batch())
    assert append(log, batch()) == [2]


@pytest.mark.parametrize("offset", [-1, -3])
def test_there_are_no_negative_offsets(directory: LogDirectory, offset: int) -> None:
    log = directory.logs[ORDERS]
    append(log, batch())
    with pytest.raises(BrokenInvariant):
        log.truncate_to(offset, now_ms=NOW_MS)
    with pytest.raises(BrokenInvariant):
        log.truncate_fully_and_start_at(offset, now_ms=NOW_MS)
    assert log.read(0, 1000).length == len(batch())


def test_there_are_no_negative_partitions(directory: LogDirectory) -> None:
    with pytest.raises(BrokenInvariant):
        directory.create(TopicPartition("orders", -1), now_ms=NOW_MS)


def test_a_folder_is_removed_under_a_name_that_the_next_start_knows(directory: LogDirectory) -> None:
    with pytest.raises(BrokenInvariant):
        directory.remove(ORDERS, token="x", now_ms=NOW_MS)
    assert append(directory.logs[ORDERS], batch()) == [0]
