"""Heartbeat, v0-v4: a member of a classic group is alive. While its group is being loaded, there is no more to say."""

from __future__ import annotations

from functools import partial

from strandline.broker.dispatch import Body, Handler, Instead, Request
from strandline.broker.group_coordinator import GroupCoordinator
from strandline.broker.group_requests import ask_for_group
from strandline.groups.commands import Heartbeat
from strandline.groups.replies import HeartbeatReply
from strandline.model.failures import ErrorCode
from strandline.wire.heartbeat import decode_heartbeat_request, encode_heartbeat_response
from strandline.wire.messages.heartbeat import HeartbeatResponse


def heartbeat_handler(coordinator: GroupCoordinator) -> Handler:
    def handle(request: Request) -> Body | Instead:
        asked = decode_heartbeat_request(request.api_version, request.body)
        command = Heartbeat(
            group=asked.group_id,
            member_id=asked.member_id,
            group_instance_id=asked.group_instance_id,
            generation=asked.generation_id,
        )
        return ask_for_group(coordinator, request, asked.group_id, command, partial(_respond, request.api_version))

    return handle


def _respond(version: int, reply: HeartbeatReply) -> bytes:
    is_loading = reply.error_code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    return encode_heartbeat_response(version, HeartbeatResponse(0, 0 if is_loading else reply.error_code))
