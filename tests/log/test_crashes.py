"""Power lost between any two steps of what a log does; un-synced bytes and names lost in any subset (SPEC L7-L9).

Each test plays one run on the simulated disk, crashes it after every step in many ways, and lets the oracle look at
what recovery makes of it.
"""

from __future__ import annotations

import copy
from collections.abc import Callable

from tests.log.crash_oracle import CrashOracle, oracle_of
from tests.log.sample_log import (
    NOW_MS,
    STEPS,
    Step,
    disk_with_folder,
    idempotent,
    marker,
    open_sample,
    plain,
    transactional,
    write_sample,
)

from strandline.log.log import Log
from strandline.simulation.crash_matrix import CrashCount, run_with_power_loss_at_every_step
from strandline.simulation.disk import SimulatedDisk

Run = Callable[[Log, CrashOracle], None]


def _flushed_sample(count: int) -> tuple[SimulatedDisk, CrashOracle]:
    disk = disk_with_folder()
    log = write_sample(disk, STEPS[:count])
    log.flush(NOW_MS)
    return disk, oracle_of(disk, log)


def play(run: Run, *, flushed: int, seeds: int = 3, corner_cases_max: int = 7) -> CrashCount:
    """Crash `run`, which begins with a log whose first `flushed` steps are durable."""
    start_disk, start_oracle = _flushed_sample(flushed)

    def from_start(disk: SimulatedDisk, oracle: CrashOracle) -> None:
        log = oracle.recovered(disk)
        run(log, oracle)

    return run_with_power_loss_at_every_step(
        from_start,
        lambda disk, oracle: oracle.verify(disk),
        make_oracle=lambda: copy.deepcopy(start_oracle),
        make_disk=start_disk.kill,
        seeds=seeds,
        corner_cases_max=corner_cases_max,
    )


def test_appends_rolls_and_flushes() -> None:
    """KAFKA-3968: a segment's name is as durable as its bytes once a flush has returned."""

    def run(log: Log, oracle: CrashOracle) -> None:
        for number, step in enumerate(STEPS[4:18]):
            oracle.append(log, step)
            if number in (2, 7, 8):
                oracle.flush(log)

    count = play(run, flushed=4)
    assert count.steps > 60


def test_a_first_log_from_nothing() -> None:
    def run(disk: SimulatedDisk, oracle: CrashOracle) -> None:
        log = oracle.recovered(disk)
        for step in STEPS[:8]:
            oracle.append(log, step)
        oracle.flush(log)

    run_with_power_loss_at_every_step(
        run, lambda disk, oracle: oracle.verify(disk), make_oracle=CrashOracle, make_disk=disk_with_folder
    )


def test_truncation_inside_the_last_segment_and_appends_over_it() -> None:
    def run(log: Log, oracle: CrashOracle) -> None:
        oracle.truncate(log, 29)
        oracle.append(log, Step(plain(200), 8))
        oracle.append(log, Step(idempotent(10, 5, 201), 8))
        oracle.flush(log)
        oracle.append(log, Step(plain(202), 8))

    play(run, flushed=len(STEPS))


def test_truncation_over_segments_and_other_records_in_their_place() -> None:
    """RP#2326: after a crash no segment of the past may continue where the new records end."""

    def run(log: Log, oracle: CrashOracle) -> None:
        oracle.truncate(log, 16)
        for number in range(6):
            oracle.append(log, Step(plain(200 + number, 300), 8))
        oracle.flush(log)
        oracle.truncate(log, 18)
        oracle.append(log, Step(plain(400), 9))
        oracle.flush(log)

    play(run, flushed=len(STEPS))


def test_truncation_of_what_was_never_flushed() -> None:
    def run(log: Log, oracle: CrashOracle) -> None:
        for step in STEPS[6:20]:
            oracle.append(log, step)
        oracle.truncate(log, 13)
        for number in range(8):
            oracle.append(log, Step(plain(200 + number), 8))
        oracle.flush(log)

    play(run, flushed=6)


def test_an_emptied_log_that_starts_elsewhere() -> None:
    def run(log: Log, oracle: CrashOracle) -> None:
        oracle.start_again(log, 100)
        oracle.append(log, Step(plain(200), 8))
        oracle.append(log, Step(transactional(30, 0, 201), 8))
        oracle.flush(log)
        oracle.start_again(log, 50)
        oracle.append(log, Step(plain(202), 9))
        oracle.flush(log)

    play(run, flushed=len(STEPS))


