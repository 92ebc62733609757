"""Segments whose offsets do not fit 31 bits beside their name: split when found, rolled when written (KAFKA-6264)."""

from __future__ import annotations

from tests.log.log_checks import stored_batches
from tests.log.sample_log import FOLDER, NOW_MS, disk_with, disk_with_folder, files_in, open_sample

from strandline.log.log import Log
from strandline.records.builder import build_batch
from strandline.records.control import build_marker
from strandline.records.record import Record
from strandline.simulation.crash_matrix import run_with_power_loss_at_every_step
from strandline.simulation.disk import SimulatedDisk

FAR = 2**31
BASES = [0, 5, FAR - 1, FAR + 3, FAR + 9, 3 * FAR, 3 * FAR + 1]
NEXT_BASE = 4 * FAR
ABORTED_OFFSET = FAR + 10


def _batch(offset: int) -> bytes:
    return bytes(build_batch([Record(offset, offset % 1000, b"key", b"value")], leader_epoch=1))


def _overflowed() -> dict[str, bytes]:
    """As an old Kafka's compaction left it: one segment over six thousand million offsets, then the active one."""
    opened = bytes(
        build_batch(
            [Record(FAR + 9, 9, b"key", b"value")],
            leader_epoch=1,
            producer_id=20,
            producer_epoch=0,
            base_sequence=0,
            is_transactional=True,
        )
    )
    ended = bytes(
        build_marker(
            producer_id=20,
            producer_epoch=0,
            is_commit=False,
            coordinator_epoch=1,
            timestamp=10,
            base_offset=ABORTED_OFFSET,
            leader_epoch=1,
        )
    )
    batches = [opened if offset == FAR + 9 else _batch(offset) for offset in BASES]
    batches.insert(BASES.index(FAR + 9) + 1, ended)
    aborted = b"".join(
        number.to_bytes(size, "big") for number, size in ((0, 2), (20, 8), (FAR + 9, 8), (FAR + 10, 8), (FAR + 11, 8))
    )
    return {
        "00000000000000000000.log": b"".join(batches),
        "00000000000000000000.txnindex": aborted,
        f"{NEXT_BASE:020d}.log": _batch(NEXT_BASE),
        "leader-epoch-checkpoint": b"0\n1\n1 0\n",
    }


def _assert_split(log: Log, disk: SimulatedDisk) -> None:
    assert [segment.base_offset for segment in log.segments.all()] == [0, FAR + 3, 3 * FAR + 1 - 1, NEXT_BASE]
    offsets = [batch.base_offset for batch in stored_batches(disk, FOLDER)]
    assert offsets == sorted([*BASES, ABORTED_OFFSET, NEXT_BASE])
    for offset in offsets:
        assert int.from_bytes(log.read(offset, 1).read()[:8], "big") == offset
    assert [each.last_offset for each in log.aborted_transactions(0, NEXT_BASE)] == [ABORTED_OFFSET]
    assert log.log_end_offset == NEXT_BASE + 1


def test_an_overflowed_segment_is_split_on_load() -> None:
    for is_clean in (False, True):
        disk, findings = disk_with(_overflowed()), list[str]()
        log = open_sample(disk, recovery_point=NEXT_BASE, is_clean=is_clean, findings=findings)
        _assert_split(log, disk)
        assert any("split into 3" in finding for finding in findings)
        again: list[str] = []
        _assert_split(open_sample(disk.kill(), recovery_point=NEXT_BASE, is_clean=True, findings=again), disk)
        assert again == []
        assert not [name for name in files_in(disk) if name.endswith((".cleaned", ".swap", ".deleted"))]


def test_a_split_that_is_interrupted_is_done_again_or_completed() -> None:
    """KAFKA-6264, KAFKA-12520: after a crash between any two renames nothing is lost and nothing is there twice."""
    start = disk_with(_overflowed())
    start.sync_directory("/data")
    start.sync_directory("/")

    def verify(disk: SimulatedDisk, _: None) -> None:
        _assert_split(open_sample(disk, recovery_point=NEXT_BASE), disk)

    count = run_with_power_loss_at_every_step(
        lambda disk, _: _open(disk), verify, make_oracle=lambda: None, make_disk=start.kill, seeds=3
    )
    assert count.steps > 40


def _open(disk: SimulatedDisk) -> None:
    open_sample(disk, recovery_point=NEXT_BASE)


def test_a_relative_offset_that_would_overflow_rolls_first() -> None:
    """KAFKA-5413, KAFKA-6292: a follower of a compacted leader meets leaps in offsets."""
    disk = disk_with_folder()
    log = open_sample(disk)
    for offset in (0, 7, FAR - 1, FAR, FAR + 1, 5 * FAR, 2**62):
        log.append_replicated(_batch(offset), now_ms=NOW_MS)
    bases = [segment.base_offset for segment in log.segments.all()]
    assert bases == [0, FAR, 5 * FAR, 2**62]
    again = open_sample(disk.kill(), recovery_point=2**62 + 1)
    assert again.log_end_offset == 2**62 + 1
    for offset in (0, 7, FAR - 1, FAR, FAR + 1, 5 * FAR, 2**62):
        assert int.from_bytes(again.read(offset, 1).read()[:8], "big") == offset


def test_leftovers_of_a_swap_are_completed_or_thrown_away() -> None:
    """KAFKA-12520: `.swap` is finished work unless a `.cleaned` file at or below it says otherwise."""
    old = {"00000000000000000000.log": _batch(0) + _batch(1), "00000000000000000002.log": _batch(2) + _batch(3)}
    compacted = _batch(1) + _batch(3)
    tail = {"00000000000000000004.log": _batch(4)}
    finished = disk_with(old | tail | {"00000000000000000000.log.swap": compacted})
    log = open_sample(finished, is_clean=True)
    assert [batch.base_offset for batch in stored_batches(finished, FOLDER)] == [1, 3, 4]
    assert log.log_end_offset == 5
    unfinished = disk_with(
        old | tail | {"00000000000000000000.log.swap": _batch(1), "00000000000000000000.index.cleaned": b""}
    )
    open_sample(unfinished, is_clean=True)
    assert [batch.base_offset for batch in stored_batches(unfinished, FOLDER)] == [0, 1, 2, 3, 4]
