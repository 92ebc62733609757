"""A compaction runs while the log lives on: what it may meet, and that it leaves nothing behind (SPEC C6)."""

from __future__ import annotations

import errno
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.log.compaction_scenes import NOW, PARTITION, SETTINGS, Scene

from strandline.log.compaction import Compaction, CompactionAbandoned
from strandline.log.filesystem import RealFileSystem
from strandline.log.io_throttle import IoThrottle
from strandline.log.recovery import open_log
from strandline.model.failures import CorruptData, StorageFailed
from strandline.model.settings import CleanerSettings
from strandline.records.builder import build_batch
from strandline.records.record import Record

UNFINISHED = (".cleaned", ".swap")


def two_segments() -> Scene:
    scene = Scene(segment_bytes=500)
    for number in range(6):
        scene.write(("a", str(number)), (f"b{number}", "x" * 100))
    scene.roll()
    assert len(scene.base_offsets()) >= 3
    return scene


def planned(scene: Scene) -> Compaction:
    compaction = scene.plan()
    assert compaction is not None
    return compaction


def test_the_log_takes_appends_and_reads_while_a_thread_compacts(tmp_path: Path) -> None:
    log = open_log(RealFileSystem(), str(tmp_path / "table-0"), PARTITION, SETTINGS, now_ms=NOW)

    def append(number: int) -> None:
        batch = build_batch([Record(0, NOW, b"key%d" % (number % 50), b"%d" % number)])
        log.append([batch], leader_epoch=0, now_ms=NOW)

    for number in range(3000):
        append(number)
    log.roll(NOW)
    compaction = Compaction.plan(
        log, CleanerSettings(), first_dirty_offset=0, uncleanable_offset=log.log_end_offset, now_ms=NOW
    )
    assert compaction is not None
    with ThreadPoolExecutor(1) as worker:
        running = worker.submit(compaction.run)
        number = 3000
        while not running.done() or number < 3100:
            append(number)
            assert log.read(number - 2900, 1000).read()
            number += 1
        running.result()
    assert compaction.finish(log, now_ms=NOW) == 3000
    assert compaction.counts.records_written == 50
    assert log.find_by_timestamp(NOW) == (NOW, 2950, 0)
    assert log.log_end_offset == number
    log.close(NOW)


def test_nothing_is_left_when_it_is_asked_to_stop() -> None:
    scene = two_segments()
    before = list(scene.batches())
    reads: list[int] = []
    compaction = planned(scene)
    with pytest.raises(CompactionAbandoned):
        compaction.run(progress=lambda done, _: reads.append(done), should_stop=lambda: len(reads) >= 9)
    assert (scene.names(*UNFINISHED), list(scene.batches())) == ([], before)
    assert compaction.finish(scene.log, now_ms=NOW) is None
    assert list(scene.batches()) == before
    scene.clean()
    assert scene.first_dirty_offset == 12


def test_segments_that_retention_took_meanwhile_stay_gone() -> None:
    scene = two_segments()
    compaction = planned(scene)
    compaction.run()
    scene.log.remove_segments(scene.log.segments.all()[:1], now_ms=NOW)
    before = list(scene.batches())
    assert compaction.finish(scene.log, now_ms=NOW) is None
    assert (scene.names(*UNFINISHED), list(scene.batches())) == ([], before)


def test_between_two_segments_that_are_put_in_place_the_rest_may_go() -> None:
    """What is in place stays; the rest comes to nothing, and the whole is cleaned again."""
    scene = two_segments()
    compaction = planned(scene)
    compaction.run()
    assert len(compaction.replacements) > 1
    assert compaction.finish_next(scene.log, now_ms=NOW)
    in_place = scene.log.segments.first
    scene.log.truncate_to(scene.log.segments.all()[1].base_offset, now_ms=NOW)
    assert not compaction.finish_next(scene.log, now_ms=NOW)
    assert compaction.next_dirty_offset is None
    assert scene.names(".cleaned", ".swap") == []
    assert scene.log.segments.first is in_place


def test_a_file_that_goes_while_it_runs_ends_it() -> None:
    scene = two_segments()
    compaction = planned(scene)
    scene.log.remove_segments(scene.log.segments.all()[:1], now_ms=NOW)
    with pytest.raises(CompactionAbandoned):
        compaction.run()
    assert scene.names(*UNFINISHED) == []


