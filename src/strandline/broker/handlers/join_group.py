"""JoinGroup, v0-v9: to become a member of a classic group, and to wait for the others.

v1 has a rebalance timeout of its own, v4 gives ids before it takes members (KIP-394), v5 has static members (KIP-345),
v9 may tell a leader to leave the assignment alone (KIP-814).
"""

from __future__ import annotations

from functools import partial

from strandline.broker.dispatch import Body, Handler, Instead, Request
from strandline.broker.group_coordinator import GroupCoordinator
from strandline.broker.group_requests import ask_for_group, client_host
from strandline.broker.host import Host
from strandline.groups.commands import JoinGroup, JoinProtocol
from strandline.groups.replies import JoinGroupReply
from strandline.wire.codec import decode, encode
from strandline.wire.messages.join_group import JoinGroupRequest, JoinGroupResponse, JoinGroupResponseMember

IDS_FIRST_FROM = 4
NULL_PROTOCOL_FROM = 7
SKIPS_ASSIGNMENT_FROM = 9


def join_group_handler(coordinator: GroupCoordinator, host: Host) -> Handler:
    def handle(request: Request) -> Body | Instead:
        version = request.api_version
        asked = decode(JoinGroupRequest, version, request.body)
        command = JoinGroup(
            group=asked.group_id,
            member_id=asked.member_id,
            group_instance_id=asked.group_instance_id,
            client_id=request.client_id or "",
            client_host=client_host(request),
            session_timeout_ms=asked.session_timeout_ms,
            rebalance_timeout_ms=asked.rebalance_timeout_ms,
            protocol_type=asked.protocol_type,
            protocols=tuple(JoinProtocol(name=each.name, metadata=each.metadata) for each in asked.protocols),
            unique_id=str(host.unique_id()),
            needs_member_id=version >= IDS_FIRST_FROM,
            may_skip_assignment=version >= SKIPS_ASSIGNMENT_FROM,
        )
        return ask_for_group(coordinator, request, asked.group_id, command, partial(_respond, version))

    return handle


def _respond(version: int, reply: JoinGroupReply) -> bytes:
    protocol = reply.protocol if version >= NULL_PROTOCOL_FROM else reply.protocol or ""
    members = [JoinGroupResponseMember(each.member_id, each.group_instance_id, each.metadata) for each in reply.members]
    response = JoinGroupResponse(
        0,
        reply.error_code,
        reply.generation,
        reply.protocol_type,
        protocol,
        reply.leader,
        reply.skip_assignment,
        reply.member_id,
        members,
    )
    return encode(response, version)
