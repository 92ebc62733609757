"""What a controller writes is one multi where a topic is as it was left, and comes to the same where it is not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any
from uuid import UUID

import pytest
from tests.metadata.benches import EmbeddedBench

from strandline.broker import controller_writes
from strandline.broker.controller_writes import ControllerWrites
from strandline.broker.current_session import CurrentSession
from strandline.broker.procedures import begin
from strandline.controller.changes import Change, CreateLeadership, CreateTopic, RemoveTopic, RequestDeletion
from strandline.controller.effects import Write
from strandline.controller.events import Outcome
from strandline.controller.journal import LeadershipChanged, Occasion
from strandline.controller.values import Leadership, ReplicaAssignment, TopicAssignment
from strandline.metadata import paths
from strandline.metadata.answer import Answer
from strandline.metadata.config_values import decode_config
from strandline.metadata.errors import ConnectionLost
from strandline.metadata.operations import Operation
from strandline.metadata.store import Session
from strandline.model.partitions import TopicPartition

FIRST, SECOND = TopicPartition("orders", 0), TopicPartition("orders", 1)
ASSIGNMENT = TopicAssignment(UUID(int=7), {0: ReplicaAssignment((1,)), 1: ReplicaAssignment((1,))})
LEADERSHIP = Leadership(1, 0, (1,), 1)
TOPIC = paths.topic_path("orders")
PARTITIONS = paths.partitions_path("orders")
CONFIG = paths.config_path(paths.entity_path(paths.TOPIC_CONFIGS, "orders"))
REQUEST = paths.delete_topic_path("orders")
CREATION: tuple[Change, ...] = (
    CreateTopic("orders", ASSIGNMENT, {"retention.ms": "5"}),
    *(
        CreateLeadership(name, LEADERSHIP, LeadershipChanged(name, Occasion.CREATED, "new", None, LEADERSHIP, (1,)))
        for name in (FIRST, SECOND)
    ),
)
WHOLE = {
    TOPIC,
    PARTITIONS,
    *(path(name) for path in (paths.partition_path, paths.partition_state_path) for name in (FIRST, SECOND)),
    CONFIG,
}


class WritesBench(EmbeddedBench):
    """A store with what every broker makes sure of, and a controller of epoch version 0."""

    def __init__(self) -> None:
        super().__init__()
        self.own = self.session()
        for path in (*paths.PERSISTENT_PATHS, paths.CONTROLLER_EPOCH):
            self.make(path)
        self.before = set(self.store.tree.nodes)

    def make(self, path: str) -> None:
        parts = path.split("/")
        for depth in range(2, len(parts) + 1):
            if "/".join(parts[:depth]) not in self.store.tree.nodes:
                self.result(self.own.create("/".join(parts[:depth])))

    def drop(self, *wanted: str) -> None:
        for path in wanted:
            self.result(self.own.delete(path))

    def write(self, *changes: Change, version: int = 0, session: Session | None = None) -> Outcome:
        outcomes: list[Outcome] = []

        async def write() -> None:
            outcomes.append(await ControllerWrites(session or self.own).write(Write(1, version, changes)))

        begin(write())
        self.settle()
        return outcomes[0]

    @property
    def made(self) -> set[str]:
        """The nodes of topics, with what was asked about them."""
        return set(self.store.tree.nodes) - self.before


@pytest.fixture
def bench() -> Iterator[WritesBench]:
    bench = WritesBench()
    yield bench
    bench.store.close()


REMOVAL = RemoveTopic("orders", (0, 1))


def test_a_topic_comes_and_goes_in_one_transaction_each(bench: WritesBench) -> None:
    began = bench.store.tree.zxid
    assert bench.write(*CREATION) is Outcome.COMMITTED
    assert (bench.made, bench.store.tree.zxid) == (WHOLE, began + 1)
    assert bench.write(RequestDeletion("orders")) is Outcome.COMMITTED
    assert bench.write(REMOVAL) is Outcome.COMMITTED
    assert (bench.made, bench.store.tree.zxid) == (set(), began + 3)


def test_settings_that_an_interrupted_deletion_left_are_replaced(bench: WritesBench) -> None:
    bench.make(CONFIG)
    assert bench.write(*CREATION) is Outcome.COMMITTED
    assert bench.made == WHOLE
    assert decode_config("topics/orders", bench.store.tree.nodes[CONFIG].data) == {"retention.ms": "5"}


def test_a_topic_without_a_leader_yet_has_no_partitions_yet(bench: WritesBench) -> None:
    assert bench.write(CREATION[0]) is Outcome.COMMITTED
    assert bench.made == {TOPIC, CONFIG}
    assert bench.write(*CREATION[1:]) is Outcome.COMMITTED
    assert bench.made == WHOLE


def test_a_topic_that_is_there_is_not_created_again(bench: WritesBench) -> None:
    bench.write(CREATION[0])
    began = bench.store.tree.zxid
    assert bench.write(*CREATION) is Outcome.DECLINED
    assert (bench.made, bench.store.tree.zxid) == ({TOPIC, CONFIG}, began)


@pytest.mark.parametrize(
    "missing",
    [
        [CONFIG],
        [REQUEST],
        [paths.partition_state_path(FIRST)],
        [paths.partition_state_path(SECOND), paths.partition_path(SECOND)],
        [*(path(name) for name in (FIRST, SECOND) for path in (paths.partition_state_path, paths.partition_path))],
        sorted(WHOLE - {TOPIC, CONFIG}, reverse=True),
        [*sorted(WHOLE - {CONFIG}, reverse=True)],
        [*sorted(WHOLE, reverse=True)],
        [*sorted(WHOLE, reverse=True), REQUEST],
    ],
    ids=[
        "no settings",
        "no request",
        "no state",
        "one partition less",
        "an empty list of partitions",
        "no list of partitions",
        "only settings and the request",
        "only the request",
        "nothing",
    ],
)
def test_a_deletion_goes_on_from_any_point(bench: WritesBench, missing: Sequence[str]) -> None:
    """A controller before us, or of Kafka's, may have gone any part of the way."""
    bench.write(*CREATION)
    bench.write(RequestDeletion("orders"))
    bench.drop(*missing)
    assert bench.write(REMOVAL) is Outcome.COMMITTED
    assert bench.made == set()


