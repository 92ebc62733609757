"""Whatever is on the disk, opening a log keeps the longest valid prefix and never raises (SPEC L7).

Every damage is done to the files of one sample log; what must be left is computed from the original batches, and what
is derived from them is compared with a rebuild by plain loops (`dumb_log`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random

import pytest

from strandline.log.log import Log
from strandline.simulation.disk import SimulatedDisk
from tests.log.dumb_log import StoredBatch, read_valid_batches
from tests.log.log_checks import assert_derived, stored_batches
from tests.log.sample_log import (
    FOLDER,
    SETTINGS,
    Image,
    Step,
    append,
    disk_with,
    files_in,
    open_sample,
    plain,
    without,
    write_sample,
)
from strandline.log.recovery import open_log


def _image(*, is_clean: bool) -> Image:
    disk = SimulatedDisk()
    log = write_sample(disk)
    if is_clean:
        log.close(now_ms=0)
    return files_in(disk)


CRASHED = _image(is_clean=False)
CLEAN = _image(is_clean=True)
LOG_NAMES = [name for name in CRASHED if name.endswith(".log")]
BATCHES = [batch for name in LOG_NAMES for batch in read_valid_batches(int(name[:20]), CRASHED[name])]
TAIL = LOG_NAMES[-1]
TAIL_BASE = int(TAIL[:20])
END = BATCHES[-1].last_offset + 1


def test_the_sample_has_everything_in_it() -> None:
    assert len(LOG_NAMES) == 4
    assert sum(name.endswith(".txnindex") for name in CRASHED) == 4
    assert len([batch for batch in BATCHES if batch.segment == TAIL_BASE]) >= 4
    assert b"".join(batch.data for batch in BATCHES) == b"".join(CRASHED[name] for name in LOG_NAMES)


def reopened(
    image: Image, kept: Sequence[StoredBatch], *, recovery_point: int = 0, is_clean: bool = False
) -> tuple[Log, SimulatedDisk, list[str]]:
    """Open, compare with what must be left, open once more: nothing may be left to mend."""
    disk, findings = disk_with(image), list[str]()
    log = open_sample(disk, recovery_point=recovery_point, is_clean=is_clean, findings=findings)
    assert [batch.data for batch in stored_batches(disk, FOLDER)] == [batch.data for batch in kept]
    assert_derived(log, kept)
    again: list[str] = []
    files = files_in(disk)
    assert_same(open_sample(disk.kill(), recovery_point=recovery_point, is_clean=is_clean, findings=again), log)
    assert again == []
    assert files_in(disk) == files
    return log, disk, findings


def assert_same(one: Log, other: Log) -> None:
    assert one.log_end_offset == other.log_end_offset
    assert one.log_start_offset == other.log_start_offset
    assert one.epochs.entries() == other.epochs.entries()
    assert [each.base_offset for each in one.segments.all()] == [each.base_offset for each in other.segments.all()]


def assert_goes_on(log: Log, disk: SimulatedDisk, kept: Sequence[StoredBatch]) -> None:
    """The log takes new batches behind what is left, and has them after the next crash of the process."""
    outcome = append(log, Step(plain(170, 171), 9))
    assert outcome.base_offset == (kept[-1].last_offset + 1 if kept else log.log_start_offset)
    found = disk.kill()
    again = open_sample(found)
    batches = stored_batches(found, FOLDER)
    assert [batch.data for batch in batches[:-1]] == [batch.data for batch in kept]
    assert_derived(again, batches)


def kept_after_cut(name: str, size_bytes: int) -> list[StoredBatch]:
    segment = int(name[:20])
    below = [batch for batch in BATCHES if batch.segment < segment]
    inside = [batch for batch in BATCHES if batch.segment == segment]
    inside = [batch for batch in inside if batch.position + len(batch.data) <= size_bytes]
    return below + inside


@pytest.mark.parametrize("name", LOG_NAMES)
def test_a_log_cut_at_every_byte_keeps_every_whole_batch_before_the_cut(name: str) -> None:
    for size_bytes in range(len(CRASHED[name])):
        image = CRASHED | {name: CRASHED[name][:size_bytes]}
        kept = kept_after_cut(name, size_bytes)
        log, disk, findings = reopened(image, kept)
        is_boundary = size_bytes == 0 or any(len(b.data) + b.position == size_bytes for b in kept if name in (TAIL,))
        assert findings or is_boundary
        if size_bytes % 7 == 0:
            assert_goes_on(log, disk, kept)


def test_a_cut_above_the_recovery_point_loses_nothing_below_it() -> None:
    for recovery_point in (TAIL_BASE, BATCHES[-2].base_offset):
        start = next(batch.position for batch in BATCHES if batch.base_offset == recovery_point)
        for size_bytes in range(start, len(CRASHED[TAIL])):
            image = CRASHED | {TAIL: CRASHED[TAIL][:size_bytes]}
            log, _, _ = reopened(image, kept_after_cut(TAIL, size_bytes), recovery_point=recovery_point)
            assert log.log_end_offset >= recovery_point
