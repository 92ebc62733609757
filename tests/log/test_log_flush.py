"""Flushing: when it is due, what it syncs, and how far the recovery point may move (SPEC L9)."""

from __future__ import annotations

import errno
from pathlib import Path
from random import Random
from threading import Thread

import pytest
from tests.log.making_logs import NOW, append, batch_of, files_of, make_log, numbered, records_in, sized_batch

from strandline.log.flush import FlushWork
from strandline.log.log import Log
from strandline.model.failures import StorageFailed
from strandline.simulation.disk import SimulatedDisk


def disk_of(log: Log) -> SimulatedDisk:
    assert isinstance(log.filesystem, SimulatedDisk)
    return log.filesystem


def test_left_to_the_page_cache_by_default() -> None:
    log = make_log()
    append(log, *(batch_of("a") for _ in range(1000)))
    assert not log.flush_is_due(NOW + 10**12)
    assert log.recovery_point == 0


class TestPolicy:
    def test_by_records(self) -> None:
        """log.flush.interval.messages: the records at risk are fewer than that."""
        log = make_log(flush_messages=5)
        append(log, batch_of("a", "b", "c", "d"))
        assert not log.flush_is_due(NOW)
        append(log, batch_of("e"))
        assert log.flush_is_due(NOW)
        log.flush(NOW)
        assert not log.flush_is_due(NOW)

    def test_by_time_since_the_last_flush(self) -> None:
        log = make_log(flush_ms=1000)
        assert not log.flush_is_due(NOW + 5000)  # nothing to flush
        append(log, batch_of("a"))
        assert not log.flush_is_due(NOW + 999)
        assert log.flush_is_due(NOW + 1000)
        log.flush(NOW + 1000)
        append(log, batch_of("b"))
        assert not log.flush_is_due(NOW + 1999)
        assert log.flush_is_due(NOW + 2000)


class TestDurability:
    def test_what_was_flushed_survives_power_loss(self) -> None:
        log = make_log(segment_bytes=450)
        append(log, *(sized_batch(200) for _ in range(7)))
        disk_of(log).sync_directory("/")  # the partition's own name, which is its log directory's business
        log.flush(NOW)
        append(log, *(sized_batch(200) for _ in range(3)))
        expected = records_in(log)
        for seed in range(30):
            disk = disk_of(log).crash(Random(seed))
            after = records_in(make_log(filesystem=disk, segment_bytes=450, recovery_point=log.recovery_point))
            assert after == expected[: len(after)]
            assert len(after) >= 7

    def test_up_to_an_offset(self) -> None:
        log = make_log(segment_bytes=450)
        append(log, *(sized_batch(200) for _ in range(7)))
        log.flush(NOW, up_to_offset=4)
        assert log.recovery_point == 4
        before = len(disk_of(log).trace)
        log.flush(NOW, up_to_offset=4)
        assert log.recovery_point == 4
        synced = [line for line in list(disk_of(log).trace)[before:] if "00000000000000000006.log" in line]
        assert synced == []  # the segments above are not touched

    def test_never_moves_back(self) -> None:
        log = make_log()
        append(log, batch_of("a", "b", "c"))
        log.flush(NOW)
        log.flush(NOW, up_to_offset=1)
        assert log.recovery_point == 3

    def test_names_are_synced_once(self) -> None:
        log = make_log(segment_bytes=450)
        append(log, *(sized_batch(200) for _ in range(3)))

        def folder_syncs() -> int:
            return sum(line.startswith("sync directory") for line in disk_of(log).trace)

        log.flush(NOW)
        count = folder_syncs()
        append(log, sized_batch(200))
        log.flush(NOW)
        assert folder_syncs() == count

    def test_snapshots_of_rolls_are_synced_with_their_segments(self) -> None:
        log = make_log(segment_bytes=100)
        disk_of(log).sync_directory("/")
        append(log, numbered(0), numbered(1), numbered(2))
        log.flush(NOW)
        snapshots = {name: data for name, data in files_of(log).items() if name.endswith(".snapshot")}
        assert len(snapshots) == 2
        for seed in range(10):
            disk = disk_of(log).crash(Random(seed))
            survived = files_of(make_log(filesystem=disk, segment_bytes=100, recovery_point=3))
            assert {name: survived[name] for name in snapshots} == snapshots

    def test_a_snapshot_that_a_killed_process_left_is_synced_by_the_next(self) -> None:
        """It was taken for a roll right after a flush: nobody had synced it, and nobody would have."""
        log = make_log(segment_bytes=100)
        disk_of(log).sync_directory("/")
        append(log, numbered(0))
        log.flush(NOW)
        append(log, numbered(1))
        again = make_log(filesystem=disk_of(log).kill(), segment_bytes=100, recovery_point=1)
        again.flush(NOW)
        snapshots = {name: data for name, data in files_of(again).items() if name.endswith(".snapshot")}
        assert len(snapshots) == 1
        for seed in range(10):
            survived = files_of(make_log(filesystem=disk_of(again).crash(Random(seed)), recovery_point=2))
            assert {name: survived[name] for name in snapshots} == snapshots

    def test_indexes_that_a_killed_process_trimmed_are_synced_by_the_next(self) -> None:
        """Of the segment below the recovery point: it was flushed, then closed for a roll, which nobody had synced."""
        log = make_log(segment_bytes=100)
        disk_of(log).sync_directory("/")
        append(log, numbered(0))
        log.flush(NOW)
        closed = log.segments.active
        append(log, numbered(1))
        again = make_log(filesystem=disk_of(log).kill(), segment_bytes=100, recovery_point=1)
        again.flush(NOW)
        for seed in range(10):
            disk = disk_of(again).crash(Random(seed))
            for kind in (".index", ".timeindex"):
                assert disk.size(closed.path(kind)) == disk_of(again).size(closed.path(kind)) < 100


