"""ConsumerGroupHeartbeat, v0-v1: to join, to stay in and to leave a group whose members the broker assigns (KIP-848).

In v0 the coordinator names a member, from v1 on it names itself (KIP-1082). Topics by regular expression, new in v1,
are refused (docs/gaps.md).
"""

from __future__ import annotations

from functools import partial
from uuid import UUID

from strandline.broker.dispatch import Body, Handler, Instead, Request
from strandline.broker.group_coordinator import GroupCoordinator
from strandline.broker.group_requests import ask_for_group, client_host
from strandline.broker.host import Host
from strandline.groups.commands import ConsumerGroupHeartbeat, OwnedPartitions
from strandline.groups.replies import AssignedPartitions, ConsumerGroupHeartbeatReply
from strandline.model.ids import encode_id
from strandline.wire.codec import decode, encode
from strandline.wire.messages.consumer_group_heartbeat import (
    Assignment,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)

NAMES_ITSELF_FROM = 1


def consumer_group_heartbeat_handler(coordinator: GroupCoordinator, host: Host) -> Handler:
    def handle(request: Request) -> Body | Instead:
        version = request.api_version
        asked = decode(ConsumerGroupHeartbeatRequest, version, request.body)
        names = asked.subscribed_topic_names
        command = ConsumerGroupHeartbeat(
            group=asked.group_id,
            member_id=asked.member_id,
            member_epoch=asked.member_epoch,
            instance_id=asked.instance_id,
            rack_id=asked.rack_id,
            client_id=request.client_id or "",
            client_host=client_host(request),
            rebalance_timeout_ms=asked.rebalance_timeout_ms,
            subscribed_topic_names=None if names is None else tuple(names),
            subscribed_topic_regex=asked.subscribed_topic_regex,
            server_assignor=asked.server_assignor,
            owned_partitions=_owned(asked.topic_partitions),
            unique_id="" if version >= NAMES_ITSELF_FROM else encode_id(host.unique_id()),
        )
        return ask_for_group(coordinator, request, asked.group_id, command, partial(_respond, version))

    return handle


def _owned(stated: list[TopicPartitions] | None) -> tuple[OwnedPartitions, ...] | None:
    if stated is None:
        return None
    return tuple(
        OwnedPartitions(topic_id=UUID(bytes=each.topic_id), partitions=tuple(each.partitions)) for each in stated
    )


def _respond(version: int, reply: ConsumerGroupHeartbeatReply) -> bytes:
    response = ConsumerGroupHeartbeatResponse(
        0,
        reply.error_code,
        reply.error_message,
        reply.member_id,
        reply.member_epoch,
        reply.heartbeat_interval_ms,
        None if reply.assignment is None else _assignment(reply.assignment),
    )
    return encode(response, version)


def _assignment(assigned: tuple[AssignedPartitions, ...]) -> Assignment:
    return Assignment([TopicPartitions(each.topic_id.bytes, list(each.partitions)) for each in assigned])
