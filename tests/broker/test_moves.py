"""Replicas and leaders of a running cluster move: by request, by a tool, by themselves (SPEC T5, R11)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from tests.broker.admin_peer import AdminPeer
from tests.broker.running_cluster import RunningCluster

from strandline.metadata import paths
from strandline.metadata.values import encode_partitions, encode_reassignment
from strandline.model.failures import ErrorCode
from strandline.model.partitions import TopicPartition
from strandline.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignableTopic,
)
from strandline.wire.messages.elect_leaders import ElectLeadersRequest, ElectLeadersResponse, TopicPartitions
from strandline.wire.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    ListPartitionReassignmentsTopics,
)

ORDERS = TopicPartition("orders", 0)
Move = tuple[list[int], list[int], list[int]]


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[RunningCluster]:
    with RunningCluster(tmp_path) as running:
        yield running


def reassign(peer: AdminPeer, to: list[int] | None, version: int = 1, *, may_change_factor: bool = True) -> int:
    """The error code, of the request or of the partition."""
    moved = ReassignableTopic("orders", [ReassignablePartition(0, to)])
    request = AlterPartitionReassignmentsRequest(5_000, may_change_factor, [moved])
    response = peer.ask(request, version, AlterPartitionReassignmentsResponse)
    return response.error_code or response.responses[0].partitions[0].error_code


def moving(peer: AdminPeer, topics: list[ListPartitionReassignmentsTopics] | None = None) -> Mapping[str, Move]:
    """Replicas, adding and removing of each partition that is on the move."""
    response = peer.ask(ListPartitionReassignmentsRequest(5_000, topics), 0, ListPartitionReassignmentsResponse)
    assert response.error_code == 0
    return {
        f"{topic.name}-{each.partition_index}": (each.replicas, each.adding_replicas, each.removing_replicas)
        for topic in response.topics
        for each in topic.partitions
    }


def elect(peer: AdminPeer, kind: int = 0, version: int = 2, *, everything: bool = False) -> list[int]:
    """Error codes of the partitions, or of the whole request."""
    partitions = None if everything else [TopicPartitions("orders", [0])]
    response = peer.ask(ElectLeadersRequest(kind, partitions, 5_000), version, ElectLeadersResponse)
    if response.error_code:
        return [response.error_code]
    results = [topic for topic in response.replica_election_results if topic.topic == "orders"]
    return [each.error_code for topic in results for each in topic.partition_result]


def replicas_of(cluster: RunningCluster) -> list[int]:
    return cluster.shown(ORDERS).replica_nodes


class TestReassignment:
    @pytest.mark.parametrize("version", [0, 1])
    def test_a_partition_moves_with_all_it_has(self, cluster: RunningCluster, version: int) -> None:
        cluster.create("orders", (1, 2))
        cluster.produce(ORDERS, *(b"%d" % number for number in range(20)))
        with cluster.peer() as peer:
            assert reassign(peer, [3, 2], version) == 0
            cluster.wait_until(lambda: not moving(peer))
        cluster.wait_until(lambda: (replicas_of(cluster), cluster.leader_of(ORDERS)) == ([3, 2], 3))
        assert sorted(cluster.shown(ORDERS).isr_nodes) == [2, 3]
        assert cluster.log_end(3, ORDERS) == 20
        cluster.wait_until(lambda: not cluster.has_replica(1, ORDERS))
        cluster.produce(ORDERS, b"on")

    def test_a_move_can_be_seen_and_cancelled_while_it_goes_on(self, cluster: RunningCluster) -> None:
        """Nothing is given to throttled replicas, so it does not end by itself."""
        cluster.create(
            "orders", (1, 2), leader_replication_throttled_replicas="*", follower_replication_throttled_replicas="*"
        )
        cluster.produce(ORDERS, b"x" * 1000)
        with cluster.peer() as peer:
            peer.set_broker("", leader_replication_throttled_rate="0", follower_replication_throttled_rate="0")
            cluster.produce(ORDERS, b"x" * 1000)  # counted: from now on the rate is exceeded
            assert reassign(peer, [3, 2]) == 0
            here = {"orders-0": ([3, 2, 1], [3], [1])}
            assert moving(peer) == here
            assert moving(peer, [ListPartitionReassignmentsTopics("orders", [0, 7])]) == here
            assert moving(peer, [ListPartitionReassignmentsTopics("others", [0])]) == {}
            cluster.produce(ORDERS, b"in sync are 1 and 2, whom no throttle holds back")
            assert reassign(peer, None) == 0
            assert moving(peer) == {}
            cluster.wait_until(lambda: sorted(replicas_of(cluster)) == [1, 2])
            cluster.wait_until(lambda: not cluster.has_replica(3, ORDERS))
            assert reassign(peer, None) == ErrorCode.NO_REASSIGNMENT_IN_PROGRESS

    def test_a_throttle_that_is_lifted_lets_the_move_end(self, cluster: RunningCluster) -> None:
        cluster.create("orders", (1,), leader_replication_throttled_replicas="0:1")
        cluster.produce(ORDERS, b"x" * 1000)
        with cluster.peer() as peer:
            peer.set_broker("1", leader_replication_throttled_rate="10")
            cluster.call(lambda: cluster.brokers[1].membership.quotas.leader.throttle.record(10**6, _now_ms(cluster)))
            assert reassign(peer, [1, 2]) == 0
            cluster.wait_until(lambda: cluster.has_replica(2, ORDERS))
            assert moving(peer), "0:1 is where the leader is"
            assert cluster.log_end(2, ORDERS) == 0
            with cluster.peer(1) as first:
                first.set_broker("1", leader_replication_throttled_rate=str(10**9))
            cluster.wait_until(lambda: not moving(peer))
        assert cluster.log_end(2, ORDERS) == 1

    def test_what_cannot_be_is_refused(self, cluster: RunningCluster) -> None:
        cluster.create("orders", (1, 2))
        with cluster.peer() as peer:
            assert reassign(peer, [1, 9]) == ErrorCode.INVALID_REPLICA_ASSIGNMENT
            assert reassign(peer, [1, 1]) == ErrorCode.INVALID_REPLICA_ASSIGNMENT
            assert reassign(peer, []) == ErrorCode.INVALID_REPLICA_ASSIGNMENT
            assert reassign(peer, [-1]) == ErrorCode.INVALID_REPLICA_ASSIGNMENT
            assert reassign(peer, [1, 2, 3], may_change_factor=False) == ErrorCode.INVALID_REPLICATION_FACTOR
            unknown = ReassignableTopic("others", [ReassignablePartition(0, [1])])
            request = AlterPartitionReassignmentsRequest(topics=[unknown])
            response = peer.ask(request, 1, AlterPartitionReassignmentsResponse)
            assert response.responses[0].partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert replicas_of(cluster) == [1, 2]

    def test_only_the_controller_answers(self, cluster: RunningCluster) -> None:
        cluster.create("orders", (1, 2))
        elsewhere = next(one for one in cluster.brokers if one != cluster.controller_id)
        with cluster.peer(elsewhere) as peer:
            assert reassign(peer, [3, 2]) == ErrorCode.NOT_CONTROLLER
            assert elect(peer) == [ErrorCode.NOT_CONTROLLER]
            assert elect(peer, version=0) == [ErrorCode.NOT_CONTROLLER]
            request = ListPartitionReassignmentsRequest()
            response = peer.ask(request, 0, ListPartitionReassignmentsResponse)
            assert response.error_code == ErrorCode.NOT_CONTROLLER

    def test_a_tool_may_write_it_into_the_store(self, cluster: RunningCluster) -> None:
        """As Kafka's tools did until 3.x: the node goes when all is done (SPEC M1)."""
        cluster.create("orders", (1, 2))
        cluster.produce(ORDERS, b"first")
        data = encode_reassignment({ORDERS: (3, 1)})
        cluster.ask_store(lambda session: session.create(paths.REASSIGN_PARTITIONS, data))
        cluster.wait_until(lambda: cluster.ask_store(lambda session: session.exists(paths.REASSIGN_PARTITIONS)) is None)
        cluster.wait_until(lambda: replicas_of(cluster) == [3, 1])
        assert cluster.log_end(3, ORDERS) == 1


