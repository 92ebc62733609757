"""A log that begins later than before must have had a reason: enough that is left, age, or its leader's beginning."""

from __future__ import annotations

import pytest
from tests.log.making_logs import NOW, append, batch_of, make_log

from strandline.model.partitions import TopicPartition
from strandline.simulation.deleted_was_due import DeletedWasDue
from strandline.simulation.observed import Batch, PartitionTruth

RETENTION_MS = 20_000
YOUNG, OLD = NOW + RETENTION_MS, NOW + RETENTION_MS + 1
LEADER, FOLLOWER = 1, 2


class Scene:
    """Two replicas, each with what is left of a log of five committed batches after a deletion."""

    def __init__(self, *, retention_bytes: int) -> None:
        self.now_ms = YOUNG
        self.truth = PartitionTruth(TopicPartition("news", 0), b"")
        self.truth.committed += [Batch(offset, offset, 0, crc=offset, max_timestamp=NOW) for offset in range(5)]
        self._invariant = DeletedWasDue(lambda _: self.now_ms)
        for broker_id in (LEADER, FOLLOWER):
            replica = self.truth.replica(broker_id)
            replica.log = make_log(retention_bytes=retention_bytes, retention_ms=RETENTION_MS)
            append(replica.log, batch_of("what is left"))
            replica.is_up = True
        self.truth.replica(LEADER).leads_in = 0
        assert self.complaints() == []

    def deletes(self, broker_id: int, *, up_to: int) -> None:
        self.truth.replica(broker_id).log_start_offset = up_to

    def complaints(self) -> list[str]:
        return list(self._invariant.check(self.truth))


@pytest.mark.parametrize("broker_id", [LEADER, FOLLOWER])
def test_what_is_young_went_and_too_little_is_left(broker_id: int) -> None:
    scene = Scene(retention_bytes=4096)
    scene.deletes(broker_id, up_to=3)
    (complaint,) = scene.complaints()
    assert "began at 0, and begins at 3" in complaint
    assert "went was 20000 ms old (retention.ms=20000)" in complaint


def test_what_is_old_may_go() -> None:
    scene = Scene(retention_bytes=4096)
    scene.now_ms = OLD
    scene.deletes(LEADER, up_to=3)
    assert scene.complaints() == []


def test_what_is_young_may_go_where_enough_is_left() -> None:
    scene = Scene(retention_bytes=10)
    scene.deletes(LEADER, up_to=3)
    assert scene.complaints() == []


def test_a_log_without_a_limit_of_size_is_never_too_large() -> None:
    scene = Scene(retention_bytes=-1)
    scene.deletes(LEADER, up_to=3)
    assert len(scene.complaints()) == 1


def test_a_follower_may_begin_where_its_leader_began_and_no_later() -> None:
    scene = Scene(retention_bytes=4096)
    scene.now_ms = OLD
    scene.deletes(LEADER, up_to=3)
    assert scene.complaints() == []
    scene.now_ms = YOUNG
    scene.deletes(FOLLOWER, up_to=3)
    assert scene.complaints() == []
    scene.deletes(FOLLOWER, up_to=4)
    assert len(scene.complaints()) == 1


def test_what_is_gone_in_another_life_was_deleted_in_the_one_before() -> None:
    scene = Scene(retention_bytes=4096)
    scene.truth.replica(LEADER).log = make_log(retention_ms=RETENTION_MS)
    scene.deletes(LEADER, up_to=3)
    assert scene.complaints() == []
