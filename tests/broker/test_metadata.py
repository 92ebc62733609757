"""Metadata, ListOffsets and OffsetForLeaderEpoch against a whole broker (SPEC P1, L5)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.broker.running_broker import BrokerPeer, RunningBroker, batch_of

from strandline.model.failures import ErrorCode
from strandline.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from strandline.wire.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from strandline.wire.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from strandline.wire.primitives import NO_UUID


@pytest.fixture
def running(tmp_path: Path) -> Iterator[RunningBroker]:
    with RunningBroker(str(tmp_path), num_partitions="3") as running:
        yield running


@pytest.fixture
def peer(running: RunningBroker) -> Iterator[BrokerPeer]:
    with running.peer() as peer:
        yield peer


def named(*names: str) -> MetadataRequest:
    return MetadataRequest([MetadataRequestTopic(name=name) for name in names])


@pytest.mark.parametrize("version", range(14))
def test_every_version_says_who_and_where(running: RunningBroker, peer: BrokerPeer, version: int) -> None:
    peer.create_topic("orders")
    response = peer.ask(named("orders"), version, MetadataResponse)
    (broker,) = response.brokers
    assert (broker.node_id, broker.host, broker.port) == (1, *running.address)
    (topic,) = response.topics
    assert (topic.error_code, topic.name) == (0, "orders")
    assert [(each.partition_index, each.leader_id, each.isr_nodes) for each in topic.partitions] == [
        (index, 1, [1]) for index in range(3)
    ]


def test_all_topics_and_none(peer: BrokerPeer) -> None:
    for name in ("a", "b"):
        peer.create_topic(name)
    assert {topic.name for topic in peer.ask(MetadataRequest(None), 12, MetadataResponse).topics} == {"a", "b"}
    assert {topic.name for topic in peer.ask(MetadataRequest([]), 0, MetadataResponse).topics} == {"a", "b"}
    assert peer.ask(MetadataRequest([]), 12, MetadataResponse).topics == []


def test_topics_by_id(peer: BrokerPeer) -> None:
    topic_id = peer.create_topic("orders")
    asked = MetadataRequest([MetadataRequestTopic(topic_id), MetadataRequestTopic(b"?" * 16)])
    known, unknown = peer.ask(asked, 12, MetadataResponse).topics
    assert (known.name, known.error_code) == ("orders", 0)
    assert (unknown.name, unknown.error_code) == (None, ErrorCode.UNKNOWN_TOPIC_ID)


def test_a_topic_is_not_created_where_nobody_wants_it(tmp_path: Path, peer: BrokerPeer) -> None:
    asked = named("orders")
    asked.allow_auto_topic_creation = False
    (topic,) = peer.ask(asked, 12, MetadataResponse).topics
    assert (topic.error_code, topic.topic_id) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, NO_UUID)
    setting = {"auto_create_topics_enable": "false"}
    with RunningBroker(str(tmp_path / "other"), **setting) as running, running.peer() as other:
        (topic,) = other.ask(named("orders"), 12, MetadataResponse).topics
        assert topic.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize("name", ["", "..", "../x", "a b", "x" * 250, "ü"])
def test_names_that_no_topic_can_have(peer: BrokerPeer, name: str) -> None:
    (topic,) = peer.ask(named(name), 12, MetadataResponse).topics
    assert topic.error_code == ErrorCode.INVALID_TOPIC_EXCEPTION


def test_names_that_differ_in_dots_and_underscores_only(peer: BrokerPeer) -> None:
    peer.create_topic("my.topic")
    (topic,) = peer.ask(named("my_topic"), 12, MetadataResponse).topics
    assert topic.error_code == ErrorCode.INVALID_TOPIC_EXCEPTION


def test_many_ask_for_a_new_topic_at_once(running: RunningBroker) -> None:
    peers = [running.peer() for _ in range(8)]
    for peer in peers:
        peer.tell(named("orders"), 12)
    answers = [peer.hear(12, MetadataResponse).topics[0] for peer in peers]
    for peer in peers:
        peer.socket.close()
    assert {(topic.error_code, len(topic.partitions)) for topic in answers} == {(0, 3)}
    assert len({topic.topic_id for topic in answers}) == 1


def test_the_advertised_listener_is_what_clients_are_told(tmp_path: Path) -> None:
    setting = {"advertised_listeners": "PLAINTEXT://broker.example:1234"}
    with RunningBroker(str(tmp_path), **setting) as running, running.peer() as peer:
        (broker,) = peer.ask(named(), 12, MetadataResponse).brokers
        assert (broker.host, broker.port) == ("broker.example", 1234)


# Offsets.


def ask_offset(peer: BrokerPeer, timestamp: int, version: int = 7, epoch: int = -1) -> ListOffsetsPartitionResponse:
    topic = ListOffsetsTopic("orders", [ListOffsetsPartition(0, epoch, timestamp)])
    return peer.ask(ListOffsetsRequest(-1, 0, [topic]), version, ListOffsetsResponse).topics[0].partitions[0]


@pytest.fixture
def orders(peer: BrokerPeer) -> BrokerPeer:
    peer.create_topic("orders")
    for timestamp in (1_000, 3_000, 2_000):
        peer.produce("orders", batch_of(b"a", timestamp=timestamp))
    return peer


@pytest.mark.parametrize(
    ("timestamp", "expected"),
    [(-1, (-1, 3)), (-2, (-1, 0)), (-3, (3_000, 1)), (0, (1_000, 0)), (1_001, (3_000, 1)), (3_001, (-1, -1))],
    ids=["latest", "earliest", "largest time", "from the start", "between", "beyond"],
)
def test_offsets_by_time(orders: BrokerPeer, timestamp: int, expected: tuple[int, int]) -> None:
    found = ask_offset(orders, timestamp)
    assert (found.error_code, found.timestamp, found.offset) == (0, *expected)


@pytest.mark.parametrize(("timestamp", "version"), [(-3, 6), (-4, 7), (-5, 8), (-6, 9), (-7, 10)])
def test_timestamps_that_a_version_does_not_know(orders: BrokerPeer, timestamp: int, version: int) -> None:
    assert ask_offset(orders, timestamp, version).error_code == ErrorCode.UNSUPPORTED_VERSION


def test_offsets_of_what_is_not_there(orders: BrokerPeer) -> None:
    topics = [ListOffsetsTopic("nowhere", [ListOffsetsPartition(0, -1, -1)])]
    topics.append(ListOffsetsTopic("orders", [ListOffsetsPartition(0, -1, -1), ListOffsetsPartition(0, -1, -1)]))
    response = orders.ask(ListOffsetsRequest(-1, 0, topics), 7, ListOffsetsResponse)
    errors = [partition.error_code for topic in response.topics for partition in topic.partitions]
    assert errors == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.INVALID_REQUEST, ErrorCode.INVALID_REQUEST]
    assert ask_offset(orders, -1, epoch=3).error_code == ErrorCode.UNKNOWN_LEADER_EPOCH


@pytest.mark.parametrize(("epoch", "expected"), [(0, (0, 3)), (1, (-1, -1))])
def test_where_an_epoch_ended(orders: BrokerPeer, epoch: int, expected: tuple[int, int]) -> None:
    topic = OffsetForLeaderTopic("orders", [OffsetForLeaderPartition(0, -1, epoch)])
    response = orders.ask(OffsetForLeaderEpochRequest(topics=[topic]), 4, OffsetForLeaderEpochResponse)
    (found,) = response.topics[0].partitions
    assert (found.error_code, found.leader_epoch, found.end_offset) == (0, *expected)
