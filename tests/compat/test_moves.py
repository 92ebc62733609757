"""kafka-python and confluent-kafka have leaders elected and replicas moved, whichever broker they know first."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from confluent_kafka import ElectionType, TopicPartition
from confluent_kafka.admin import AdminClient
from kafka import KafkaAdminClient
from kafka import TopicPartition as Place

from strandline.model.failures import ErrorCode
from strandline.testing import Cluster

WAIT_S = 30
NOTHING_TO_CANCEL = ErrorCode.NO_REASSIGNMENT_IN_PROGRESS


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster({"default.replication.factor": 2, "auto.leader.rebalance.enable": "false"}, brokers=3) as running:
        yield running


@pytest.fixture
def admin(cluster: Cluster) -> Iterator[KafkaAdminClient]:
    """It begins at a broker that is not the controller."""
    elsewhere = next(broker_id for broker_id in cluster.broker_ids if broker_id != cluster.controller())
    client = KafkaAdminClient(bootstrap_servers=cluster.address(elsewhere))
    yield client
    client.close()


def move(cluster: Cluster, admin: KafkaAdminClient, topic: str, to: list[int]) -> None:
    place = Place(topic, 0)
    assert admin.alter_partition_reassignments({place: to}) == {place: None}
    cluster.wait_for(lambda: cluster.replicas(topic)[0] == tuple(to) or None, f"{topic} on {to}")
    cluster.wait_for(lambda: admin.list_partition_reassignments([place]) == {} or None, "the end of the move")


def test_kafka_python_moves_replicas(cluster: Cluster, admin: KafkaAdminClient) -> None:
    topic = cluster.create_topic("moved", 1)
    for to in ([1, 2], [3, 1], [2]):
        move(cluster, admin, topic, to)
    place = Place(topic, 0)
    for refused, error_code in (([9], ErrorCode.INVALID_REPLICA_ASSIGNMENT), (None, NOTHING_TO_CANCEL)):
        (error,) = admin.alter_partition_reassignments({place: refused}).values()
        assert error.errno == error_code
    assert admin.list_partition_reassignments() == {}


def test_both_have_the_preferred_leader_elected(cluster: Cluster, admin: KafkaAdminClient) -> None:
    topic = cluster.create_topic("elected", 1)
    move(cluster, admin, topic, [2])
    move(cluster, admin, topic, [1, 2])
    assert cluster.leader(topic) == 2
    confluent = AdminClient({"bootstrap.servers": cluster.bootstrap})
    future = confluent.elect_leaders(ElectionType.PREFERRED, [TopicPartition(topic, 0)])
    assert set(future.result(WAIT_S).values()) == {None}
    assert cluster.leader(topic) == 1
    move(cluster, admin, topic, [2, 1])
    admin.elect_leaders(0, {topic: [0]})
    assert cluster.leader(topic) == 2
