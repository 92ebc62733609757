"""A leader's writes about its ISR, and who has to wait for them."""

from __future__ import annotations

from typing import Any, cast

from tests.broker.manual_host import ManualHost

from strandline.broker.isr_changes import IsrChanges
from strandline.broker.partition import Partition
from strandline.broker.procedures import begin
from strandline.metadata.answer import Answer
from strandline.metadata.errors import ConnectionLost
from strandline.metadata.store import Session
from strandline.model.partitions import TopicPartition
from strandline.replication.effects import NO_BROKER_EPOCH, AlterIsr

ORDERS, OTHERS = TopicPartition("orders", 0), TopicPartition("others", 0)
CHANGE = AlterIsr(0, 0, (1,), (NO_BROKER_EPOCH,), (1, 2), "2 has gone")


class LatePartition:
    broker_id = 1

    def __init__(self, name: TopicPartition) -> None:
        self.name = name
        self.heard: list[object] = []

    def heard_from_store(self, event: object, _now_ms: int) -> None:
        self.heard.append(event)


class SlowSession:
    """Whose answers come when the test says so."""

    def __init__(self) -> None:
        self.reads: list[Answer[Any]] = []

    def get(self, _path: str) -> Answer[Any]:
        self.reads.append(Answer())
        return self.reads[-1]


def test_whoever_waits_for_the_writes_of_a_partition_hears_when_they_have_their_answers() -> None:
    """Before a topic is deleted: one that came later would go to the topic's namesake."""
    session, partition = SlowSession(), LatePartition(ORDERS)
    changes = IsrChanges(cast(Session, session), {1: 1}, ManualHost(0))
    changes.propose(cast(Partition, partition), CHANGE)
    settled: list[TopicPartition] = []

    async def wait_for(name: TopicPartition) -> None:
        await changes.settled([name])
        settled.append(name)

    begin(wait_for(OTHERS))
    begin(wait_for(ORDERS))
    assert settled == [OTHERS]
    session.reads[0].deliver(ConnectionLost("the store is away"))
    assert settled == [OTHERS, ORDERS]
    assert len(partition.heard) == 1
    begin(wait_for(ORDERS))
    assert settled == [OTHERS, ORDERS, ORDERS]
