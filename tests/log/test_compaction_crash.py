"""Power may go at any step of a compaction: each group of segments is then the old one or the new one (SPEC C6, L7).

The disk loses any subset of the names and bytes that were not synced. Whatever it finds, the log opens, every segment
range holds exactly the batches from before or from after, the index of aborted transactions goes with them, and
cleaning once more ends where an undisturbed cleaning ends.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import pairwise

import pytest
from tests.log.compaction_scenes import DELETE_RETENTION_MS, NOW, Producer, Scene

from strandline.log.aborted_index import AbortedTransaction
from strandline.log.leftovers import resolve_leftovers
from strandline.log.recovery import open_log
from strandline.simulation.crash_matrix import run_with_power_loss_at_every_step
from strandline.simulation.disk import PowerLost, SimulatedDisk

SEGMENT_BYTES = 1000
UNFINISHED = (".cleaned", ".swap", ".deleted")
Batches = list[bytes]


def write_history(scene: Scene) -> None:
    """Five small segments that become two, with an aborted transaction that must stay known in each."""
    aborting, plain = Producer(1, is_transactional=True), Producer(2)
    for turn in range(5):
        scene.write(("a", f"{turn}"), (f"b{turn}", "x"), producer=plain)
        scene.write(("a", "aborted"), producer=aborting)
        scene.end(aborting, commit=False)
        scene.write((f"b{turn - 1}", None))
        scene.roll()


@cache
def image() -> Scene:
    scene = Scene(segment_bytes=SEGMENT_BYTES)
    write_history(scene)
    scene.log.close(NOW)
    scene.disk.sync_directory("/")
    return scene


def scene_on(disk: SimulatedDisk, *, is_clean: bool, recovery_point: int = 0) -> Scene:
    scene = Scene.__new__(Scene)
    scene.disk, scene.settings, scene.findings = disk, image().settings, []
    scene.now, scene.first_dirty_offset = NOW, 0
    scene.log = open_log(
        disk,
        image().log.directory,
        image().log.partition,
        scene.settings,
        now_ms=NOW,
        is_clean=is_clean,
        recovery_point=recovery_point,
        findings=scene.findings,
    )
    scene.log.producers.high_watermark_moved(scene.log.log_end_offset)
    return scene


def batches_within(scene: Scene, ranges: list[range]) -> list[Batches]:
    return [[data for head, data in scene.batches() if head.base_offset in each] for each in ranges]


def aborted_within(scene: Scene, ranges: list[range]) -> list[list[AbortedTransaction]]:
    found = [each for segment in scene.log.segments.all() for each in segment.aborted.all()]
    return [[aborted for aborted in found if aborted.last_offset in each] for each in ranges]


def settle(scene: Scene) -> None:
    """Markers go in two steps, and segments are joined as they shrink: until nothing changes."""
    for _ in range(4):
        scene.clean(first_dirty_offset=0)


class Expected:
    def __init__(self) -> None:
        before = scene_on(image().disk.kill(), is_clean=True)
        after = scene_on(image().disk.kill(), is_clean=True)
        after.clean()
        bounds = [*after.base_offsets(), after.log.log_end_offset]
        self.ranges = [range(start, end) for start, end in pairwise(bounds)]
        self.before, self.after = batches_within(before, self.ranges), batches_within(after, self.ranges)
        self.aborted_before, self.aborted_after = (
            aborted_within(before, self.ranges),
            aborted_within(after, self.ranges),
        )
        self.table = before.table()
        self.log_end_offset = before.log.log_end_offset
        assert after.table() == self.table
        assert len(self.ranges) == 3
        assert all(old != new for old, new in zip(self.before[:2], self.after[:2], strict=True))
        assert all(self.aborted_after[:2]), "each group has an aborted transaction to carry over"
        settle(after)
        self.settled = list(after.batches())


@cache
def expected() -> Expected:
    return Expected()


class Promises:
    is_finished = False


def compact(disk: SimulatedDisk, promises: Promises) -> None:
    scene_on(disk, is_clean=True).clean()
    promises.is_finished = True


def verify_with(recovery_point: int) -> Callable[[SimulatedDisk, Promises], None]:
    settled_states: set[tuple[bytes, ...]] = set()

    def verify(disk: SimulatedDisk, promises: Promises) -> None:
        scene = scene_on(disk, is_clean=False, recovery_point=recovery_point)
        want = expected()
        assert scene.log.log_end_offset == want.log_end_offset
        assert scene.names(*UNFINISHED) == []
        offsets = [head.base_offset for head in scene.heads()]
        assert offsets == sorted(set(offsets)), "nothing twice"
        found, aborted = batches_within(scene, want.ranges), aborted_within(scene, want.ranges)
        for index, batches in enumerate(found):
            is_new = batches == want.after[index]
            assert is_new or (batches == want.before[index] and not promises.is_finished)
            if recovery_point:
                assert aborted[index] == (want.aborted_after if is_new else want.aborted_before)[index]
        assert scene.table() == want.table
        state = tuple(data for _, data in scene.batches())
        if state not in settled_states:
            settled_states.add(state)
            settle(scene)
            assert list(scene.batches()) == want.settled
            assert scene.table() == want.table

    return verify


def test_power_loss_at_every_step_of_a_compaction() -> None:
    end = expected().log_end_offset
    count = run_with_power_loss_at_every_step(
        compact, verify_with(end), make_oracle=Promises, make_disk=image().disk.kill, seeds=6
    )
    assert count.steps > 60


def test_power_loss_when_nothing_counts_as_flushed() -> None:
    """Then recovery reads all of it anew, and makes the indexes from what compaction has left."""
    run_with_power_loss_at_every_step(
        compact, verify_with(0), make_oracle=Promises, make_disk=image().disk.kill, seeds=1, corner_cases_max=2
    )


def test_power_loss_at_every_step_of_resolving_what_a_compaction_left() -> None:
    """Recovery is cut off too, from each state that the death of the process leaves."""
    verify = verify_with(expected().log_end_offset)
    seen: set[tuple[str, ...]] = set()
    steps = 0

    def resolve(disk: SimulatedDisk, _: Promises) -> None:
        resolve_leftovers(disk, image().log.directory, image().settings, [])

    def verify_resolved(disk: SimulatedDisk, _: Promises) -> None:
        nonlocal steps
        found_names = tuple(disk.names(image().log.directory))
        if found_names not in seen and any(name.endswith(UNFINISHED[:2]) for name in found_names):
            seen.add(found_names)
            found = run_with_power_loss_at_every_step(
                resolve, verify, make_oracle=Promises, make_disk=disk.kill, seeds=1, corner_cases_max=3
            )
            steps += found.steps

    run_with_power_loss_at_every_step(
        compact, verify_resolved, make_oracle=Promises, make_disk=image().disk.kill, seeds=0, corner_cases_max=0
    )
    assert steps > 100


def test_a_second_life_after_the_crash_goes_on_writing_and_cleaning() -> None:
    disk = image().disk.kill()
    disk.stop_after(55)
    with pytest.raises(PowerLost):
        compact(disk, Promises())
    for name, found in disk.crash_states(7):
        scene = scene_on(found, is_clean=False)
        table = scene.table()
        scene.write(("a", "later"), ("z", None))
        scene.now += 2 * DELETE_RETENTION_MS
        scene.roll_and_clean()
        scene.now += 2 * DELETE_RETENTION_MS
        scene.roll_and_clean()
        assert scene.table() == {**table, "a": "later"}, name
        assert all(value is not None for _, _, value in scene.pairs()), name
