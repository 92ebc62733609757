"""What cleaning must do in time, and what it must leave."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from tests.log.making_logs import append, batch_of, make_log

from strandline.records.builder import build_batch
from strandline.records.record import Record
from strandline.simulation.cleaning_invariants import LastBatchesStay, Tombstones
from strandline.simulation.last_values import DELETE_RETENTION_MS
from strandline.simulation.observed import Batch, PartitionTruth
from strandline.simulation.profiles import PARTITION

SOON_US, LATE_US = DELETE_RETENTION_MS * 1000, DELETE_RETENTION_MS * 1000 + 1


@pytest.fixture
def tombstones() -> Tombstones:
    """One, at offset 1, behind a value."""
    log = make_log()
    append(log, batch_of("value"))
    append(log, build_batch([Record(0, 0, b"key", None)]))
    return Tombstones(log)


def test_a_tombstone_is_left_by_a_cleaning_that_began_when_its_time_was_over(tombstones: Tombstones) -> None:
    assert list(tombstones.cleaned(2, now_us=0)) == []
    assert list(tombstones.cleaned(3, now_us=LATE_US)) == []  # which may have begun before
    assert list(tombstones.cleaned(4, now_us=LATE_US)) == [1]


def test_a_tombstone_has_its_time_from_the_first_cleaning_on_that_met_it(tombstones: Tombstones) -> None:
    assert list(tombstones.cleaned(1, now_us=0)) == []
    for cleaned_to in (2, 3, 4):
        assert list(tombstones.cleaned(cleaned_to, now_us=LATE_US)) == []


def test_a_tombstone_stays_for_its_time(tombstones: Tombstones) -> None:
    for cleaned_to, now_us in ((2, 0), (3, SOON_US), (4, SOON_US)):
        assert list(tombstones.cleaned(cleaned_to, now_us)) == []


def test_without_another_cleaning_a_tombstone_stays(tombstones: Tombstones) -> None:
    assert list(tombstones.cleaned(2, now_us=0)) == []
    assert list(tombstones.cleaned(3, now_us=LATE_US)) == []
    assert list(tombstones.cleaned(3, now_us=LATE_US)) == []


class Scene:
    """Of two batches of a producer, both committed, a replica in sync may have the heads."""

    FIRST, LAST, LATER = (Batch(offset, offset, 0, crc=offset, producer_id=7) for offset in range(3))

    def __init__(self) -> None:
        self.truth = PartitionTruth(PARTITION, b"")
        self.truth.committed += [self.FIRST, self.LAST]
        self.truth.stored = SimpleNamespace(isr=(1,))  # type: ignore[assignment]
        self._invariant = LastBatchesStay()

    def complaints_with(self, *there: Batch) -> list[str]:
        """Once the log has become this."""
        replica = self.truth.replica(1)
        replica.is_up, replica.reshapes = True, replica.reshapes + 1
        replica.batches = {batch.base_offset: batch for batch in there}
        return list(self._invariant.check(self.truth))


def test_the_head_of_the_last_batch_is_enough() -> None:
    scene = Scene()
    assert scene.complaints_with(scene.LAST._replace(crc=99)) == []


def test_the_last_batch_of_a_producer_is_gone() -> None:
    scene = Scene()
    assert scene.complaints_with(scene.FIRST) == [f"1 has nothing left of {scene.LAST}, the last of producer 7"]


def test_who_cleaned_with_a_later_batch_that_it_lost_has_neither() -> None:
    scene = Scene()
    assert scene.complaints_with(scene.LATER) == []
    assert scene.complaints_with() == []


def test_who_began_anew_with_the_log_of_such_a_leader_has_neither_too() -> None:
    """Seed 1847955785: a leader that others had gone on without cleaned, was truncated, and led again; then they lost
    what they had in a crash. Nobody looked at it just when it had the later batch, for it was not in sync."""
    scene = Scene()
    zombie, other = scene.truth.replica(2), scene.truth.replica(1)
    zombie.is_up, zombie.batches = True, {scene.LATER.base_offset: scene.LATER}
    assert list(scene.complaints_with(scene.LAST)) == []
    zombie.batches = {}
    assert other.is_up
    assert scene.complaints_with() == []


def test_who_is_not_in_sync_may_lack_anything() -> None:
    scene = Scene()
    scene.truth.stored = None
    assert scene.complaints_with() == []