def test_a_topic_of_very_many_partitions_goes_in_parts(bench: WritesBench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(controller_writes, "NODES_PER_WRITE", 1)
    bench.write(*CREATION)
    began = bench.store.tree.zxid
    assert bench.write(REMOVAL) is Outcome.COMMITTED
    assert (bench.made, bench.store.tree.zxid) == (set(), began + 3)  # two partitions, and the rest


def test_topics_go_together(bench: WritesBench) -> None:
    bench.write(*CREATION)
    bench.make(paths.partition_path(TopicPartition("others", 0)))
    began = bench.store.tree.zxid
    assert bench.write(RequestDeletion("orders"), RequestDeletion("others")) is Outcome.COMMITTED
    assert bench.store.tree.zxid == began + 1
    assert bench.write(REMOVAL, RemoveTopic("others", (0,))) is Outcome.COMMITTED  # of which parts were missing
    assert bench.made == set()


def test_topics_that_are_whole_go_in_one_transaction(bench: WritesBench) -> None:
    nodes = set()
    for topic in ("a", "b"):
        config = paths.config_path(paths.entity_path(paths.TOPIC_CONFIGS, topic))
        for path in (paths.partition_state_path(TopicPartition(topic, 0)), config, paths.delete_topic_path(topic)):
            bench.make(path)
            nodes.add(path)
    began = bench.store.tree.zxid
    assert bench.write(RemoveTopic("a", (0,)), RemoveTopic("b", (0,))) is Outcome.COMMITTED
    assert not nodes & bench.store.tree.nodes.keys()
    assert bench.store.tree.zxid == began + 1


def test_a_partition_that_the_controller_did_not_know_goes_too(bench: WritesBench) -> None:
    bench.write(*CREATION)
    assert bench.write(RemoveTopic("orders", (0,))) is Outcome.COMMITTED
    assert bench.made == set()


def test_what_is_no_partition_goes_with_them(bench: WritesBench) -> None:
    """Its name is no number: the write had no outcome at all, and those that were to go with it stayed for ever."""
    bench.write(*CREATION)
    bench.make(f"{paths.partitions_path('orders')}/backup")
    assert bench.write(REMOVAL) is Outcome.COMMITTED
    assert bench.made == set()


def test_what_is_in_the_way_is_not_deleted_with_the_topic(bench: WritesBench) -> None:
    bench.write(*CREATION)
    bench.make(f"{TOPIC}/of-somebody-else")
    assert bench.write(REMOVAL) is Outcome.DECLINED
    assert {TOPIC, CONFIG, f"{TOPIC}/of-somebody-else"} <= bench.made


@pytest.mark.parametrize("changes", [CREATION, (RemoveTopic("there"),), (RemoveTopic("nobody"),)], ids=str)
def test_who_is_not_the_controller_any_more_writes_nothing(bench: WritesBench, changes: tuple[Change, ...]) -> None:
    for path in (paths.partitions_path("there"), paths.delete_topic_path("there")):
        bench.make(path)
    before = bench.made
    assert bench.write(*changes, version=1) is Outcome.FENCED
    assert bench.made == before


class DeafSession(CurrentSession):
    """What it writes is written, and the answer is lost."""

    multis = 0

    def multi(self, operations: Sequence[Operation]) -> Answer[Any]:
        self.multis += 1
        lost: Answer[Any] = Answer()
        super().multi(operations).then(lambda _: lost.deliver(ConnectionLost("as if")))
        return lost


def test_a_write_whose_answer_is_lost_is_not_made_again(bench: WritesBench) -> None:
    """Whether it was made is for the controller to find out."""
    deaf = DeafSession(bench.own)
    assert bench.write(*CREATION, session=deaf) is Outcome.UNKNOWN
    assert (bench.made, deaf.multis) == (WHOLE, 1)
    assert bench.write(REMOVAL, session=deaf) is Outcome.UNKNOWN
    assert deaf.multis == 2  # nor carefully, though it was declined: nobody heard that
