"""What a broker tells of itself: the cluster, topics by pages, directories, producers, who may do what."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.broker.admin_peer import AdminPeer
from tests.broker.running_broker import RunningBroker, batch_of

from strandline.broker.authorized_operations import NOT_ASKED_FOR, ON_CLUSTER, AclOperation
from strandline.model.failures import ErrorCode
from strandline.wire.messages.create_acls import AclCreation, CreateAclsRequest, CreateAclsResponse
from strandline.wire.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest, DeleteAclsResponse
from strandline.wire.messages.describe_acls import DescribeAclsRequest, DescribeAclsResponse
from strandline.wire.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from strandline.wire.messages.describe_log_dirs import (
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
)
from strandline.wire.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    TopicRequest,
)
from strandline.wire.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
)
from strandline.wire.messages.describe_topic_partitions import TopicRequest as DescribedTopic


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[RunningBroker]:
    with RunningBroker(str(tmp_path), broker_rack="r1") as running:
        yield running


@pytest.fixture
def peer(broker: RunningBroker) -> Iterator[AdminPeer]:
    with AdminPeer.of(broker) as peer:
        yield peer


# DescribeCluster.


@pytest.mark.parametrize("version", range(3))
def test_the_cluster(broker: RunningBroker, peer: AdminPeer, version: int) -> None:
    found = peer.ask(DescribeClusterRequest(), version, DescribeClusterResponse)
    assert (found.error_code, found.controller_id) == (0, 1)
    assert found.cluster_id == peer.metadata().cluster_id
    ((broker_id, host, port, rack),) = [(each.broker_id, each.host, each.port, each.rack) for each in found.brokers]
    assert (broker_id, (host, port), rack) == (1, broker.address, "r1")
    assert found.cluster_authorized_operations == NOT_ASKED_FOR


def test_everybody_may_do_everything(peer: AdminPeer) -> None:
    found = peer.ask(DescribeClusterRequest(True), 1, DescribeClusterResponse)
    assert found.cluster_authorized_operations == ON_CLUSTER
    assert found.cluster_authorized_operations >> AclOperation.ALTER & 1


@pytest.mark.parametrize(("endpoint_type", "error_code"), [(2, 114), (0, 115), (9, 115)])
def test_only_brokers_are_described_here(peer: AdminPeer, endpoint_type: int, error_code: int) -> None:
    request = DescribeClusterRequest(endpoint_type=endpoint_type)
    assert peer.ask(request, 1, DescribeClusterResponse).error_code == error_code


# DescribeTopicPartitions.


def pages(peer: AdminPeer, names: list[str], limit: int) -> Iterator[list[tuple[str | None, list[int]]]]:
    cursor = None
    while True:
        request = DescribeTopicPartitionsRequest([DescribedTopic(name) for name in names], limit, cursor)
        page = peer.ask(request, 0, DescribeTopicPartitionsResponse)
        yield [(topic.name, [each.partition_index for each in topic.partitions]) for topic in page.topics]
        cursor = page.next_cursor
        if cursor is None:
            return


def test_topics_by_pages(peer: AdminPeer) -> None:
    for name, count in (("b", 3), ("a", 2), ("c", 1)):
        peer.create_one(name, count)
    assert list(pages(peer, [], 2)) == [[("a", [0, 1])], [("b", [0, 1])], [("b", [2]), ("c", [0])]]
    assert list(pages(peer, [], 5)) == [[("a", [0, 1]), ("b", [0, 1, 2])], [("c", [0])]]
    assert list(pages(peer, [], 2000)) == [[("a", [0, 1]), ("b", [0, 1, 2]), ("c", [0])]]
    assert list(pages(peer, ["c", "b"], 2)) == [[("b", [0, 1])], [("b", [2]), ("c", [0])]]
    assert list(pages(peer, ["a"], 0)) == [[("a", [0])], [("a", [1])]], "at least one, or it would never end"


def test_a_topic_in_full(peer: AdminPeer) -> None:
    topic_id = peer.create_one("orders")
    request = DescribeTopicPartitionsRequest([DescribedTopic(name) for name in ("orders", "nobody", "a/b")])
    slash, nobody, orders = peer.ask(request, 0, DescribeTopicPartitionsResponse).topics
    assert (slash.error_code, nobody.error_code) == (17, 3)
    assert (orders.error_code, orders.topic_id, orders.is_internal) == (0, topic_id, False)
    (partition,) = orders.partitions
    assert (partition.leader_id, partition.leader_epoch, partition.replica_nodes) == (1, 0, [1])
    assert (partition.isr_nodes, partition.offline_replicas) == ([1], [])
    assert orders.topic_authorized_operations >> AclOperation.READ & 1


@pytest.mark.parametrize("cursor", [Cursor("orders", -1), Cursor("views", 0)])
def test_a_cursor_that_makes_no_sense_ends_the_connection(peer: AdminPeer, cursor: Cursor) -> None:
    """The response has no place for an error, and Kafka closes too."""
    peer.tell(DescribeTopicPartitionsRequest([DescribedTopic("orders")], 10, cursor), 0)
    assert peer.is_closed_by_broker()


# DescribeLogDirs.


@pytest.mark.parametrize("version", range(1, 6))
def test_directories_with_their_sizes(peer: AdminPeer, tmp_path: Path, version: int) -> None:
    peer.create_one("orders", 2)
    peer.fill("orders", b"x" * 1000)
    (found,) = peer.ask(DescribeLogDirsRequest(None), version, DescribeLogDirsResponse).results
    assert (found.error_code, found.log_dir) == (0, str(tmp_path))
    (topic,) = found.topics
    first, second = topic.partitions
    assert first.partition_size == (tmp_path / "orders-0" / f"{0:020}.log").stat().st_size > 1000
    assert (second.partition_size, second.offset_lag, second.is_future_key) == (0, 0, False)
    if version >= 4:
        assert found.total_bytes >= found.usable_bytes > 0


def test_only_what_was_asked_for(peer: AdminPeer) -> None:
    peer.create_one("orders", 2)
    peer.create_one("views")
    request = DescribeLogDirsRequest([DescribableLogDirTopic("orders", [1, 9]), DescribableLogDirTopic("nobody", [0])])
    (found,) = peer.ask(request, 4, DescribeLogDirsResponse).results
    assert [(topic.name, [each.partition_index for each in topic.partitions]) for topic in found.topics] == [
        ("orders", [1])
    ]
    (nothing,) = peer.ask(DescribeLogDirsRequest([]), 4, DescribeLogDirsResponse).results
    assert (nothing.error_code, nothing.topics) == (0, [])


def test_a_directory_that_failed_says_so(tmp_path: Path) -> None:
    paths = [tmp_path / "one", tmp_path / "two"]
    with RunningBroker(",".join(map(str, paths))) as broker, AdminPeer.of(broker) as peer:
        peer.create_one("orders", 2)
        broker.call(lambda: broker.broker.directories.directories[1].failed(OSError("rust")))
        one, two = peer.ask(DescribeLogDirsRequest(None), 4, DescribeLogDirsResponse).results
        assert (one.error_code, len(one.topics)) == (0, 1)
        assert (two.error_code, two.topics) == (ErrorCode.KAFKA_STORAGE_ERROR, [])


# DescribeProducers.


def test_producers_that_a_partition_remembers(peer: AdminPeer) -> None:
    peer.create_one("orders", 2)
    batch = batch_of(b"a", b"b", timestamp=1234, producer_id=77, producer_epoch=3, base_sequence=0)
    assert peer.produce("orders", batch)[0].error_code == 0
    request = DescribeProducersRequest([TopicRequest("orders", [0, 1, 5]), TopicRequest("a/b", [0])])
    orders, slash = peer.ask(request, 0, DescribeProducersResponse).topics
    first, second, missing = orders.partitions
    (producer,) = first.active_producers
    assert (producer.producer_id, producer.producer_epoch, producer.last_sequence) == (77, 3, 1)
    assert (producer.last_timestamp, producer.coordinator_epoch, producer.current_txn_start_offset) == (1234, -1, -1)
    assert (second.error_code, second.active_producers) == (0, [])
    assert missing.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert slash.partitions[0].error_code == ErrorCode.INVALID_TOPIC_EXCEPTION


# Access rules.


@pytest.mark.parametrize("version", range(1, 4))
def test_there_is_no_authorizer(peer: AdminPeer, version: int) -> None:
    """UIs ask at their start and go on when they hear this."""
    told = peer.ask(DescribeAclsRequest(1, None, 1, None, None, 1, 1), version, DescribeAclsResponse)
    assert told.error_code == ErrorCode.SECURITY_DISABLED
    creation = AclCreation(2, "orders", 3, "User:alice", "*", 3, 3)
    (created,) = peer.ask(CreateAclsRequest([creation]), version, CreateAclsResponse).results
    assert created.error_code == ErrorCode.SECURITY_DISABLED
    (deleted,) = peer.ask(DeleteAclsRequest([DeleteAclsFilter(2)]), version, DeleteAclsResponse).filter_results
    assert (deleted.error_code, deleted.matching_acls) == (ErrorCode.SECURITY_DISABLED, [])