class TestWorkElsewhere:
    """The slow part runs in a worker thread while the owner goes on."""

    def test_appends_during_the_work(self, tmp_path: Path) -> None:
        log = make_log(tmp_path / "orders-0", segment_bytes=10_000, flush_messages=1)
        failures: list[Exception] = []

        def run(work: FlushWork) -> None:
            try:
                work.run()
            except Exception as error:  # told to the test, which runs in another thread
                failures.append(error)

        points = []
        for number in range(20):
            append(log, *(batch_of(f"{number}.{index}") for index in range(20)))
            work = log.begin_flush()
            worker = Thread(target=run, args=(work,))
            worker.start()
            append(log, *(sized_batch(900) for _ in range(5)))
            worker.join()
            log.end_flush(work, NOW)
            points.append(log.recovery_point)
        assert failures == []
        assert points == [20 + 25 * number for number in range(20)]
        assert log.flush_is_due(NOW)

    def test_segments_may_go_meanwhile(self) -> None:
        log = make_log(segment_bytes=450, file_delete_delay_ms=0)
        append(log, *(sized_batch(200) for _ in range(7)))
        work = log.begin_flush()
        log.remove_segments(log.segments.all()[:2], now_ms=NOW)
        log.deletions.remove_due(NOW)
        work.run()
        log.end_flush(work, NOW)
        assert log.recovery_point == 7

    def test_truncated_meanwhile(self) -> None:
        """KAFKA-10101: a recovery point beyond the end would make the next start believe unsynced bytes."""
        log = make_log()
        append(log, batch_of("a"), batch_of("b"), batch_of("c"))
        work = log.begin_flush()
        log.truncate_to(1, now_ms=NOW)
        work.run()
        log.end_flush(work, NOW)
        assert log.recovery_point <= 1

    def test_truncated_and_written_again_meanwhile(self) -> None:
        """The same offsets, other bytes, which this work has not synced."""
        log = make_log()
        append(log, batch_of("a"), batch_of("b"), batch_of("c"))
        work = log.begin_flush()
        work.run()
        log.truncate_to(1, now_ms=NOW)
        append(log, batch_of("other b"), batch_of("other c"))
        log.end_flush(work, NOW)
        assert log.recovery_point <= 1
        log.flush(NOW)
        assert log.recovery_point == 3

    def test_a_flush_that_ends_before_one_that_began_earlier(self) -> None:
        """The first was to sync the name of a new segment, and has not yet: the second must not count on it."""
        log = make_log()
        append(log, batch_of("a"))
        log.flush(NOW)
        log.roll(NOW)
        append(log, batch_of("b"))
        log.begin_flush()
        log.flush(NOW)
        assert log.recovery_point == 2
        disk_of(log).sync_directory("/")
        for name, disk in disk_of(log).crash_states(limit=10):
            assert len(records_in(make_log(filesystem=disk, recovery_point=2))) == 2, name

    def test_begun_anew_meanwhile(self) -> None:
        log = make_log()
        append(log, batch_of("a"), batch_of("b"), batch_of("c"))
        work = log.begin_flush()
        work.run()
        log.truncate_fully_and_start_at(1, now_ms=NOW)
        append(log, batch_of("other b"), batch_of("other c"))
        log.end_flush(work, NOW)
        assert log.recovery_point == 1


def test_a_failed_sync_takes_the_log_offline() -> None:
    """fsyncgate: the pages may be gone, and the next sync would say all is well."""
    log = make_log()
    append(log, batch_of("a"))
    disk_of(log).fail_next("sync", errno.EIO)
    with pytest.raises(StorageFailed):
        log.flush(NOW)
    assert log.recovery_point == 0
    for again in (lambda: log.flush(NOW), lambda: log.read(0, 1), lambda: append(log, batch_of("b"))):
        with pytest.raises(StorageFailed):
            again()


def test_the_next_process_does_not_count_on_what_a_failed_sync_has_left_in_memory() -> None:
    """It found it in the page cache, flushed it, was told that all is well, and lost it with the power."""
    log = make_log()
    append(log, batch_of("a"))
    log.flush(NOW)
    disk_of(log).sync_directory("/")
    append(log, batch_of("b" * 4096))  # sectors of its own
    disk_of(log).fail_next("sync", errno.EIO)
    with pytest.raises(StorageFailed):
        log.flush(NOW)
    again = make_log(filesystem=disk_of(log).kill(), recovery_point=1)
    append(again, batch_of("c"))
    again.flush(NOW)
    for name, disk in disk_of(again).crash_states(limit=10):
        after = make_log(filesystem=disk, recovery_point=again.recovery_point)
        assert records_in(after) == records_in(again), name