def test_retention_removes_the_oldest_segments() -> None:
    def run(log: Log, oracle: CrashOracle) -> None:
        segments = log.segments.all()
        oracle.removable_offset = segments[2].base_offset
        log.remove_segments(segments[:2], now_ms=NOW_MS)
        oracle.log_start_offset = log.log_start_offset
        oracle.append(log, Step(plain(200), 8))
        oracle.flush(log)
        log.deletions.remove_due(NOW_MS + 10**9)
        oracle.append(log, Step(plain(201), 8))

    play(run, flushed=len(STEPS))


def test_retention_removes_everything() -> None:
    def run(log: Log, oracle: CrashOracle) -> None:
        oracle.removable_offset = log.log_end_offset
        oracle.start_offsets |= {log.log_end_offset}
        log.remove_segments(log.segments.all(), now_ms=NOW_MS)
        oracle.log_start_offset = log.log_start_offset
        oracle.append(log, Step(plain(200), 8))
        oracle.flush(log)

    play(run, flushed=12)


def test_epochs_without_records() -> None:
    """KAFKA-7415: an elected leader records its epoch before it has written anything."""

    def run(log: Log, oracle: CrashOracle) -> None:
        log.assign_epoch(11, log.log_end_offset)
        log.assign_epoch(12, log.log_end_offset)
        oracle.append(log, Step(plain(200), 12))
        oracle.flush(log)
        log.assign_epoch(13, log.log_end_offset)

    play(run, flushed=5)


def test_a_flush_that_a_truncation_overtakes() -> None:
    """KAFKA-10101: what was synced is not what is in the log when the sync returns."""

    def run(log: Log, oracle: CrashOracle) -> None:
        for step in STEPS[6:12]:
            oracle.append(log, step)
        work = log.begin_flush()
        work.run()
        oracle.truncate(log, 13)
        for number in range(9):
            oracle.append(log, Step(plain(200 + number), 8))
        log.end_flush(work, NOW_MS)
        oracle.recovery_point = log.recovery_point

    play(run, flushed=6)
    disk = SimulatedDisk()
    log = write_sample(disk, STEPS[:12])
    work = log.begin_flush()
    work.run()
    log.truncate_to(6, now_ms=NOW_MS)
    for number in range(20):
        log.append([bytearray(plain(200 + number))], leader_epoch=8, now_ms=NOW_MS)
    log.end_flush(work, NOW_MS)
    assert log.recovery_point == 6


def test_a_killed_process_loses_nothing_it_appended() -> None:
    disk = SimulatedDisk()
    log = open_sample(disk)
    for number, step in enumerate(STEPS):
        log.append([bytearray(step.batch)], leader_epoch=step.leader_epoch, now_ms=NOW_MS, from_client=step.from_client)
        again = open_sample(disk.kill())
        assert again.log_end_offset == log.log_end_offset, number
        assert again.epochs.entries() == log.epochs.entries()


def test_recovery_itself_crashes() -> None:
    """And again while it mends: the second recovery must come to the same end."""

    def run(log: Log, oracle: CrashOracle) -> None:
        for step in STEPS[8:]:
            oracle.append(log, step)
        oracle.truncate(log, 26)
        oracle.append(log, Step(marker(20, 300, is_commit=True), 9, from_client=False))

    start_disk, start_oracle = _flushed_sample(8)
    cases = 0

    def verify(disk: SimulatedDisk, oracle: CrashOracle) -> None:
        nonlocal cases
        cases += 1
        if cases % 61 == 0:
            run_with_power_loss_at_every_step(
                lambda again, _: _recover_and_drop(again, oracle),
                lambda again, _: oracle.verify(again),
                make_oracle=lambda: None,
                make_disk=disk.kill,
                seeds=1,
                corner_cases_max=4,
            )

    run_with_power_loss_at_every_step(
        lambda disk, oracle: run(oracle.recovered(disk), oracle),
        verify,
        make_oracle=lambda: copy.deepcopy(start_oracle),
        make_disk=start_disk.kill,
    )
    assert cases > 500


def _recover_and_drop(disk: SimulatedDisk, oracle: CrashOracle) -> None:
    copy.copy(oracle).recovered(disk)
