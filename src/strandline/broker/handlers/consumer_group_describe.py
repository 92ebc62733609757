"""ConsumerGroupDescribe, v0-v1: state, epochs and members of groups of KIP-848. v1 says what a member speaks."""

from __future__ import annotations

from collections.abc import Sequence

from strandline.broker.dispatch import Body, Handler, Instead, Request
from strandline.broker.group_coordinator import GroupCoordinator
from strandline.broker.group_requests import ask_for_groups
from strandline.groups.commands import ConsumerGroupDescribe
from strandline.groups.replies import (
    ConsumerGroupDescribeReply,
    DescribedConsumer,
    DescribedConsumerGroup,
    NamedPartitions,
)
from strandline.model.failures import ErrorCode
from strandline.wire.codec import decode, encode
from strandline.wire.messages.consumer_group_describe import (
    Assignment,
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DescribedGroup,
    Member,
    TopicPartitions,
)

CONSUMER_MEMBER = 1


def consumer_group_describe_handler(coordinator: GroupCoordinator) -> Handler:
    def handle(request: Request) -> Body | Instead:
        version = request.api_version
        asked = decode(ConsumerGroupDescribeRequest, version, request.body)

        def respond(replies: Sequence[ConsumerGroupDescribeReply]) -> bytes:
            groups = [_described(group) for reply in replies for group in reply.groups]
            return encode(ConsumerGroupDescribeResponse(groups=groups), version)

        commands = [(group, ConsumerGroupDescribe(groups=(group,))) for group in asked.group_ids]
        return ask_for_groups(coordinator, request, commands, respond)

    return handle


def _described(group: DescribedConsumerGroup) -> DescribedGroup:
    is_missing = group.error_code is ErrorCode.GROUP_ID_NOT_FOUND
    return DescribedGroup(
        group.error_code,
        f"there is no consumer group {group.group}" if is_missing else None,
        group.group,
        group.state,
        group.group_epoch,
        group.assignment_epoch,
        group.assignor,
        [_member(member) for member in group.members],
    )


def _member(member: DescribedConsumer) -> Member:
    return Member(
        member.member_id,
        member.instance_id,
        member.rack_id,
        member.member_epoch,
        member.client_id,
        member.client_host,
        list(member.subscribed_topic_names),
        member.subscribed_topic_regex,
        _assignment(member.assignment),
        _assignment(member.target_assignment),
        CONSUMER_MEMBER,
    )


def _assignment(named: tuple[NamedPartitions, ...]) -> Assignment:
    return Assignment([TopicPartitions(each.topic_id.bytes, each.topic, list(each.partitions)) for each in named])
