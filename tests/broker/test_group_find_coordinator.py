"""FindCoordinator: the first question creates `__consumer_offsets`, and every question has an answer at once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.broker.group_peer import GroupPeer
from tests.broker.led_partition import offset_batch
from tests.broker.running_broker import RunningBroker
from tests.broker.running_groups import RunningGroups

from strandline.broker.cluster_image import CONSUMER_OFFSETS
from strandline.model.coordinators import coordinator_partition
from strandline.model.failures import ErrorCode
from strandline.wire.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
)
from strandline.wire.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from strandline.wire.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse

GROUP, TRANSACTION, SHARE = 0, 1, 2


@pytest.fixture
def running(tmp_path: Path) -> Iterator[RunningGroups]:
    with RunningGroups(str(tmp_path)) as running:
        yield running


@pytest.fixture
def peer(running: RunningGroups) -> Iterator[GroupPeer]:
    with running.member() as peer:
        yield peer


@pytest.mark.parametrize("version", range(4))
def test_one_group(running: RunningGroups, peer: GroupPeer, version: int) -> None:
    answer = peer.ask(FindCoordinatorRequest("g"), version, FindCoordinatorResponse)
    assert (answer.error_code, answer.node_id, (answer.host, answer.port)) == (0, 1, running.address)


@pytest.mark.parametrize("version", range(4, 7))
def test_many_groups(running: RunningGroups, peer: GroupPeer, version: int) -> None:
    request = FindCoordinatorRequest(coordinator_keys=["a", "", "c"])
    answer = peer.ask(request, version, FindCoordinatorResponse)
    assert [each.key for each in answer.coordinators] == ["a", "", "c"]
    assert {(each.error_code, each.node_id, each.host, each.port) for each in answer.coordinators} == {
        (0, 1, *running.address)
    }


def test_no_groups(running: RunningGroups, peer: GroupPeer) -> None:
    assert peer.find_coordinator().coordinators == []
    assert CONSUMER_OFFSETS not in running.broker.image.topics


def test_the_topic_is_made_as_kafka_makes_it(tmp_path: Path) -> None:
    with RunningBroker(str(tmp_path)) as running, GroupPeer(running.address) as peer:
        peer.find_coordinator("g")
        request = MetadataRequest([MetadataRequestTopic(name=CONSUMER_OFFSETS)])
        (topic,) = peer.ask(request, 12, MetadataResponse).topics
        assert (topic.is_internal, len(topic.partitions)) == (True, 50)
        settings = running.call(lambda: running.broker.configuration.topics[CONSUMER_OFFSETS])
        assert settings == {
            "cleanup.policy": "compact",
            "compression.type": "producer",
            "segment.bytes": str(100 * 2**20),
        }


def test_many_ask_at_once(running: RunningGroups) -> None:
    with ExitStack() as stack:
        peers = [stack.enter_context(running.member()) for _ in range(10)]
        for number, peer in enumerate(peers):
            peer.tell(FindCoordinatorRequest(f"g{number}"), 2)
        answers = [peer.hear(2, FindCoordinatorResponse) for peer in peers]
    assert [answer.error_code for answer in answers] == [0] * 10


def test_a_group_belongs_to_the_partition_that_its_name_says(running: RunningGroups, peer: GroupPeer) -> None:
    """Java's hash, so that Kafka's own tools find a group's records where they look for them."""
    peer.create_topic("orders")
    peer.find_coordinator("g")
    groups = [f"group-{number}" for number in range(6)]
    for group in groups:
        assert peer.commit(group, {0: 1}) == [0]
    expected = [coordinator_partition(group, 3) for group in groups]
    assert [running.log_end_offset(CONSUMER_OFFSETS, index) for index in range(3)] == [
        expected.count(index) for index in range(3)
    ]


@pytest.mark.parametrize("version", range(1, 7))
def test_a_transactional_id_has_a_coordinator(peer: GroupPeer, version: int) -> None:
    """The first question creates `__transaction_state`."""
    request = FindCoordinatorRequest("t", TRANSACTION, ["t"])
    answer = peer.ask(request, version, FindCoordinatorResponse)
    found = answer.coordinators[0] if version >= 4 else answer
    assert (found.error_code, found.node_id) == (ErrorCode.NONE, 1)


@pytest.mark.parametrize("key_type", [SHARE, 3, -1])
def test_nor_of_anything_else(peer: GroupPeer, key_type: int) -> None:
    answer = peer.ask(FindCoordinatorRequest("t", key_type), 3, FindCoordinatorResponse)
    assert answer.error_code == ErrorCode.INVALID_REQUEST


def test_without_the_topic_nobody_looks_after_a_group(peer: GroupPeer) -> None:
    """The client then asks for the coordinator, which makes the topic."""
    peer.create_topic("orders")
    assert peer.commit("g", {0: 1}) == [ErrorCode.NOT_COORDINATOR]
    peer.find_coordinator("g")
    assert peer.commit("g", {0: 1}) == [0]


def test_the_topic_cannot_grow(running: RunningGroups, peer: GroupPeer) -> None:
    """Groups would be looked for in partitions that do not have their offsets."""
    peer.find_coordinator("g")
    request = CreatePartitionsRequest([CreatePartitionsTopic(CONSUMER_OFFSETS, 9)], timeout_ms=10_000)
    (result,) = peer.ask(request, 3, CreatePartitionsResponse).results
    assert result.error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
    assert len(running.broker.image.topics[CONSUMER_OFFSETS].partitions) == 3


def test_clients_do_not_write_where_the_coordinator_does(running: RunningGroups, peer: GroupPeer) -> None:
    peer.find_coordinator("g")
    (first,) = peer.produce(CONSUMER_OFFSETS, offset_batch(7))
    (second,) = peer.produce(CONSUMER_OFFSETS, offset_batch(7))
    assert [first.error_code, second.error_code] == [ErrorCode.INVALID_TOPIC_EXCEPTION] * 2
    assert running.log_end_offset(CONSUMER_OFFSETS, 0) == 0
