"""A data directory on the real disk: its lock, its checkpoints, its partitions (SPEC L8, L10)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from uuid import UUID

import pytest
from tests.log import making_logs
from tests.log.sample_log import NOW_MS, SETTINGS, STEPS, append, files_in

from strandline.log import checkpoints
from strandline.log.clean_shutdown import CLEAN_SHUTDOWN_MARKER
from strandline.log.filesystem import RealFileSystem
from strandline.log.log_directories import LogDirectories
from strandline.log.log_directory import DirectoryInUse, LogDirectory
from strandline.model.failures import Refused, StorageFailed
from strandline.model.partitions import TopicPartition
from strandline.simulation.disk import SimulatedDisk

ORDERS, VIEWS = TopicPartition("orders", 0), TopicPartition("views", 3)
TOKEN = "0123456789abcdef" * 2
RECOVERY_POINTS = "recovery-point-offset-checkpoint"
LOG_STARTS = "log-start-offset-checkpoint"


def open_directory(path: Path) -> LogDirectory:
    return LogDirectory.open(RealFileSystem(), str(path), lambda _: SETTINGS, now_ms=NOW_MS)


def test_a_second_opener_is_refused_until_the_first_is_gone(tmp_path: Path) -> None:
    first = open_directory(tmp_path)
    with pytest.raises(DirectoryInUse, match="in use by another process; stop it"):
        open_directory(tmp_path)
    first.close(now_ms=NOW_MS)
    open_directory(tmp_path).close(now_ms=NOW_MS)


def test_another_process_is_refused_too(tmp_path: Path) -> None:
    directory = open_directory(tmp_path)
    program = (
        "import sys; from strandline.log.filesystem import RealFileSystem; "
        "sys.exit(0 if RealFileSystem().lock(sys.argv[1]) is None else 1)"
    )
    command = [sys.executable, "-c", program, str(tmp_path / ".lock")]
    assert subprocess.run(command, check=False, env={"PYTHONPATH": os.pathsep.join(sys.path)}).returncode == 0
    directory.release()
    assert subprocess.run(command, check=False, env={"PYTHONPATH": os.pathsep.join(sys.path)}).returncode == 1


def test_one_of_several_in_use_releases_the_others(tmp_path: Path) -> None:
    held = open_directory(tmp_path / "two")
    paths = [str(tmp_path / "one"), str(tmp_path / "two")]
    with pytest.raises(DirectoryInUse):
        LogDirectories.open(RealFileSystem(), paths, lambda _: SETTINGS, now_ms=NOW_MS)
    open_directory(tmp_path / "one").release()
    held.release()


def test_checkpoints_say_what_kafkas_would(tmp_path: Path) -> None:
    directory = open_directory(tmp_path)
    orders, views = (directory.create(each, now_ms=NOW_MS) for each in (ORDERS, VIEWS))
    for step in STEPS[:8]:
        append(orders, step)
    append(views, STEPS[0])
    orders.flush(NOW_MS)
    orders.advance_log_start(4, high_watermark=9)
    directory.write_recovery_points()
    directory.write_log_starts()
    directory.write_high_watermarks({ORDERS: 9, VIEWS: 0})
    directory.write_cleaner_offsets({VIEWS: 1})
    assert (tmp_path / RECOVERY_POINTS).read_text() == f"0\n2\norders 0 {orders.log_end_offset}\nviews 3 0\n"
    assert (tmp_path / LOG_STARTS).read_text() == "0\n1\norders 0 4\n"
    assert (tmp_path / "replication-offset-checkpoint").read_text() == "0\n2\norders 0 9\nviews 3 0\n"
    assert (tmp_path / "cleaner-offset-checkpoint").read_text() == "0\n1\nviews 3 1\n"
    directory.release()
    again = open_directory(tmp_path)
    assert not again.was_clean
    assert again.logs[ORDERS].log_start_offset == 4
    assert again.logs[ORDERS].recovery_point == orders.log_end_offset
    assert again.read_high_watermarks() == {ORDERS: 9, VIEWS: 0}
    assert again.read_cleaner_offsets() == {VIEWS: 1}
    again.close(now_ms=NOW_MS)


def test_what_comes_in_place_of_what_was_cut_does_not_count_as_cleaned(tmp_path: Path) -> None:
    """Kafka lowers its cleaner's checkpoint as well, to the beginning of the last segment that is left."""
    directory = open_directory(tmp_path)
    logs = [directory.create(each, now_ms=NOW_MS) for each in (ORDERS, VIEWS)]
    for log in logs:
        for step in STEPS[:4]:
            append(log, step)
        log.roll(NOW_MS)
        append(log, STEPS[4])
    rolled_at, end = logs[0].segments.active.base_offset, logs[0].log_end_offset
    directory.write_cleaner_offsets({ORDERS: rolled_at, VIEWS: rolled_at})
    logs[0].truncate_to(rolled_at, now_ms=NOW_MS)
    assert directory.cleaner_offsets == {ORDERS: rolled_at, VIEWS: rolled_at}
    logs[0].truncate_to(rolled_at - 1, now_ms=NOW_MS)
    assert directory.read_cleaner_offsets() == directory.cleaner_offsets == {ORDERS: 0, VIEWS: rolled_at}
    directory.write_cleaner_offsets({ORDERS: 0, VIEWS: end})
    logs[1].truncate_fully_and_start_at(end + 5, now_ms=NOW_MS)
    assert directory.read_cleaner_offsets() == {ORDERS: 0, VIEWS: 0}


