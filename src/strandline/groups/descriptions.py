"""DescribeGroups, ConsumerGroupDescribe and ListGroups: what a group looks like from outside."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from strandline.groups.assignment import Assignment, to_stored
from strandline.groups.classic_group import ClassicGroup
from strandline.groups.commands import ConsumerGroupDescribe, DescribeGroups, ListGroups
from strandline.groups.consumer_group import ConsumerGroup
from strandline.groups.consumer_protocol import CONSUMER_PROTOCOL_TYPE
from strandline.groups.draft import CoordinatorState, Draft, Group
from strandline.groups.replies import (
    ConsumerGroupDescribeReply,
    DescribedConsumer,
    DescribedConsumerGroup,
    DescribedGroup,
    DescribeGroupsReply,
    ListedGroup,
    ListGroupsReply,
    NamedPartitions,
)
from strandline.groups.states import ClassicState
from strandline.model.failures import ErrorCode


def describe_groups(state: CoordinatorState, _draft: Draft, command: DescribeGroups) -> DescribeGroupsReply:
    return DescribeGroupsReply(groups=tuple(_described(state, group_id) for group_id in command.groups))


def _described(state: CoordinatorState, group_id: str) -> DescribedGroup:
    group = state.classic_group(group_id)
    if group is None:
        return DescribedGroup(group=group_id, state=ClassicState.DEAD.value)
    # In a rebalance the protocol of the last generation says nothing about the members of the next.
    protocol = group.protocol if group.state is ClassicState.STABLE else None
    return DescribedGroup(
        group=group_id,
        state=group.state.value,
        protocol_type=group.protocol_type or "",
        protocol=protocol or "",
        members=tuple(member.described(protocol) for member in group.members.values()),
    )


def describe_consumer_groups(
    state: CoordinatorState, _draft: Draft, command: ConsumerGroupDescribe
) -> ConsumerGroupDescribeReply:
    described = tuple(_described_consumers(state, group_id) for group_id in command.groups)
    return ConsumerGroupDescribeReply(groups=described)


def _described_consumers(state: CoordinatorState, group_id: str) -> DescribedConsumerGroup:
    group = state.consumer_group(group_id)
    if group is None:
        unknown = ErrorCode.GROUP_ID_NOT_FOUND if group_id else ErrorCode.INVALID_GROUP_ID
        return DescribedConsumerGroup(error_code=unknown, group=group_id)
    names = {topic.topic_id: name for name, topic in state.topics.items()}
    return DescribedConsumerGroup(
        group=group_id,
        state=group.state.value,
        group_epoch=group.epoch,
        assignment_epoch=group.assignment_epoch,
        assignor=group.preferred_assignor(state.settings.group_consumer_assignors[0]),
        members=tuple(_described_consumer(group, member_id, names) for member_id in group.members),
    )


def _described_consumer(group: ConsumerGroup, member_id: str, names: Mapping[UUID, str]) -> DescribedConsumer:
    member = group.members[member_id]
    return DescribedConsumer(
        member_id=member_id,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        member_epoch=member.epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=member.subscribed_topic_names,
        assignment=_named(member.assigned, names),
        target_assignment=_named(group.target_of(member_id), names),
    )


def _named(assignment: Assignment, names: Mapping[UUID, str]) -> tuple[NamedPartitions, ...]:
    """Topics that are gone have no name to give."""
    return tuple(
        NamedPartitions(topic_id=entry.topic_id, topic=names[entry.topic_id], partitions=entry.partitions)
        for entry in to_stored(assignment)
        if entry.topic_id in names
    )


def list_groups(state: CoordinatorState, _draft: Draft, command: ListGroups) -> ListGroupsReply:
    states = {name.strip().lower() for name in command.states}
    types = {name.strip().lower() for name in command.types}
    listed = (_listed(group) for group in state.groups.values())
    return ListGroupsReply(
        groups=tuple(
            group
            for group in listed
            if (not states or group.state.lower() in states) and (not types or group.type in types)
        )
    )


def _listed(group: Group) -> ListedGroup:
    if isinstance(group, ClassicGroup):
        return ListedGroup(
            group=group.group_id, protocol_type=group.protocol_type or "", state=group.state.value, type="classic"
        )
    return ListedGroup(
        group=group.group_id, protocol_type=CONSUMER_PROTOCOL_TYPE, state=group.state.value, type="consumer"
    )
