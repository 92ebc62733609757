"""OffsetCommit, versions 2 to 10, by hand.

v2   group, generation, member, retention (gone in v5), offsets with metadata
v3   throttle time                       v6   leader epochs (KIP-320)
v7   static members (KIP-345)            v8   flexible
v9   KIP-848 groups: the generation is a member epoch
v10  topics by id
"""

from __future__ import annotations

from struct import Struct

from strandline.model.failures import ProtocolError
from strandline.wire.dialects import FLEXIBLE, LEGACY, Dialect
from strandline.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from strandline.wire.primitives import BAD_BYTES, INT32, NO_UUID, Buffer, malformed

FLEXIBLE_FROM = 8
TOPIC_IDS_FROM = 10
RETENTION_UNTIL = 4
EPOCHS_FROM = 6

RETENTION = Struct(">q")
PARTITION_V2 = Struct(">iq")
PARTITION_V6 = Struct(">iqi")
COMMITTED = Struct(">ih")
COMMITTED_FLEXIBLE = Struct(">ihx")


def decode_offset_commit_request(version: int, body: Buffer) -> OffsetCommitRequest:
    dialect = FLEXIBLE if version >= FLEXIBLE_FROM else LEGACY
    try:
        request, position = _read_head(version, body, dialect)
        topic_count, position = dialect.read_count(body, position)
        for _ in range(topic_count):
            topic, position = _read_topic(version, body, position, dialect)
            request.topics.append(topic)
        dialect.skip_tags(body, position)
    except (*BAD_BYTES, ProtocolError) as cause:
        raise malformed("OffsetCommitRequest", version, cause) from None
    return request


def _read_head(version: int, body: Buffer, dialect: Dialect) -> tuple[OffsetCommitRequest, int]:
    group_id, position = dialect.read_string(body, 0)
    (generation_id,) = INT32.unpack_from(body, position)
    member_id, position = dialect.read_string(body, position + 4)
    request = OffsetCommitRequest(group_id, generation_id, member_id)
    if version >= 7:
        request.group_instance_id, position = dialect.read_nullable_string(body, position)
    if version <= RETENTION_UNTIL:
        (request.retention_time_ms,) = RETENTION.unpack_from(body, position)
        position += RETENTION.size
    return request, position


def _read_topic(version: int, body: Buffer, position: int, dialect: Dialect) -> tuple[OffsetCommitRequestTopic, int]:
    name, topic_id = "", NO_UUID
    if version >= TOPIC_IDS_FROM:
        topic_id, position = bytes(body[position : position + 16]), position + 16
    else:
        name, position = dialect.read_string(body, position)
    count, position = dialect.read_count(body, position)
    partitions = []
    for _ in range(count):
        if version >= EPOCHS_FROM:
            index, offset, epoch = PARTITION_V6.unpack_from(body, position)
            position += PARTITION_V6.size
        else:
            index, offset = PARTITION_V2.unpack_from(body, position)
            position, epoch = position + PARTITION_V2.size, -1
        metadata, position = dialect.read_nullable_string(body, position)
        position = dialect.skip_tags(body, position)
        partitions.append(OffsetCommitRequestPartition(index, offset, epoch, metadata))
    return OffsetCommitRequestTopic(name, topic_id, partitions), dialect.skip_tags(body, position)


def encode_offset_commit_response(version: int, response: OffsetCommitResponse) -> bytes:
    flexible = version >= FLEXIBLE_FROM
    dialect, committed = (FLEXIBLE, COMMITTED_FLEXIBLE) if flexible else (LEGACY, COMMITTED)
    target = bytearray(INT32.pack(response.throttle_time_ms) if version >= 3 else b"")
    target += dialect.encode_count(len(response.topics))
    for topic in response.topics:
        target += topic.topic_id if version >= TOPIC_IDS_FROM else dialect.encode_string(topic.name)
        target += dialect.encode_count(len(topic.partitions))
        for partition in topic.partitions:
            target += committed.pack(partition.partition_index, partition.error_code)
        target += dialect.tags
    return bytes(target + dialect.tags)
