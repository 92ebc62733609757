"""ListOffsets, versions 1 to 11, by hand.

    v2   isolation level, throttle time (KIP-98)        v4   leader epochs (KIP-320)
    v6   flexible                                       v10  a time limit for tiered storage (KIP-1075)

v3, v5 and v7 to v9, v11 changed meanings: below zero, a timestamp is a name. -1 is the latest offset, -2 the
earliest, -3 that of the greatest timestamp (v7), -4 the earliest on local disk (v8), -5 the latest in tiered
storage (v9), -6 the earliest not copied there yet (v11).
"""

from __future__ import annotations

from struct import Struct

from strandline.model.failures import ProtocolError
from strandline.wire.dialects import FLEXIBLE, LEGACY
from strandline.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from strandline.wire.primitives import BAD_BYTES, INT32, Buffer, malformed

FLEXIBLE_FROM = 6
EPOCHS_FROM = 4

REPLICA_AND_ISOLATION = Struct(">ib")
PARTITION_V1 = Struct(">iq")
PARTITION_V4 = Struct(">iiq")
FOUND_V1 = Struct(">ihqq")
FOUND_V4 = Struct(">ihqqi")


def decode_list_offsets_request(version: int, body: Buffer) -> ListOffsetsRequest:
    try:
        return _decode(version, body)
    except (*BAD_BYTES, ProtocolError) as cause:
        raise malformed("ListOffsetsRequest", version, cause) from None


def _decode(version: int, body: Buffer) -> ListOffsetsRequest:
    dialect = FLEXIBLE if version >= FLEXIBLE_FROM else LEGACY
    request = ListOffsetsRequest()
    if version >= 2:
        request.replica_id, request.isolation_level = REPLICA_AND_ISOLATION.unpack_from(body)
        position = REPLICA_AND_ISOLATION.size
    else:
        (request.replica_id,) = INT32.unpack_from(body)
        position = INT32.size
    topic_count, position = dialect.read_count(body, position)
    for _ in range(topic_count):
        name, position = dialect.read_string(body, position)
        partition_count, position = dialect.read_count(body, position)
        partitions = []
        for _ in range(partition_count):
            if version >= EPOCHS_FROM:
                index, epoch, timestamp = PARTITION_V4.unpack_from(body, position)
                position = dialect.skip_tags(body, position + PARTITION_V4.size)
            else:
                index, timestamp = PARTITION_V1.unpack_from(body, position)
                position, epoch = position + PARTITION_V1.size, -1
            partitions.append(ListOffsetsPartition(index, epoch, timestamp))
        position = dialect.skip_tags(body, position)
        request.topics.append(ListOffsetsTopic(name, partitions))
    if version >= 10:
        (request.timeout_ms,) = INT32.unpack_from(body, position)
        position += INT32.size
    dialect.skip_tags(body, position)
    return request


def encode_list_offsets_response(version: int, response: ListOffsetsResponse) -> bytes:
    dialect = FLEXIBLE if version >= FLEXIBLE_FROM else LEGACY
    target = bytearray(INT32.pack(response.throttle_time_ms) if version >= 2 else b"")
    target += dialect.encode_count(len(response.topics))
    for topic in response.topics:
        target += dialect.encode_string(topic.name)
        target += dialect.encode_count(len(topic.partitions))
        for found in topic.partitions:
            place = (found.partition_index, found.error_code, found.timestamp, found.offset)
            if version >= EPOCHS_FROM:
                target += FOUND_V4.pack(*place, found.leader_epoch)
            else:
                target += FOUND_V1.pack(*place)
            target += dialect.tags
        target += dialect.tags
    return bytes(target + dialect.tags)