@pytest.mark.parametrize("offset", [2, 10])
def test_a_log_that_was_cut_amid_what_was_compacted_is_left_alone(offset: int) -> None:
    """The segment that was cut is the same object; only that its follower is gone tells."""
    scene = two_segments()
    assert scene.base_offsets()[-2] < 10 < scene.base_offsets()[-1]
    compaction = planned(scene)
    compaction.run()
    scene.log.truncate_to(offset, now_ms=NOW)
    for number in range(10):
        scene.write(("new", str(number)))
    before = list(scene.batches())
    assert compaction.finish(scene.log, now_ms=NOW) is None
    assert (scene.names(*UNFINISHED), list(scene.batches())) == ([], before)


def test_a_log_that_is_cut_while_it_runs_ends_it_and_is_not_called_damaged() -> None:
    """An unclean election may cut below the high watermark; `CorruptData` would end all cleaning of the log."""
    scene = two_segments()
    compaction = planned(scene)
    scene.log.truncate_to(2, now_ms=NOW)
    with pytest.raises(CompactionAbandoned):
        compaction.run()
    assert scene.names(*UNFINISHED) == []


def test_a_bad_batch_is_an_error_and_never_gets_a_good_crc() -> None:
    scene = two_segments()
    position = scene.log.segments.first.size_bytes - 10
    scene.disk.flip_bit(scene.log.segments.first.path(".log"), position, 3)
    compaction = planned(scene)
    with pytest.raises(CorruptData):
        compaction.run()
    assert scene.names(*UNFINISHED) == []


@pytest.mark.parametrize(("operation", "after"), [("append", 0), ("sync", 0), ("open", 3), ("sync_directory", 0)])
def test_a_disk_that_fails_under_the_run_leaves_the_log_as_it_was(operation: str, after: int) -> None:
    scene = two_segments()
    before = list(scene.batches())
    compaction = planned(scene)
    scene.disk.fail_next(operation, errno.ENOSPC, after=after)
    with pytest.raises(OSError, match="space"):
        compaction.run()
    assert (scene.disk.faults, scene.names(*UNFINISHED), list(scene.batches())) == ([], [], before)


def test_a_file_that_could_not_be_removed_does_no_harm_later() -> None:
    """A `.cleaned` file condemns every `.swap` above it after a crash, so a stale one goes before anything is done."""
    scene = two_segments()
    stale = f"{scene.log.directory}/00000000000000000001.log.cleaned"
    scene.disk.open(stale, create=True).close()
    scene.clean()
    assert scene.names(*UNFINISHED) == []


@pytest.mark.parametrize("operation", ["rename", "sync_directory"])
@pytest.mark.parametrize("after", range(3))
def test_a_disk_that_fails_under_the_swap_takes_the_log_offline(operation: str, after: int) -> None:
    scene = two_segments()
    expected = scene.table()
    compaction = planned(scene)
    compaction.run()
    scene.disk.fail_next(operation, after=after)
    with pytest.raises(StorageFailed):
        compaction.finish(scene.log, now_ms=NOW)
    with pytest.raises(StorageFailed):
        scene.log.read(0, 100)
    scene.reopen()
    assert scene.table() == expected


def test_throttle_and_progress_hear_of_every_byte() -> None:
    scene = two_segments()
    compaction = scene.plan(CleanerSettings(io_buffer_size=200))  # where batches do not fit, some bytes are read again
    assert compaction is not None
    throttled: list[int] = []
    progress: list[tuple[int, int]] = []
    compaction.run(throttle=throttled.append, progress=lambda done, total: progress.append((done, total)))
    assert len(throttled) > 6
    assert sum(throttled) == compaction.counts.bytes_read + compaction.counts.bytes_written
    assert [done for done, _ in progress] == sorted(done for done, _ in progress)
    assert progress[-1] == (compaction.bytes_to_do, compaction.bytes_to_do)


def test_the_throttle_sleeps_as_long_as_the_bytes_take() -> None:
    clock, slept = [100.0], list[float]()

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        clock[0] += seconds

    throttle = IoThrottle(1000, lambda: clock[0], sleep)
    throttle(500)
    throttle(250)
    assert slept == [0.5, 0.25]
    clock[0] += 10
    throttle(100)
    assert slept[2:] == pytest.approx([0.1]), "idle time is not saved up for a burst"
    IoThrottle(float("inf"), lambda: clock[0], sleep)(10**9)
    assert len(slept) == 3
