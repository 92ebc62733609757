"""A leader's writes about its ISR, and who has to wait for them."""

from __future__ import annotations

from typing import Any, cast

import pytest
from tests.broker.manual_host import ManualHost
from tests.metadata.benches import EmbeddedBench

from strandline.broker.isr_changes import IsrChanges
from strandline.broker.partition import Partition
from strandline.broker.procedures import begin
from strandline.metadata import paths
from strandline.metadata.answer import Answer
from strandline.metadata.errors import ConnectionLost
from strandline.metadata.store import Session
from strandline.metadata.values import PartitionState, decode_partition_state, encode_partition_state
from strandline.model.failures import ErrorCode
from strandline.model.partitions import TopicPartition
from strandline.replication.effects import NO_BROKER_EPOCH, AlterIsr
from strandline.replication.events import IsrCommitted, IsrRefused, IsrUnknown

ORDERS, OTHERS = TopicPartition("orders", 0), TopicPartition("others", 0)
CHANGE = AlterIsr(0, 0, (1,), (NO_BROKER_EPOCH,), (1, 2), "2 has gone")


class LatePartition:
    broker_id = 1

    def __init__(self, name: TopicPartition) -> None:
        self.name = name
        self.heard: list[object] = []

    def heard_from_store(self, event: object) -> None:
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


class Written:
    """A partition in a store, whose leader 1 believes that brokers live as they did."""

    def __init__(self, isr: tuple[int, ...], registered: tuple[int, ...]) -> None:
        self.bench, self.partition = EmbeddedBench(), LatePartition(ORDERS)
        self.session = self.bench.session()
        self.path = paths.partition_state_path(ORDERS)
        for path in (*_above(self.path), paths.BROKER_IDS, *map(paths.broker_path, registered)):
            self.session.create(path)
        self.session.create(self.path, encode_partition_state(PartitionState(1, 0, isr, 0)))
        self.bench.settle()

    def propose(self, change: AlterIsr) -> object:
        changes = IsrChanges(self.session, {1: 10, 2: 20, 3: 30}, ManualHost(0))
        changes.propose(cast(Partition, self.partition), change)
        for _ in range(2):
            self.bench.settle()
        (heard,) = self.partition.heard
        return heard

    @property
    def isr(self) -> tuple[int, ...]:
        return decode_partition_state(ORDERS, self.bench.result(self.session.get(self.path)).data).isr


def _above(path: str) -> list[str]:
    names = path.split("/")[1:-1]
    return ["/" + "/".join(names[: count + 1]) for count in range(len(names))]


@pytest.mark.parametrize("registered", [(1,), (1, 3)])
def test_who_is_not_registered_any_more_does_not_join_whatever_its_leader_has_heard(
    registered: tuple[int, ...],
) -> None:
    """The last fetch of a process that died came late, and the news of its death later."""
    written = Written((1,), registered)
    change = AlterIsr(0, 0, (1, 2), (NO_BROKER_EPOCH, 20), (1,), "2 has caught up")
    assert written.propose(change) == IsrRefused(change, ErrorCode.INELIGIBLE_REPLICA)
    assert written.isr == (1,)


def test_who_is_registered_joins() -> None:
    written = Written((1,), (1, 2))
    change = AlterIsr(0, 0, (1, 2), (NO_BROKER_EPOCH, 20), (1,), "2 has caught up")
    assert written.propose(change) == IsrCommitted(change, 1)
    assert written.isr == (1, 2)


def test_who_was_in_already_does_not_keep_others_from_leaving() -> None:
    written = Written((1, 2, 3), (1,))
    change = AlterIsr(0, 0, (1, 2), (NO_BROKER_EPOCH, 20), (1, 2, 3), "3 is slow")
    assert written.propose(change) == IsrCommitted(change, 1)
    assert written.isr == (1, 2)


def test_a_join_that_finds_another_version_is_unknown() -> None:
    written = Written((1,), (1, 2))
    heard = written.propose(AlterIsr(0, 7, (1, 2), (NO_BROKER_EPOCH, 20), (1,), "2 has caught up"))
    assert isinstance(heard, IsrUnknown)
    assert written.isr == (1,)