def test_what_recovery_did_not_find_does_not_count_as_cleaned(tmp_path: Path) -> None:
    directory = open_directory(tmp_path)
    log = directory.create(VIEWS, now_ms=NOW_MS, topic_id=UUID(int=1))
    append(log, STEPS[0])
    directory.write_cleaner_offsets({VIEWS: log.log_end_offset + 1})
    directory.release()
    again = open_directory(tmp_path)
    assert again.read_cleaner_offsets() == again.cleaner_offsets == {VIEWS: 0}
    again.close(now_ms=NOW_MS)


@pytest.mark.parametrize("damage", [b"", b"0\n", b"garbage", b"0\n2\norders 0 8\n", b"0\n1\norders 0 8", b"\xff\x00"])
def test_damaged_checkpoints_count_as_none(tmp_path: Path, damage: bytes) -> None:
    """Also behind a clean marker: a lost recovery point costs a scan, not data."""
    directory = open_directory(tmp_path)
    log = directory.create(ORDERS, now_ms=NOW_MS, topic_id=UUID(int=1))
    for step in STEPS:
        append(log, step)
    directory.close(now_ms=NOW_MS)
    for is_clean in (True, False):
        for name in (RECOVERY_POINTS, LOG_STARTS, "orders-0/partition.metadata"):
            (tmp_path / name).write_bytes(damage)
        if not is_clean:
            (tmp_path / CLEAN_SHUTDOWN_MARKER).unlink()
        directory = open_directory(tmp_path)
        assert directory.was_clean is is_clean
        assert directory.logs[ORDERS].log_end_offset == log.log_end_offset
        assert directory.topic_ids == {}
        assert bool(directory.findings)
        directory.close(now_ms=NOW_MS)


@pytest.mark.parametrize("content", [b"", b"garbage", b'{"version":0,"brokerEpoch":-1}'])
def test_only_the_presence_of_the_clean_marker_counts(tmp_path: Path, content: bytes) -> None:
    open_directory(tmp_path).close(now_ms=NOW_MS)
    assert (tmp_path / CLEAN_SHUTDOWN_MARKER).exists()
    (tmp_path / CLEAN_SHUTDOWN_MARKER).write_bytes(content)
    directory = open_directory(tmp_path)
    assert directory.was_clean
    assert not (tmp_path / CLEAN_SHUTDOWN_MARKER).exists()
    directory.release()


