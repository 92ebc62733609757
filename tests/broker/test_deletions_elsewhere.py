"""Who is asked about a topic and is not the controller says so, whatever it believes of the topic; and an id is one
topic's, whoever has its name now (SPEC T3)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.broker.running_cluster import RunningCluster

from strandline.model.failures import ErrorCode
from strandline.wire.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
)
from strandline.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest, CreateTopicsResponse
from strandline.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse, DeleteTopicState


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[RunningCluster]:
    with RunningCluster(tmp_path, brokers=2) as running:
        yield running


def delete(cluster: RunningCluster, broker_id: int, state: DeleteTopicState) -> int:
    with cluster.peer(broker_id) as peer:
        return (
            peer.ask(DeleteTopicsRequest(topics=[state], timeout_ms=5_000), 6, DeleteTopicsResponse)
            .responses[0]
            .error_code
        )


def topic_id(cluster: RunningCluster, name: str) -> bytes:
    return cluster.call(lambda: cluster.brokers[1].partitions.by_name[name][0].topic_id)


def test_another_broker_does_not_say_that_there_is_no_such_topic(cluster: RunningCluster) -> None:
    """It may have been started just now, and know of none: a client that believed it took the topic for deleted."""
    elsewhere = 3 - cluster.controller_id
    assert delete(cluster, elsewhere, DeleteTopicState("orders")) == ErrorCode.NOT_CONTROLLER
    assert delete(cluster, elsewhere, DeleteTopicState(None, b"i" * 16)) == ErrorCode.NOT_CONTROLLER
    with cluster.peer(elsewhere) as peer:
        created = peer.ask(CreateTopicsRequest([CreatableTopic("..", 1, 1)], 5_000), 7, CreateTopicsResponse)
        assert created.topics[0].error_code == ErrorCode.NOT_CONTROLLER
        more = CreatePartitionsRequest([CreatePartitionsTopic("orders", 4)], 5_000)
        grown = peer.ask(more, 3, CreatePartitionsResponse)
        assert grown.results[0].error_code == ErrorCode.NOT_CONTROLLER
    assert delete(cluster, cluster.controller_id, DeleteTopicState("orders")) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_the_id_of_a_topic_that_is_gone_deletes_nobody_elses(cluster: RunningCluster) -> None:
    controller = cluster.controller_id
    cluster.create("orders", (1, 2))
    old = topic_id(cluster, "orders")
    assert delete(cluster, controller, DeleteTopicState(None, old)) == ErrorCode.NONE
    cluster.create("orders", (1, 2))
    assert delete(cluster, controller, DeleteTopicState(None, old)) == ErrorCode.UNKNOWN_TOPIC_ID
    assert topic_id(cluster, "orders") != old
