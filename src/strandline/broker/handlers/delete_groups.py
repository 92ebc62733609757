"""DeleteGroups, v0-v2: groups without members go, with their offsets (KIP-229)."""

from __future__ import annotations

from collections.abc import Sequence

from strandline.broker.dispatch import Body, Handler, Instead, Request
from strandline.broker.group_coordinator import GroupCoordinator
from strandline.broker.group_requests import ask_for_groups
from strandline.groups.commands import DeleteGroups
from strandline.groups.replies import DeleteGroupsReply
from strandline.wire.codec import decode, encode
from strandline.wire.messages.delete_groups import DeletableGroupResult, DeleteGroupsRequest, DeleteGroupsResponse


def delete_groups_handler(coordinator: GroupCoordinator) -> Handler:
    def handle(request: Request) -> Body | Instead:
        version = request.api_version
        asked = decode(DeleteGroupsRequest, version, request.body)

        def respond(replies: Sequence[DeleteGroupsReply]) -> bytes:
            results = [DeletableGroupResult(each.group, each.error_code) for reply in replies for each in reply.groups]
            return encode(DeleteGroupsResponse(results=results), version)

        # One that is named twice is deleted once, and not reported missing the second time.
        commands = [(group, DeleteGroups(groups=(group,))) for group in dict.fromkeys(asked.groups_names)]
        return ask_for_groups(coordinator, request, commands, respond)

    return handle
