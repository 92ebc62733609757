"""OffsetFetch, versions 1 to 10, by hand.

    v1   one group, its topics                v5   leader epochs (KIP-320)
    v2   null topics: all; an error for all   v6   flexible
    v3   throttle time                        v7   only stable offsets (KIP-447)
    v8   many groups in one request (KIP-709)
    v9   KIP-848 groups: member id and epoch  v10  topics by id

A handler sees `groups` in every version: a request before v8 is read as one of one group, and the only group of
the response is written in the old form.
"""

from __future__ import annotations

from struct import Struct

from strandline.model.failures import ProtocolError, check
from strandline.wire.dialects import FLEXIBLE, LEGACY, Dialect
from strandline.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
)
from strandline.wire.primitives import BAD_BYTES, INT16, INT32, NO_UUID, Buffer, malformed, read_int32s

FLEXIBLE_FROM = 6
STABLE_FROM = 7
GROUPS_FROM = 8
MEMBERS_FROM = 9
TOPIC_IDS_FROM = 10

POSITION_V1 = Struct(">iq")
POSITION_V5 = Struct(">iqi")


def decode_offset_fetch_request(version: int, body: Buffer) -> OffsetFetchRequest:
    dialect = FLEXIBLE if version >= FLEXIBLE_FROM else LEGACY
    request = OffsetFetchRequest()
    try:
        if version >= GROUPS_FROM:
            count, position = dialect.read_count(body, 0)
            for _ in range(count):
                group, position = _read_group(version, body, position, dialect)
                request.groups.append(group)
        else:
            group_id, position = dialect.read_string(body, 0)
            topics, position = _read_topics(version, body, position, dialect)
            request.groups.append(OffsetFetchRequestGroup(group_id, topics=topics))
        if version >= STABLE_FROM:
            request.require_stable = body[position] != 0
            position += 1
        dialect.skip_tags(body, position)
    except (*BAD_BYTES, ProtocolError) as cause:
        raise malformed("OffsetFetchRequest", version, cause) from None
    return request


def _read_group(version: int, body: Buffer, position: int, dialect: Dialect) -> tuple[OffsetFetchRequestGroup, int]:
    group_id, position = dialect.read_string(body, position)
    group = OffsetFetchRequestGroup(group_id)
    if version >= MEMBERS_FROM:
        group.member_id, position = dialect.read_nullable_string(body, position)
        (group.member_epoch,) = INT32.unpack_from(body, position)
        position += INT32.size
    group.topics, position = _read_topics(version, body, position, dialect)
    return group, dialect.skip_tags(body, position)


def _read_topics(
    version: int, body: Buffer, position: int, dialect: Dialect
) -> tuple[list[OffsetFetchRequestTopics] | None, int]:
    count, position = (dialect.read_nullable_count if version >= 2 else dialect.read_count)(body, position)
    if count < 0:
        return None, position
    topics = []
    for _ in range(count):
        name, topic_id = "", NO_UUID
        if version >= TOPIC_IDS_FROM:
            topic_id, position = bytes(body[position : position + 16]), position + 16
        else:
            name, position = dialect.read_string(body, position)
        partition_count, position = dialect.read_count(body, position)
        indexes, position = read_int32s(body, position, partition_count)
        position = dialect.skip_tags(body, position)
        topics.append(OffsetFetchRequestTopics(name, topic_id, indexes))
    return topics, position


def encode_offset_fetch_response(version: int, response: OffsetFetchResponse) -> bytes:
    dialect = FLEXIBLE if version >= FLEXIBLE_FROM else LEGACY
    target = bytearray(INT32.pack(response.throttle_time_ms) if version >= 3 else b"")
    if version >= GROUPS_FROM:
        target += dialect.encode_count(len(response.groups))
        for group in response.groups:
            target += dialect.encode_string(group.group_id)
            _append_topics(version, target, group, dialect)
            target += INT16.pack(group.error_code)
            target += dialect.tags
    else:
        check(len(response.groups) == 1, f"OffsetFetch version {version} answers for one group")
        (group,) = response.groups
        _append_topics(version, target, group, dialect)
        target += INT16.pack(group.error_code) if version >= 2 else b""
    return bytes(target + dialect.tags)


def _append_topics(version: int, target: bytearray, group: OffsetFetchResponseGroup, dialect: Dialect) -> None:
    target += dialect.encode_count(len(group.topics))
    for topic in group.topics:
        target += topic.topic_id if version >= TOPIC_IDS_FROM else dialect.encode_string(topic.name)
        target += dialect.encode_count(len(topic.partitions))
        for partition in topic.partitions:
            target += _encode_partition(version, partition, dialect)
        target += dialect.tags


def _encode_partition(version: int, partition: OffsetFetchResponsePartitions, dialect: Dialect) -> bytes:
    place = (partition.partition_index, partition.committed_offset)
    head = POSITION_V5.pack(*place, partition.committed_leader_epoch) if version >= 5 else POSITION_V1.pack(*place)
    return head + dialect.encode_nullable_string(partition.metadata) + INT16.pack(partition.error_code) + dialect.tags
