"""The invariant of acknowledgements fails where it should: when one is heard, and again when all is whole."""

from __future__ import annotations

import pytest

from strandline.model.partitions import TopicPartition
from strandline.simulation.client_invariants import AcknowledgedStays
from strandline.simulation.history import NOT_SAID_WHERE, History
from strandline.simulation.observed import Batch, PartitionTruth

NAME = TopicPartition("news", 0)
FIRST, SECOND = Batch(10, 11, 3, crc=6), Batch(12, 12, 3, crc=7)


class Scene:
    def __init__(self) -> None:
        self.history, self.truth = History(), PartitionTruth(NAME, b"")
        self.invariant = AcknowledgedStays(self.history)

    def acknowledge(self, batch: Batch, offset: int) -> None:
        self.history.acknowledge(NAME, batch.crc, offset, now_us=0)

    def complaints(self) -> list[str]:
        return list(self.invariant.check(self.truth))

    def complaints_at_rest(self, *there: Batch, log_start_offset: int = 10) -> list[str]:
        by_offset = {batch.base_offset: batch for batch in there}
        return list(self.invariant.at_rest(self.truth, 2, log_start_offset, by_offset))


@pytest.fixture
def scene() -> Scene:
    """Both were committed, the first is acknowledged with its offset and the second without."""
    scene = Scene()
    scene.truth.committed += [FIRST, SECOND]
    scene.acknowledge(FIRST, FIRST.base_offset)
    scene.acknowledge(SECOND, NOT_SAID_WHERE)
    return scene


def test_what_is_committed_and_stays_is_no_fault(scene: Scene) -> None:
    assert scene.complaints() == []
    assert scene.complaints_at_rest(FIRST, SECOND) == []


def test_an_acknowledged_batch_is_not_committed_where_it_was_said_to_be() -> None:
    scene = Scene()
    scene.truth.committed.append(SECOND)
    scene.acknowledge(FIRST, SECOND.base_offset)
    assert scene.complaints() == ["crc 00000006 was acknowledged at offset 12 and is not committed there"]


def test_an_acknowledged_batch_of_which_nobody_said_where_it_is_is_not_committed_anywhere() -> None:
    scene = Scene()
    scene.truth.committed.append(FIRST)
    scene.acknowledge(SECOND, NOT_SAID_WHERE)
    assert scene.complaints() == ["crc 00000007 was acknowledged, without an offset, and is not committed"]


@pytest.mark.parametrize(("there", "gone"), [(SECOND, FIRST), (FIRST, SECOND)])
def test_an_acknowledged_batch_is_gone_when_all_is_whole(scene: Scene, there: Batch, gone: Batch) -> None:
    assert scene.complaints() == []
    assert scene.complaints_at_rest(there) == [f"2 lacks {gone}, which was acknowledged"]


def test_another_batch_is_in_its_place_when_all_is_whole(scene: Scene) -> None:
    other = FIRST._replace(crc=8)
    assert scene.complaints_at_rest(other, SECOND) == [f"2 lacks {FIRST}, which was acknowledged"]


def test_one_that_nobody_looked_at_when_it_was_heard_is_found_when_all_is_whole() -> None:
    scene = Scene()
    scene.acknowledge(FIRST, FIRST.base_offset)
    (complaint,) = scene.complaints_at_rest()
    assert complaint == "crc 00000006 was acknowledged at offset 10 and is not committed there"


def test_what_was_deleted_by_age_need_not_be_there(scene: Scene) -> None:
    assert scene.complaints_at_rest(SECOND, log_start_offset=12) == []
    assert scene.complaints_at_rest(SECOND, log_start_offset=11) == [f"2 lacks {FIRST}, which was acknowledged"]