class TestElections:
    def drift(self, cluster: RunningCluster) -> None:
        """The preferred leader goes and comes back: another leads now."""
        cluster.create("orders", (3, 1, 2))
        cluster.stop(3)
        assert cluster.leader_of(ORDERS) == 1
        cluster.start(3)
        cluster.wait_until(lambda: self._is_in_sync(cluster, 3))

    @staticmethod
    def _is_in_sync(cluster: RunningCluster, broker_id: int) -> bool:
        def look() -> bool:
            leader = cluster.brokers[1].partitions.by_name["orders"][0].leader
            return leader is not None and broker_id in leader.isr

        return cluster.call(look)

    @pytest.mark.parametrize("version", range(3))
    def test_the_preferred_leader_comes_back(self, tmp_path: Path, version: int) -> None:
        with RunningCluster(tmp_path, auto_leader_rebalance_enable="false") as cluster:
            self.drift(cluster)
            with cluster.peer() as peer:
                assert elect(peer, version=version) == [0]
                cluster.wait_until(lambda: cluster.leader_of(ORDERS) == 3)
                assert elect(peer, version=version) == [ErrorCode.ELECTION_NOT_NEEDED]
                assert elect(peer, version=version, everything=True) == []

    def test_a_tool_may_ask_for_it_in_the_store(self, tmp_path: Path) -> None:
        with RunningCluster(tmp_path, auto_leader_rebalance_enable="false") as cluster:
            self.drift(cluster)
            path = paths.PREFERRED_REPLICA_ELECTION
            cluster.ask_store(lambda session: session.create(path, encode_partitions((ORDERS,))))
            cluster.wait_until(lambda: cluster.ask_store(lambda session: session.exists(path)) is None)
            cluster.wait_until(lambda: cluster.leader_of(ORDERS) == 3)

    def test_or_the_controller_sees_to_it(self, tmp_path: Path) -> None:
        with RunningCluster(tmp_path, leader_imbalance_check_interval_seconds="1") as cluster:
            self.drift(cluster)
            cluster.wait_until(lambda: cluster.leader_of(ORDERS) == 3)

    def test_who_is_out_of_sync_leads_only_where_that_is_asked_for(self, cluster: RunningCluster) -> None:
        cluster.create("orders", (3, 2))
        cluster.stop(2)
        cluster.stop(3)
        cluster.wait_until(lambda: cluster.leader_of(ORDERS) == -1)
        cluster.start(2)
        with cluster.peer() as peer:
            assert elect(peer) == [ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE]
            assert elect(peer, kind=1) == [0]
            cluster.wait_until(lambda: cluster.leader_of(ORDERS) == 2)
            assert elect(peer, kind=1) == [ErrorCode.ELECTION_NOT_NEEDED]
            assert elect(peer, kind=7) == [ErrorCode.INVALID_REQUEST]

    def test_who_is_out_of_sync_leads_as_soon_as_the_topic_allows_it(self, cluster: RunningCluster) -> None:
        cluster.create("orders", (3, 2))
        cluster.stop(2)
        cluster.stop(3)
        cluster.start(2)
        cluster.wait_until(lambda: cluster.leader_of(ORDERS) == -1)
        with cluster.peer() as peer:
            peer.set_topic("orders", unclean_leader_election_enable="true")
        cluster.wait_until(lambda: cluster.leader_of(ORDERS) == 2)


def _now_ms(cluster: RunningCluster) -> int:
    return cluster.brokers[1].host.now_ms()
