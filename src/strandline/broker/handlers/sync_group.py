"""SyncGroup, v0-v5: the leader of a classic group brings the assignment, and every member waits for its own."""

from __future__ import annotations

from functools import partial

from strandline.broker.dispatch import Body, Handler, Instead, Request
from strandline.broker.group_coordinator import GroupCoordinator
from strandline.broker.group_requests import ask_for_group
from strandline.groups.commands import SyncGroup
from strandline.groups.replies import SyncGroupReply
from strandline.wire.codec import decode, encode
from strandline.wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse


def sync_group_handler(coordinator: GroupCoordinator) -> Handler:
    def handle(request: Request) -> Body | Instead:
        asked = decode(SyncGroupRequest, request.api_version, request.body)
        command = SyncGroup(
            group=asked.group_id,
            member_id=asked.member_id,
            group_instance_id=asked.group_instance_id,
            generation=asked.generation_id,
            protocol_type=asked.protocol_type,
            protocol=asked.protocol_name,
            assignments=tuple((each.member_id, each.assignment) for each in asked.assignments),
        )
        return ask_for_group(coordinator, request, asked.group_id, command, partial(_respond, request.api_version))

    return handle


def _respond(version: int, reply: SyncGroupReply) -> bytes:
    response = SyncGroupResponse(0, reply.error_code, reply.protocol_type, reply.protocol, reply.assignment)
    return encode(response, version)
