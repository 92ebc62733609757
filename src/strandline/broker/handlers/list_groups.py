"""ListGroups, v0-v5: the groups that this broker looks after, by state (v4, KIP-518) and by type (v5, KIP-848)."""

from __future__ import annotations

from strandline.broker.dispatch import Body, Handler, Instead, Request
from strandline.broker.group_coordinator import GroupCoordinator
from strandline.broker.group_requests import Response
from strandline.groups.commands import ListGroups
from strandline.groups.replies import ListGroupsReply
from strandline.wire.codec import decode, encode
from strandline.wire.messages.list_groups import ListedGroup, ListGroupsRequest, ListGroupsResponse


def list_groups_handler(coordinator: GroupCoordinator) -> Handler:
    def handle(request: Request) -> Body | Instead:
        version = request.api_version
        asked = decode(ListGroupsRequest, version, request.body)
        response = Response(request)
        command = ListGroups(states=tuple(asked.states_filter), types=tuple(asked.types_filter))
        coordinator.list_groups(command, lambda reply: response.put(_respond(version, reply)))
        return response.now_or_later()

    return handle


def _respond(version: int, reply: ListGroupsReply) -> bytes:
    groups = [ListedGroup(each.group, each.protocol_type, each.state, each.type) for each in reply.groups]
    return encode(ListGroupsResponse(0, reply.error_code, groups), version)
