"""Segments replaced by others: a crash at any step leaves the old or the new, also where one becomes several (L7)."""

from __future__ import annotations

from functools import cache

import pytest
from tests.log.compaction_scenes import DIRECTORY, NOW, Scene

from strandline.log import names
from strandline.log.leftovers import resolve_leftovers
from strandline.log.replacement import replace_segments
from strandline.log.segment import Segment
from strandline.model.failures import BrokenInvariant
from strandline.records.heads import head_of
from strandline.simulation.crash_matrix import run_with_power_loss_at_every_step
from strandline.simulation.disk import SimulatedDisk

UNFINISHED = (".cleaned", ".swap", ".deleted")


@cache
def image() -> Scene:
    scene = Scene()
    for number in range(6):
        scene.write(("a", str(number)), ("b", str(number)))
        if number % 2:
            scene.roll()
    scene.log.close(NOW)
    scene.disk.sync_directory("/")
    return scene


def scene_on(disk: SimulatedDisk) -> Scene:
    return Scene(disk)


def copied(scene: Scene, batches: list[bytes], base_offset: int) -> Segment:
    """A finished `.cleaned` segment of these batches."""
    segment = Segment.create(scene.disk, DIRECTORY, base_offset, scene.settings, suffix=names.CLEANED)
    for batch in batches:
        head = head_of(batch)
        segment.append([batch], [(len(batch), head.last_offset, head.max_timestamp)])
    segment.finish()
    segment.sync()
    scene.disk.sync_directory(DIRECTORY)
    return segment


def split(scene: Scene) -> None:
    """Two segments become four, one for each batch: as when a segment with too wide offsets is split (KAFKA-6264)."""
    old = scene.log.segments.all()[:2]
    new = [copied(scene, [bytes(batch)], head_of(batch).base_offset) for each in old for _, batch in each.batches()]
    replace_segments(scene.log, old, new, now_ms=NOW)


def test_the_log_reads_the_new_segments_at_once() -> None:
    scene = scene_on(image().disk.kill())
    before = list(scene.batches())
    split(scene)
    assert scene.base_offsets() == [0, 2, 4, 6, 8, 12]
    assert list(scene.batches()) == before
    assert [head_of(scene.log.read(offset, 1).read()).base_offset for offset in range(12)] == [
        offset // 2 * 2 for offset in range(12)
    ]
    assert scene.names(".cleaned", ".swap") == []
    assert len(scene.log.deletions) == 2


def test_snapshots_stay_with_the_base_offsets_that_stay() -> None:
    scene = scene_on(image().disk.kill())
    assert scene.log.snapshots.offsets() == [4, 8, 12]
    old = scene.log.segments.all()[:2]
    whole = copied(scene, [bytes(batch) for each in old for _, batch in each.batches()], 0)
    replace_segments(scene.log, old, [whole], now_ms=NOW)
    assert (scene.base_offsets(), scene.log.snapshots.offsets()) == ([0, 8, 12], [8, 12])


def test_what_begins_elsewhere_is_no_replacement() -> None:
    scene = scene_on(image().disk.kill())
    old = scene.log.segments.all()[1:2]
    with pytest.raises(BrokenInvariant):
        replace_segments(scene.log, old, [copied(scene, [], 3)], now_ms=NOW)


class Promises:
    is_done = False


def split_with_promise(disk: SimulatedDisk, promises: Promises) -> None:
    split(scene_on(disk))
    promises.is_done = True


def verify_old_or_new(disk: SimulatedDisk, promises: Promises) -> None:
    scene = scene_on(disk)
    assert list(scene.batches()) == list(image().batches())
    new, old = [0, 2, 4, 6, 8, 12], [0, 4, 8, 12]
    assert scene.base_offsets() == new or (scene.base_offsets() == old and not promises.is_done)
    assert scene.names(*UNFINISHED) == []


def test_power_loss_at_every_step_of_a_split() -> None:
    count = run_with_power_loss_at_every_step(
        split_with_promise,
        verify_old_or_new,
        make_oracle=Promises,
        make_disk=image().disk.kill,
        seeds=6,
        corner_cases_max=6,
    )
    assert count.steps > 60


def test_power_loss_at_every_step_of_resolving_what_a_split_left() -> None:
    """Several `.swap` files must take their places one after the other: one that is still `.swap` after another crash
    condemns what lies between it and the next."""
    seen: set[tuple[str, ...]] = set()

    def resolve(disk: SimulatedDisk, _: Promises) -> None:
        resolve_leftovers(disk, DIRECTORY, image().settings, [])

    def verify_resolved(disk: SimulatedDisk, _: Promises) -> None:
        found = tuple(disk.names(DIRECTORY))
        if found not in seen and sum(name.endswith(".log.swap") for name in found) == 4:
            seen.add(found)
            run_with_power_loss_at_every_step(
                resolve, verify_old_or_new, make_oracle=Promises, make_disk=disk.kill, seeds=10, corner_cases_max=1
            )

    run_with_power_loss_at_every_step(
        split_with_promise,
        verify_resolved,
        make_oracle=Promises,
        make_disk=image().disk.kill,
        seeds=0,
        corner_cases_max=0,
    )
    assert len(seen) > 5


def put(disk: SimulatedDisk, name: str, data: bytes = b"") -> None:
    file = disk.open(f"{DIRECTORY}/{name}", create=True)
    file.truncate(0)
    file.append([data])
    file.close()


def test_a_swap_without_a_batch_replaces_its_namesake_with_all_its_indexes() -> None:
    """An index of aborted transactions that the old segment had must not stay beside the new one."""
    disk = image().disk.kill()
    put(disk, "00000000000000000004.txnindex", b"\0" * 34)
    put(disk, "00000000000000000004.log.swap")
    resolve_leftovers(disk, DIRECTORY, image().settings, [])
    assert disk.size(f"{DIRECTORY}/00000000000000000004.log") == 0
    assert [name for name in disk.names(DIRECTORY) if name.startswith("00000000000000000004")] == [
        "00000000000000000004.log",
        "00000000000000000004.snapshot",
    ]


def test_an_index_that_is_still_a_swap_joins_its_log() -> None:
    disk = image().disk.kill()
    disk.rename(f"{DIRECTORY}/00000000000000000004.index", f"{DIRECTORY}/00000000000000000004.index.swap")
    findings: list[str] = []
    resolve_leftovers(disk, DIRECTORY, image().settings, findings)
    assert findings == ["put 00000000000000000004.index.swap in place"]
    assert disk.exists(f"{DIRECTORY}/00000000000000000004.index")