def test_a_topic_removed_can_be_created_again_at_once(tmp_path: Path) -> None:
    directory = open_directory(tmp_path)
    log = directory.create(ORDERS, now_ms=NOW_MS, topic_id=UUID(int=1))
    append(log, STEPS[0])
    log.flush(NOW_MS)
    directory.write_recovery_points()
    held = log.read(0, 1000)
    directory.remove(ORDERS, token=TOKEN, now_ms=NOW_MS)
    assert (tmp_path / RECOVERY_POINTS).read_text() == "0\n0\n"
    assert (tmp_path / f"orders-0.{TOKEN}-delete").is_dir()
    fresh = directory.create(ORDERS, now_ms=NOW_MS, topic_id=UUID(int=2))
    assert fresh.log_end_offset == 0
    assert len(held.read()) > 0
    directory.remove_due_files(NOW_MS + SETTINGS.file_delete_delay_ms - 1)
    assert (tmp_path / f"orders-0.{TOKEN}-delete").is_dir()
    directory.remove_due_files(NOW_MS + SETTINGS.file_delete_delay_ms)
    assert not (tmp_path / f"orders-0.{TOKEN}-delete").exists()
    directory.close(now_ms=NOW_MS)
    again = open_directory(tmp_path)
    assert again.topic_ids == {ORDERS: UUID(int=2)}
    again.close(now_ms=NOW_MS)


def test_a_topic_created_again_knows_no_high_watermark_of_the_one_before(tmp_path: Path) -> None:
    """A power cut right after it: nothing that the checkpoints say of the name may be of the topic that is gone."""
    directory = open_directory(tmp_path)
    for partition in (ORDERS, VIEWS):
        directory.create(partition, now_ms=NOW_MS)
    directory.write_high_watermarks({ORDERS: 9, VIEWS: 3})
    late = directory.begin_high_watermarks({ORDERS: 12, VIEWS: 4})
    directory.remove(ORDERS, token=TOKEN, now_ms=NOW_MS)
    assert late is not None
    late.run()
    directory.create(ORDERS, now_ms=NOW_MS)
    assert directory.read_high_watermarks() == {VIEWS: 4}
    directory.close(now_ms=NOW_MS)


def test_of_a_topic_that_goes_soon_no_checkpoint_is_written_for_it(tmp_path: Path) -> None:
    """They promise nothing of it yet, and each costs two syncs: a thousand topics that come and go cost thousands."""
    directory = open_directory(tmp_path)
    for partition in (ORDERS, VIEWS):
        directory.create(partition, now_ms=NOW_MS)
    directory.write_recovery_points()
    directory.write_log_starts()
    directory.write_high_watermarks({ORDERS: 0, VIEWS: 3})
    before = {name: os.stat(tmp_path / name).st_ino for name in os.listdir(tmp_path) if "checkpoint" in name}
    directory.remove(ORDERS, token=TOKEN, now_ms=NOW_MS)
    assert {name: os.stat(tmp_path / name).st_ino for name in before} == before
    assert len(before) == 3
    directory.close(now_ms=NOW_MS)


@pytest.mark.parametrize("given", [{ORDERS: 0, VIEWS: 1}, {VIEWS: 1}], ids=["as 0", "not at all"])
def test_a_high_watermark_is_forgotten_also_while_a_checkpoint_waits_that_has_none(
    tmp_path: Path, given: dict[TopicPartition, int]
) -> None:
    """What a checkpoint that waits says is not on the disk yet, and a crash may come before it is."""
    directory = open_directory(tmp_path)
    for partition in (ORDERS, VIEWS):
        directory.create(partition, now_ms=NOW_MS)
    directory.write_high_watermarks({ORDERS: 100, VIEWS: 1})
    assert directory.begin_high_watermarks(given) is not None  # and nobody runs it
    directory.remove(ORDERS, token=TOKEN, now_ms=NOW_MS)
    directory.create(ORDERS, now_ms=NOW_MS)
    directory.release()
    again = open_directory(tmp_path)
    assert again.read_high_watermarks().get(ORDERS, 0) == 0
    again.release()


