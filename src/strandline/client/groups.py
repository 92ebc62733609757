"""Groups: which there are, who their members are, what they read; groups to delete."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from strandline.client.cluster import Cluster
from strandline.client.consumer_protocol import PROTOCOL_TYPE, decode_assignment
from strandline.client.failures import BrokerRefused
from strandline.model.error_codes import ErrorCode
from strandline.model.failures import ProtocolError
from strandline.model.lazy_dataclass import dataclass
from strandline.model.partitions import TopicPartition
from strandline.wire.messages import consumer_group_describe as modern
from strandline.wire.messages.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from strandline.wire.messages.describe_groups import DescribedGroup, DescribeGroupsRequest, DescribeGroupsResponse
from strandline.wire.messages.list_groups import ListedGroup, ListGroupsRequest, ListGroupsResponse
from strandline.wire.versions import ApiKey

DEAD = "Dead"  # what the classic protocol says of a group that does not exist
CONSUMER_TYPE = "Consumer"  # of KIP-848
CLASSIC_TYPE = "Classic"


@dataclass(frozen=True, slots=True)
class GroupListing:
    group_id: str
    state: str  # empty where the broker is too old to say
    group_type: str
    protocol_type: str
    coordinator_id: int


@dataclass(frozen=True, slots=True)
class GroupMemberView:
    member_id: str
    instance_id: str | None
    client_id: str
    host: str
    partitions: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True)
class GroupView:
    group_id: str
    state: str
    group_type: str
    assignor: str
    epoch: int | None  # of KIP-848 groups
    coordinator_id: int
    members: tuple[GroupMemberView, ...]


async def list_groups(cluster: Cluster, states: Sequence[str] = ()) -> list[GroupListing]:
    """Every broker knows those that it coordinates."""
    await cluster.refresh(())
    found = await asyncio.gather(*(_list_at(cluster, node_id, states) for node_id in cluster.view.nodes))
    return sorted((group for groups in found for group in groups), key=lambda group: group.group_id)


async def _list_at(cluster: Cluster, node_id: int, states: Sequence[str]) -> list[GroupListing]:
    response = await cluster.ask_broker(
        node_id, ListGroupsRequest(list(states)), ListGroupsResponse, lambda answer: [answer.error_code]
    )
    if response.error_code:
        raise BrokerRefused(response.error_code, f"groups of broker {node_id}")
    return [_listing(each, node_id) for each in response.groups]


def _listing(each: ListedGroup, node_id: int) -> GroupListing:
    return GroupListing(
        each.group_id, each.group_state, (each.group_type or CLASSIC_TYPE).capitalize(), each.protocol_type, node_id
    )


async def describe_group(cluster: Cluster, group_id: str) -> GroupView:
    """By whichever protocol the group uses."""
    view = await _describe_classic(cluster, group_id)
    if view is None and (await cluster.coordinator(group_id)).versions.serves(ApiKey.CONSUMER_GROUP_DESCRIBE):
        view = await _describe_modern(cluster, group_id)
    if view is None:
        raise BrokerRefused(ErrorCode.GROUP_ID_NOT_FOUND, f"group {group_id}")
    return view


async def _describe_modern(cluster: Cluster, group_id: str) -> GroupView | None:
    response = await cluster.ask_coordinator(
        group_id,
        modern.ConsumerGroupDescribeRequest([group_id]),
        modern.ConsumerGroupDescribeResponse,
        lambda answer: [each.error_code for each in answer.groups],
    )
    (group,) = response.groups
    if group.error_code in (ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.UNSUPPORTED_VERSION):
        return None
    if group.error_code:
        raise BrokerRefused(group.error_code, f"group {group_id}", group.error_message)
    return GroupView(
        group_id,
        group.group_state,
        CONSUMER_TYPE,
        group.assignor_name,
        group.group_epoch,
        cluster.coordinator_id(group_id),
        tuple(_modern_member(member) for member in group.members),
    )


def _modern_member(member: modern.Member) -> GroupMemberView:
    partitions = [
        TopicPartition(topic.topic_name, index)
        for topic in member.assignment.topic_partitions
        for index in topic.partitions
    ]
    return GroupMemberView(
        member.member_id, member.instance_id, member.client_id, member.client_host, tuple(sorted(partitions))
    )


async def _describe_classic(cluster: Cluster, group_id: str) -> GroupView | None:
    response = await cluster.ask_coordinator(
        group_id,
        DescribeGroupsRequest([group_id]),
        DescribeGroupsResponse,
        lambda answer: [each.error_code for each in answer.groups],
    )
    (group,) = response.groups
    if group.error_code == ErrorCode.GROUP_ID_NOT_FOUND or (not group.error_code and group.group_state == DEAD):
        return None
    if group.error_code:
        raise BrokerRefused(group.error_code, f"group {group_id}", group.error_message)
    return GroupView(
        group_id,
        group.group_state,
        CLASSIC_TYPE,
        group.protocol_data,
        None,
        cluster.coordinator_id(group_id),
        tuple(_classic_members(group)),
    )


def _classic_members(group: DescribedGroup) -> list[GroupMemberView]:
    members = []
    for each in group.members:
        partitions: list[TopicPartition] = []
        if group.protocol_type == PROTOCOL_TYPE:
            try:
                partitions = decode_assignment(each.member_assignment)
            except ProtocolError:
                partitions = []  # clients may put there what they like
        members.append(
            GroupMemberView(
                each.member_id, each.group_instance_id, each.client_id, each.client_host, tuple(sorted(partitions))
            )
        )
    return members


async def delete_group(cluster: Cluster, group_id: str) -> None:
    response = await cluster.ask_coordinator(
        group_id,
        DeleteGroupsRequest([group_id]),
        DeleteGroupsResponse,
        lambda answer: [each.error_code for each in answer.results],
    )
    for each in response.results:
        if each.error_code:
            raise BrokerRefused(each.error_code, f"group {group_id}")
