"""A broker that listens, and that no controller has told anything since it started: its clients must not take what it
does not know for what is not there. A stream ended with "the topic was deleted" because one had said so."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import Future
from functools import partial
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from tests.broker.kafka_peer import WAIT_S
from tests.broker.running_cluster import RunningCluster

from strandline.broker.cluster_image import BrokerAddress
from strandline.metadata import paths
from strandline.model.failures import ErrorCode
from strandline.wire.messages.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    TopicRequest,
)
from strandline.wire.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from strandline.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[RunningCluster]:
    # It waits for its earlier life as long as a session lasts: longer than a busy machine takes for any of this.
    with RunningCluster(tmp_path, zookeeper_session_timeout_ms="120000") as running:
        running.create("orders", (1, 2, 3))
        yield running


@pytest.fixture
def starting(cluster: RunningCluster) -> Iterator[Future[None]]:
    """Broker 3: its earlier life is still registered, and so nobody tells it anything."""
    path = paths.broker_path(3)
    registered = cluster.ask_store(lambda session: session.get(path)).data
    cluster.stop(3)
    cluster.ask_store(lambda session: session.create(path, registered))
    starting = cluster.begin_start(3)
    yield starting
    if not starting.done():
        cluster.ask_store(lambda session: session.delete(path))
        starting.result(WAIT_S)


def test_it_does_not_say_that_a_topic_does_not_exist(cluster: RunningCluster, starting: Future[None]) -> None:
    with cluster.peer(3) as peer:
        described = DescribeTopicPartitionsRequest([TopicRequest("orders")])
        (shown,) = peer.ask(described, 0, DescribeTopicPartitionsResponse).topics
    assert shown.error_code == ErrorCode.LEADER_NOT_AVAILABLE
    assert not starting.done()


@pytest.mark.parametrize(
    "topics", [None, [], [MetadataRequestTopic(name="orders")], [MetadataRequestTopic(b"?" * 16)]], ids=str
)
def test_it_knows_no_topic_and_no_broker(
    cluster: RunningCluster, starting: Future[None], topics: list[MetadataRequestTopic] | None
) -> None:
    """By this every client sees that it has to ask again."""
    with cluster.peer(3) as peer:
        response = peer.ask(MetadataRequest(topics), 12, MetadataResponse)
    assert (response.brokers, response.topics) == ([], [])
    assert not starting.done()


def test_a_client_that_asks_it_keeps_its_brokers(cluster: RunningCluster, starting: Future[None]) -> None:
    """librdkafka gives up the brokers that it is not told of again; told of topics without any, it stood still."""
    broker_3 = BrokerAddress(3, *cluster.brokers[3].addresses[0])
    for told in (1, 2):  # by the registration that is there, it would be where its earlier life was
        cluster.call(partial(cluster.brokers[told].image.brokers.update, {3: broker_3}))
    bootstrap = "{}:{}".format(*cluster.brokers[1].addresses[0])
    settings = {"bootstrap.servers": bootstrap, "topic.metadata.refresh.interval.ms": 20, "log_level": 0}
    producer = Producer(settings)
    consumer = Consumer(settings | {"group.id": "readers"})
    consumer.assign([TopicPartition("orders", 0, 0)])
    for number in range(50):  # some hundred questions, a third of them to broker 3
        producer.produce("orders", str(number).encode(), partition=0)
        assert producer.flush(WAIT_S) == 0
        (message,) = consumer.consume(1, WAIT_S)
        assert message.value() == str(number).encode()
        time.sleep(0.05)
    consumer.close()
    assert not starting.done()


def test_offsets_are_to_be_committed_again(cluster: RunningCluster, starting: Future[None]) -> None:
    """Consumers that give up their partitions do not try again where a topic does not exist."""
    topic = OffsetCommitRequestTopic("orders", partitions=[OffsetCommitRequestPartition(0, committed_offset=7)])
    with cluster.peer(3) as peer:
        response = peer.ask(OffsetCommitRequest("kitchen", topics=[topic]), 8, OffsetCommitResponse)
    assert response.topics[0].partitions[0].error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert not starting.done()


def test_once_told_it_says_what_there_is_and_what_not(cluster: RunningCluster, starting: Future[None]) -> None:
    cluster.ask_store(lambda session: session.delete(paths.broker_path(3)))
    starting.result(WAIT_S)
    asked = MetadataRequest([MetadataRequestTopic(name=name) for name in ("orders", "none")], False)
    with cluster.peer(3) as peer:
        known, unknown = peer.ask(asked, 12, MetadataResponse).topics
        everything = peer.ask(MetadataRequest(None), 12, MetadataResponse)
    assert (known.error_code, unknown.error_code) == (0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    assert {broker.node_id for broker in everything.brokers} == {1, 2, 3}
    assert "orders" in {topic.name for topic in everything.topics}