@pytest.mark.parametrize("record_count", [3, 12])
def test_a_log_start_is_forgotten_also_while_a_checkpoint_waits_that_has_none(
    tmp_path: Path, record_count: int
) -> None:
    """DeleteRecords moved it into a segment, retention removed that segment, then the topic went. In a new one of its
    name, records below the old start were lost by a crash."""
    directory = open_directory(tmp_path)
    log = directory.create(ORDERS, now_ms=NOW_MS)
    for _ in range(2):
        log.roll(NOW_MS)
        making_logs.append(log, making_logs.batch_of(*"0123456789"))
    log.flush(NOW_MS)
    log.advance_log_start(5, high_watermark=20)
    directory.write_log_starts()
    log.remove_segments([log.segments.first], now_ms=NOW_MS)
    assert directory.begin_log_starts() is not None  # and nobody runs it
    directory.remove(ORDERS, token=TOKEN, now_ms=NOW_MS)
    log = directory.create(ORDERS, now_ms=NOW_MS)
    for number in range(record_count):
        making_logs.append(log, making_logs.batch_of(f"{number}"))
    log.flush(NOW_MS)
    directory.write_recovery_points()
    directory.release()
    again = open_directory(tmp_path)
    assert (again.logs[ORDERS].log_start_offset, again.logs[ORDERS].log_end_offset) == (0, record_count)
    again.release()


def test_a_directory_tells_the_high_watermarks_of_its_own_logs_alone(tmp_path: Path) -> None:
    """A partition went from one, whose checkpoint still had it, and came anew in the other."""
    paths = [str(tmp_path / name) for name in ("new", "old")]
    directories = LogDirectories.open(RealFileSystem(), paths, lambda _: SETTINGS, now_ms=NOW_MS)
    new, old = directories.directories
    old.create(ORDERS, now_ms=NOW_MS)
    old.write_high_watermarks({ORDERS: 0})
    old.remove(ORDERS, token=TOKEN, now_ms=NOW_MS)
    new.create(ORDERS, now_ms=NOW_MS)
    new.write_high_watermarks({ORDERS: 50})
    assert directories.read_high_watermarks() == {ORDERS: 50}
    for directory in directories.directories:
        directory.release()


def test_a_transaction_waits_for_its_marker_to_be_committed_also_after_a_clean_stop(tmp_path: Path) -> None:
    """SPEC P3. The high watermark of before tells which markers are not."""
    directory = open_directory(tmp_path)
    log = directory.create(ORDERS, now_ms=NOW_MS)
    making_logs.append(log, making_logs.numbered(0, is_transactional=True))
    making_logs.append_marker(log, 7, is_commit=True)
    directory.write_high_watermarks({ORDERS: 1})
    directory.close(now_ms=NOW_MS)
    again = open_directory(tmp_path)
    assert again.was_clean
    assert again.logs[ORDERS].producers.first_unstable_offset == 0
    again.logs[ORDERS].producers.high_watermark_moved(2)
    assert again.logs[ORDERS].producers.first_unstable_offset is None


def test_a_flush_under_way_survives_the_removal_of_its_topic(tmp_path: Path) -> None:
    directory = open_directory(tmp_path)
    log = directory.create(ORDERS, now_ms=NOW_MS)
    append(log, STEPS[0])
    work = log.begin_flush()
    directory.remove(ORDERS, token=TOKEN, now_ms=NOW_MS)
    work.run()
    assert directory.is_usable()
    directory.close(now_ms=NOW_MS)


def test_a_start_finishes_removals_and_leaves_strangers_alone(tmp_path: Path) -> None:
    for folder in (f"orders-0.{TOKEN}-delete", "lost+found", f"orders-1.{TOKEN}-future", "snapshots"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "file").write_text("kept")
    (tmp_path / "orders-7").write_text("a file, not a folder")
    directory = open_directory(tmp_path)
    assert directory.logs == {}
    assert not (tmp_path / f"orders-0.{TOKEN}-delete").exists()
    assert (tmp_path / "lost+found/file").exists()
    assert (tmp_path / f"orders-1.{TOKEN}-future/file").exists()
    directory.close(now_ms=NOW_MS)


def test_names_that_leave_the_directory_are_refused(tmp_path: Path) -> None:
    directory = open_directory(tmp_path)
    for topic in ("../evil", "a/b", "", ".", "x" * 250):
        with pytest.raises(Refused):
            directory.create(TopicPartition(topic, 0), now_ms=NOW_MS)
    assert directory.logs == {}
    directory.close(now_ms=NOW_MS)


