"""LeaveGroup, v0-v5: a member goes, or, from v3 on, several are sent away, static ones by their name (KIP-345)."""

from __future__ import annotations

from functools import partial

from strandline.broker.dispatch import Body, Handler, Instead, Request
from strandline.broker.group_coordinator import GroupCoordinator
from strandline.broker.group_requests import ask_for_group
from strandline.groups.commands import LeaveGroup, LeavingMember
from strandline.groups.replies import LeaveGroupReply
from strandline.model.failures import ErrorCode
from strandline.wire.codec import decode, encode
from strandline.wire.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity, MemberResponse

MEMBERS_FROM = 3


def leave_group_handler(coordinator: GroupCoordinator) -> Handler:
    def handle(request: Request) -> Body | Instead:
        version = request.api_version
        asked = decode(LeaveGroupRequest, version, request.body)
        leaving = asked.members if version >= MEMBERS_FROM else [MemberIdentity(asked.member_id)]
        members = tuple(
            LeavingMember(member_id=each.member_id, group_instance_id=each.group_instance_id) for each in leaving
        )
        command = LeaveGroup(group=asked.group_id, members=members)
        return ask_for_group(coordinator, request, asked.group_id, command, partial(_respond, version))

    return handle


def _respond(version: int, reply: LeaveGroupReply) -> bytes:
    members = [MemberResponse(each.member_id, each.group_instance_id, each.error_code) for each in reply.members]
    error_code = reply.error_code
    if version < MEMBERS_FROM and error_code is ErrorCode.NONE:
        (error_code,) = (each.error_code for each in reply.members)
    return encode(LeaveGroupResponse(0, error_code, members), version)
