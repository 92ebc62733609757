"""Groups of KIP-848 over the wire: the broker assigns, members agree step by step (SPEC P4)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from tests.broker.group_peer import GroupPeer
from tests.broker.running_groups import RunningGroups

from strandline.model.failures import ErrorCode
from strandline.wire.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DescribedGroup,
)
from strandline.wire.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from strandline.wire.messages.join_group import JoinGroupResponse


@pytest.fixture
def running(tmp_path: Path) -> Iterator[RunningGroups]:
    with RunningGroups(str(tmp_path)) as running:
        yield running


@pytest.fixture
def peer(running: RunningGroups) -> Iterator[GroupPeer]:
    with running.member() as peer:
        peer.find_coordinator("g")
        yield peer


def beat(
    peer: GroupPeer, member_id: str, member_epoch: int, version: int = 1, **fields: Any
) -> ConsumerGroupHeartbeatResponse:
    request = ConsumerGroupHeartbeatRequest("g", member_id, member_epoch, **fields)
    return peer.ask(request, version, ConsumerGroupHeartbeatResponse)


def join(peer: GroupPeer, member_id: str, version: int = 1, **fields: Any) -> ConsumerGroupHeartbeatResponse:
    stated = {"rebalance_timeout_ms": 10_000, "subscribed_topic_names": ["orders"], "topic_partitions": []}
    return beat(peer, member_id, 0, version, **{**stated, **fields})


def assigned(answer: ConsumerGroupHeartbeatResponse) -> list[int]:
    assert answer.assignment is not None
    return sorted(index for topic in answer.assignment.topic_partitions for index in topic.partitions)


def described(peer: GroupPeer, group: str = "g", version: int = 1) -> DescribedGroup:
    (found,) = peer.ask(ConsumerGroupDescribeRequest([group]), version, ConsumerGroupDescribeResponse).groups
    return found


def test_two_members_share_the_partitions(peer: GroupPeer) -> None:
    topic_id = peer.create_topic("orders")
    first = join(peer, "anna")
    assert (first.error_code, first.member_id, first.member_epoch) == (0, "anna", 1)
    assert (assigned(first), first.heartbeat_interval_ms) == ([0, 1, 2, 3], 5000)
    second = join(peer, "bert")
    assert (second.member_epoch, assigned(second)) == (2, [])  # anna has them still
    revoking = beat(peer, "anna", 1)
    kept = assigned(revoking)
    assert len(kept) == 2
    agreed = beat(peer, "anna", 1, topic_partitions=[TopicPartitions(topic_id, kept)])
    assert agreed.member_epoch == 2
    taken = beat(peer, "bert", 2)
    assert sorted(assigned(taken) + kept) == [0, 1, 2, 3]
    assert beat(peer, "bert", 2).assignment is None  # as it was


@pytest.mark.parametrize("version", [0, 1])
def test_who_names_a_member(peer: GroupPeer, version: int) -> None:
    """The coordinator in version 0, the member itself from version 1 on (KIP-1082)."""
    peer.create_topic("orders")
    answer = join(peer, "", version)
    if version == 0:
        assert answer.error_code == 0
        assert answer.member_id is not None
        assert len(answer.member_id) == 22
    else:
        assert (answer.error_code, answer.error_message) == (
            ErrorCode.INVALID_REQUEST,
            "a member that joins names itself",
        )


def test_topics_that_come_later(peer: GroupPeer) -> None:
    assert assigned(join(peer, "anna")) == []
    peer.create_topic("orders")
    answer = beat(peer, "anna", 1)
    assert (answer.member_epoch, assigned(answer)) == (2, [0, 1, 2, 3])


def test_offsets_of_a_member(peer: GroupPeer) -> None:
    peer.create_topic("orders")
    epoch = join(peer, "anna").member_epoch
    assert peer.commit("g", {0: 7}, member=JoinGroupResponse(generation_id=epoch, member_id="anna")) == [0]
    stale = JoinGroupResponse(generation_id=epoch + 1, member_id="anna")
    assert peer.commit("g", {0: 8}, member=stale) == [ErrorCode.STALE_MEMBER_EPOCH]
    assert peer.offset("g") == 7


def test_leaving(peer: GroupPeer) -> None:
    peer.create_topic("orders")
    join(peer, "anna")
    assert beat(peer, "anna", -1).error_code == 0
    assert beat(peer, "anna", 1).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert (described(peer).group_state, described(peer).members) == ("Empty", [])


def test_a_regular_expression_is_refused(peer: GroupPeer) -> None:
    answer = join(peer, "anna", subscribed_topic_names=None, subscribed_topic_regex="ord.*")
    assert (answer.error_code, answer.error_message) == (
        ErrorCode.INVALID_REGULAR_EXPRESSION,
        "subscribing by a regular expression is not supported",
    )


def test_an_assignor_that_is_not_there(peer: GroupPeer) -> None:
    answer = join(peer, "anna", server_assignor="mine")
    assert answer.error_code == ErrorCode.UNSUPPORTED_ASSIGNOR
    assert answer.error_message == "mine is not one of uniform, range"


def test_nothing_is_known_of_a_member(peer: GroupPeer) -> None:
    assert beat(peer, "anna", 3).error_code == ErrorCode.GROUP_ID_NOT_FOUND


@pytest.mark.parametrize("version", [0, 1])
def test_a_group_is_described(peer: GroupPeer, version: int) -> None:
    topic_id = peer.create_topic("orders")
    join(peer, "anna", instance_id="kitchen", rack_id="r")
    found = described(peer, version=version)
    assert (found.error_code, found.group_state, found.assignor_name) == (0, "Stable", "uniform")
    assert (found.group_epoch, found.assignment_epoch) == (1, 1)
    (member,) = found.members
    assert (member.member_id, member.instance_id, member.rack_id, member.member_epoch) == ("anna", "kitchen", "r", 1)
    assert (member.client_id, member.client_host) == ("tester", "/127.0.0.1")
    assert member.subscribed_topic_names == ["orders"]
    (topic,) = member.assignment.topic_partitions
    assert (topic.topic_id, topic.topic_name, topic.partitions) == (topic_id, "orders", [0, 1, 2, 3])
    assert member.target_assignment == member.assignment
    assert member.member_type == (1 if version >= 1 else -1)


def test_groups_that_are_not_there(peer: GroupPeer) -> None:
    peer.stable_member("classic")
    assert described(peer, "classic").error_code == ErrorCode.GROUP_ID_NOT_FOUND
    missing = described(peer, "nowhere")
    assert (missing.error_code, missing.error_message) == (
        ErrorCode.GROUP_ID_NOT_FOUND,
        "there is no consumer group nowhere",
    )
    assert described(peer, "").error_code == ErrorCode.INVALID_GROUP_ID


def test_a_topic_that_is_deleted(running: RunningGroups, peer: GroupPeer) -> None:
    peer.create_topic("orders")
    join(peer, "anna")
    running.call(lambda: running.broker.image.remove_topic("orders"))
    revoking = beat(peer, "anna", 1)
    assert (revoking.member_epoch, assigned(revoking)) == (1, [])
    assert beat(peer, "anna", 1, topic_partitions=[]).member_epoch == 2


def test_the_ids_of_topics_are_those_of_the_cluster(running: RunningGroups, peer: GroupPeer) -> None:
    topic_id = UUID(bytes=peer.create_topic("orders"))
    assert running.call(lambda: running.broker.image.topics["orders"].topic_id) == topic_id
    answer = join(peer, "anna")
    assert answer.assignment is not None
    assert answer.assignment.topic_partitions[0].topic_id == topic_id.bytes
