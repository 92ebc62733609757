"""DescribeGroups, v0-v6: state and members of classic groups. One that is not there is Dead, from v6 on an error."""

from __future__ import annotations

from collections.abc import Sequence

from strandline.broker.dispatch import Body, Handler, Instead, Request
from strandline.broker.group_coordinator import GroupCoordinator
from strandline.broker.group_requests import ask_for_groups
from strandline.groups import replies
from strandline.groups.commands import DescribeGroups
from strandline.groups.replies import DescribeGroupsReply
from strandline.groups.states import ClassicState
from strandline.model.failures import ErrorCode
from strandline.wire.codec import decode, encode
from strandline.wire.messages.describe_groups import (
    DescribedGroup,
    DescribedGroupMember,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)

NOT_FOUND_FROM = 6


def describe_groups_handler(coordinator: GroupCoordinator) -> Handler:
    def handle(request: Request) -> Body | Instead:
        version = request.api_version
        asked = decode(DescribeGroupsRequest, version, request.body)

        def respond(described: Sequence[DescribeGroupsReply]) -> bytes:
            groups = [_described(version, group) for reply in described for group in reply.groups]
            return encode(DescribeGroupsResponse(groups=groups), version)

        commands = [(group, DescribeGroups(groups=(group,))) for group in asked.groups]
        return ask_for_groups(coordinator, request, commands, respond)

    return handle


def _described(version: int, group: replies.DescribedGroup) -> DescribedGroup:
    described = DescribedGroup(
        group.error_code, None, group.group, group.state, group.protocol_type, group.protocol, _members(group)
    )
    if version >= NOT_FOUND_FROM and group.state == ClassicState.DEAD.value:
        described.error_code = ErrorCode.GROUP_ID_NOT_FOUND
        described.error_message = f"there is no classic group {group.group}"
    return described


def _members(group: replies.DescribedGroup) -> list[DescribedGroupMember]:
    return [
        DescribedGroupMember(
            each.member_id,
            each.group_instance_id,
            each.client_id,
            each.client_host,
            each.metadata,
            each.assignment,
        )
        for each in group.members
    ]
