"""What brokers say among themselves is refused from anybody else: nothing that a client is told has the epochs that it
takes (SPEC M1, R7)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.broker.running_cluster import RunningCluster

from strandline.broker.controller_fence import ControllerFence
from strandline.model.failures import ErrorCode
from strandline.model.partitions import TopicPartition
from strandline.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from strandline.wire.messages.controlled_shutdown import ControlledShutdownRequest, ControlledShutdownResponse
from strandline.wire.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic, ReplicaState
from strandline.wire.messages.leader_and_isr import LeaderAndIsrRequest, LeaderAndIsrResponse
from strandline.wire.messages.stop_replica import (
    StopReplicaPartitionState,
    StopReplicaRequest,
    StopReplicaResponse,
    StopReplicaTopicState,
)
from strandline.wire.messages.update_metadata import UpdateMetadataRequest, UpdateMetadataResponse
from strandline.wire.versions import INTER_BROKER

ORDERS = TopicPartition("orders", 0)
NEWEST_CONTROLLER = 1_000_000
GUESSES = [-1, 0, 2**62]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningCluster]:
    directory: Path = tmp_path_factory.mktemp("cluster")
    with RunningCluster(directory) as running:
        running.create("orders", (1, 2))
        running.produce(ORDERS, b"first", b"second")
        yield running


@pytest.mark.parametrize("broker_epoch", GUESSES)
def test_orders_of_a_stranger_change_nothing(cluster: RunningCluster, broker_epoch: int) -> None:
    with cluster.peer(1) as peer:
        orders = LeaderAndIsrRequest(7, False, NEWEST_CONTROLLER, broker_epoch)
        assert peer.ask(orders, 7, LeaderAndIsrResponse).error_code == ErrorCode.STALE_BROKER_EPOCH
        partition = StopReplicaPartitionState(0, 99, True)
        stop = StopReplicaRequest(
            7, False, NEWEST_CONTROLLER, broker_epoch, topic_states=[StopReplicaTopicState("orders", [partition])]
        )
        assert peer.ask(stop, 4, StopReplicaResponse).error_code == ErrorCode.STALE_BROKER_EPOCH
        news = UpdateMetadataRequest(controller_id=7, controller_epoch=NEWEST_CONTROLLER, broker_epoch=broker_epoch)
        assert peer.ask(news, 8, UpdateMetadataResponse).error_code == ErrorCode.STALE_BROKER_EPOCH
        going = ControlledShutdownRequest(1, broker_epoch)
        assert peer.ask(going, 3, ControlledShutdownResponse).error_code == ErrorCode.STALE_BROKER_EPOCH
    assert cluster.leader_of(ORDERS) == 1
    assert cluster.log_end(1, ORDERS) == 2


def test_versions_without_a_broker_epoch_are_a_strangers_too(cluster: RunningCluster) -> None:
    with cluster.peer(1) as peer:
        orders = peer.ask(LeaderAndIsrRequest(7, False, NEWEST_CONTROLLER), 1, LeaderAndIsrResponse)
        assert orders.error_code == ErrorCode.STALE_BROKER_EPOCH


def test_an_older_controller_is_refused_though_it_knows_the_broker(cluster: RunningCluster) -> None:
    """KAFKA-6082: it lost its place and did not notice."""
    epoch = cluster.call(lambda: cluster.brokers[1].membership.registration.broker_epoch)
    with cluster.peer(1) as peer:
        orders = peer.ask(LeaderAndIsrRequest(7, False, 0, epoch), 7, LeaderAndIsrResponse)
        assert orders.error_code == ErrorCode.STALE_CONTROLLER_EPOCH


def test_none_of_these_requests_is_advertised(cluster: RunningCluster) -> None:
    with cluster.peer(1) as peer:
        advertised = peer.ask(ApiVersionsRequest("tester", "1"), 3, ApiVersionsResponse).api_keys
    assert not {each.api_key for each in advertised} & INTER_BROKER.keys()


@pytest.mark.parametrize(
    ("epoch", "error_code"),
    [
        (-1, ErrorCode.CLUSTER_AUTHORIZATION_FAILED),
        (0, ErrorCode.NOT_LEADER_OR_FOLLOWER),
        (2**62, ErrorCode.NOT_LEADER_OR_FOLLOWER),
    ],
)
def test_nobody_can_fetch_in_the_name_of_a_follower(cluster: RunningCluster, epoch: int, error_code: int) -> None:
    """Or it could say that records are where they are not, and have them acknowledged."""
    topic_id = cluster.call(lambda: cluster.brokers[1].partitions.by_name["orders"][0].topic_id)
    asked = FetchTopic(topic_id=topic_id, partitions=[FetchPartition(0, -1, 2, partition_max_bytes=1000)])
    request = FetchRequest(replica_state=ReplicaState(2, epoch), max_bytes=1000, topics=[asked])
    with cluster.peer(1) as peer:
        (partition,) = peer.ask(request, 17, FetchResponse).responses[0].partitions
    assert partition.error_code == error_code
    assert not partition.records


def test_a_broker_that_is_not_registered_yet_takes_no_orders() -> None:
    """Its epoch is none, as that of requests which carry none."""
    assert ControllerFence(lambda: -1).check(1, 1, -1) is ErrorCode.STALE_BROKER_EPOCH
