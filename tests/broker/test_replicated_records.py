"""Records that are deleted go from every live replica, and how far behind a replica is can be asked (SPEC C4, L10)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.broker.running_cluster import RunningCluster

from strandline.model.failures import ErrorCode
from strandline.model.partitions import TopicPartition
from strandline.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignableTopic,
)
from strandline.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)
from strandline.wire.messages.describe_log_dirs import DescribeLogDirsRequest, DescribeLogDirsResponse

ORDERS = TopicPartition("orders", 0)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[RunningCluster]:
    with RunningCluster(tmp_path, auto_leader_rebalance_enable="false") as running:
        running.create("orders", (1, 2, 3))
        running.produce(ORDERS, *(b"%d" % number for number in range(10)))
        yield running


def delete_below(cluster: RunningCluster, offset: int, timeout_ms: int = 5_000) -> tuple[int, int]:
    """The error code and the low watermark."""
    request = DeleteRecordsRequest([DeleteRecordsTopic("orders", [DeleteRecordsPartition(0, offset)])], timeout_ms)
    with cluster.peer(cluster.leader_of(ORDERS)) as peer:
        (result,) = peer.ask(request, 2, DeleteRecordsResponse).topics[0].partitions
    return result.error_code, result.low_watermark


def log_start(cluster: RunningCluster, broker_id: int) -> int:
    return cluster.call(lambda: cluster.brokers[broker_id].partitions.by_name["orders"][0].log.log_start_offset)


def lag(cluster: RunningCluster, broker_id: int) -> int | None:
    """None where it has no replica."""
    with cluster.peer(broker_id) as peer:
        (directory,) = peer.ask(DescribeLogDirsRequest(), 4, DescribeLogDirsResponse).results
    found = [each.offset_lag for topic in directory.topics if topic.name == "orders" for each in topic.partitions]
    return found[0] if found else None


def test_the_answer_comes_when_every_replica_has_forgotten_them(cluster: RunningCluster) -> None:
    assert delete_below(cluster, 4) == (0, 4)
    assert [log_start(cluster, broker_id) for broker_id in cluster.brokers] == [4, 4, 4]
    assert delete_below(cluster, -1) == (0, 10)
    assert [log_start(cluster, broker_id) for broker_id in cluster.brokers] == [10, 10, 10]


def test_a_replica_that_is_gone_does_not_count(cluster: RunningCluster) -> None:
    cluster.stop(3)
    assert delete_below(cluster, 4) == (0, 4)
    cluster.start(3)
    cluster.wait_until(lambda: log_start(cluster, 3) == 4)


def test_a_replica_that_does_not_follow_is_waited_for_until_the_time_is_up(cluster: RunningCluster) -> None:
    """They are hidden all the same: where the leader's log starts, it starts."""
    cluster.call(cluster.brokers[3].membership.fetchers.close)
    assert delete_below(cluster, 4, timeout_ms=100) == (ErrorCode.REQUEST_TIMED_OUT, 0)
    assert log_start(cluster, 1) == 4


def test_a_leader_that_loses_its_place_meanwhile_says_so(cluster: RunningCluster) -> None:
    cluster.call(cluster.brokers[2].membership.fetchers.close)
    partition = cluster.brokers[1].partitions.by_name["orders"][0]
    request = DeleteRecordsRequest([DeleteRecordsTopic("orders", [DeleteRecordsPartition(0, 4)])], 5_000)
    with cluster.peer(1) as peer:
        peer.tell(request, 2)
        cluster.wait_until(lambda: log_start(cluster, 1) == 4)
        cluster.call(partition.stop)
        (result,) = peer.hear(2, DeleteRecordsResponse).topics[0].partitions
    assert (result.error_code, result.low_watermark) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)


def test_how_far_a_replica_is_behind_what_is_committed(tmp_path: Path) -> None:
    """Broker 2 gets a replica, and nothing is given to it."""
    with RunningCluster(tmp_path, leader_replication_throttled_rate="0") as cluster:
        cluster.create("orders", (1,), leader_replication_throttled_replicas="*")
        cluster.produce(ORDERS, b"first", b"second")
        throttle = cluster.brokers[1].membership.quotas.leader.throttle
        cluster.call(lambda: throttle.record(1, cluster.brokers[1].host.now_ms()))
        moved = ReassignableTopic("orders", [ReassignablePartition(0, [1, 2])])
        with cluster.peer() as peer:
            request = AlterPartitionReassignmentsRequest(topics=[moved])
            peer.ask(request, 1, AlterPartitionReassignmentsResponse)
        cluster.wait_until(lambda: lag(cluster, 2) == 2)
        assert lag(cluster, 1) == 0