def test_new_partitions_go_where_the_fewest_are(tmp_path: Path) -> None:
    paths = [str(tmp_path / name) for name in ("one", "two", "three")]
    directories = LogDirectories.open(RealFileSystem(), paths, lambda _: SETTINGS, now_ms=NOW_MS)
    for number in range(7):
        directories.create(TopicPartition("orders", number), now_ms=NOW_MS)
    assert [len(each.logs) for each in directories.directories] == [3, 2, 2]
    log = directories.log_of(TopicPartition("orders", 4))
    assert log is not None
    assert log.directory == str(tmp_path / "two" / "orders-4")
    assert directories.log_of(VIEWS) is None
    directories.close(now_ms=NOW_MS)


def test_a_directory_that_cannot_be_opened_is_offline_and_the_rest_goes_on() -> None:
    disk = SimulatedDisk()
    both = LogDirectories.open(disk, ["/one", "/two"], lambda _: SETTINGS, now_ms=NOW_MS)
    both.create(ORDERS, now_ms=NOW_MS)
    both.close(now_ms=NOW_MS)
    disk.fail_next("sync_directory", path_contains="/one")
    again = LogDirectories.open(disk, ["/one", "/two"], lambda _: SETTINGS, now_ms=NOW_MS)
    assert [each.path for each in again.online()] == ["/two"]
    with pytest.raises(StorageFailed, match="/one is offline"):
        again.directories[0].create(VIEWS, now_ms=NOW_MS)
    assert again.create(VIEWS, now_ms=NOW_MS).directory == "/two/views-3"
    again.close(now_ms=NOW_MS)
    disk.fail_next("sync_directory", path_contains="/two")
    with pytest.raises(StorageFailed):
        LogDirectories.open(disk, ["/two"], lambda _: SETTINGS, now_ms=NOW_MS)


def test_a_clean_start_opens_only_the_last_segment_and_changes_nothing() -> None:
    """SPEC L7: a clean shutdown skips recovery; older segments are not even opened."""
    disk = SimulatedDisk()
    directory = LogDirectory.open(disk, "/data", lambda _: SETTINGS, now_ms=NOW_MS)
    log = directory.create(ORDERS, now_ms=NOW_MS)
    for step in STEPS:
        append(log, step)
    directory.close(now_ms=NOW_MS)
    before = files_in(disk, "/data/orders-0")
    for base_offset in log.segments.base_offsets[:-1]:
        disk.fail_next("open", path_contains=f"{base_offset:020d}.")
    directory = LogDirectory.open(disk, "/data", lambda _: SETTINGS, now_ms=NOW_MS)
    assert directory.failure is None
    assert directory.logs[ORDERS].log_end_offset == log.log_end_offset
    disk.faults.clear()
    assert files_in(disk, "/data/orders-0") == before
    assert checkpoints.read_offsets(disk, f"/data/{RECOVERY_POINTS}") == {ORDERS: log.log_end_offset}


def test_a_log_start_beyond_the_end_of_a_whole_log_is_not_believed(tmp_path: Path) -> None:
    """After a clean stop nothing can be missing: the checkpoint is damaged, and the log must not go for it."""
    directory = open_directory(tmp_path)
    log = directory.create(ORDERS, now_ms=NOW_MS)
    append(log, STEPS[0])
    log_end_offset = log.log_end_offset
    directory.close(now_ms=NOW_MS)
    (tmp_path / LOG_STARTS).write_bytes(checkpoints.encode_offsets({ORDERS: 1000}))
    log = open_directory(tmp_path).logs[ORDERS]
    assert (log.log_start_offset, log.log_end_offset) == (0, log_end_offset)


def test_synced_records_that_are_missing_at_the_start_are_told_of(tmp_path: Path) -> None:
    """Somebody cut a file between two batches while nobody looked: nothing is damaged, and yet records are gone."""
    directory = open_directory(tmp_path)
    log = directory.create(ORDERS, now_ms=NOW_MS)
    middle = append(log, STEPS[0]).last_offset + 1
    first_batch_bytes = log.size_bytes
    end = append(log, STEPS[1]).last_offset + 1
    directory.close(now_ms=NOW_MS)
    os.truncate(f"{log.directory}/{0:020}.log", first_batch_bytes)
    told = open_directory(tmp_path).findings[-1]
    assert told == f"{ORDERS} ends at {middle}, and was on the disk up to {end}: records are gone"
