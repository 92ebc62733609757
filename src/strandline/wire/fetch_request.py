"""The Fetch request, versions 4 to 18, by hand.

    v4   replica id, wait, sizes, isolation level; partitions with their offsets (KIP-98)
    v5   the follower's log start offset (KIP-107)
    v7   sessions: id, epoch, topics to forget (KIP-227)
    v9   current leader epoch of each partition (KIP-320)
    v11  rack of the consumer (KIP-392)
    v12  flexible; last fetched epoch, to find diverging logs (KIP-595); cluster id as a tag
    v13  topics by id (KIP-516)
    v15  the replica id becomes a tag, beside its broker epoch (KIP-903)
    v17  directory of the replica, v18 its high watermark, as tags of a partition

v6, v8, v10 and v14, v16 changed the response or the errors. `replica_state` is filled in every version, so that a
handler need not ask which.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import Any

from strandline.model.failures import ProtocolError
from strandline.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic, ForgottenTopic, ReplicaState
from strandline.wire.primitives import (
    BAD_BYTES,
    NO_UUID,
    Buffer,
    encode_uvarint,
    malformed,
    read_compact_nullable_string,
    read_compact_present_count,
    read_compact_string,
    read_int32s,
    read_present_count,
    read_string,
    read_tags,
    read_uuid,
    skip_tags,
)
from strandline.wire.scalars import NUMBER_READERS

FLEXIBLE_FROM = 12
TOPIC_IDS_FROM = 13
SESSIONS_FROM = 7
REPLICA_STATE_FROM = 15
REPLICA_DIRECTORIES_FROM = 17
REPLICA_HIGH_WATERMARKS_FROM = 18

NO_HIGH_WATERMARK = 2**63 - 1

HEAD_V4 = Struct(">iiiib")  # replica id, max wait, min bytes, max bytes, isolation level
HEAD_V7 = Struct(">iiiibii")  # + session id, session epoch
HEAD_V15 = Struct(">iiibii")  # no replica id
PARTITION_V4 = Struct(">iqi")  # partition, fetch offset, max bytes
PARTITION_V5 = Struct(">iqqi")  # partition, fetch offset, log start offset, max bytes
PARTITION_V9 = Struct(">iiqqi")  # partition, leader epoch, fetch offset, log start offset, max bytes
PARTITION_V12 = Struct(">iiqiqi")  # partition, leader epoch, fetch offset, last epoch, log start offset, max bytes
REPLICA_STATE = Struct(">iq")


def decode_fetch_request(version: int, body: Buffer) -> FetchRequest:
    try:
        request, position = _read_head(version, body)
        if version >= FLEXIBLE_FROM:
            _read_flexible(version, body, position, request)
        else:
            _read_legacy(version, body, position, request)
    except (*BAD_BYTES, ProtocolError) as cause:
        raise malformed("FetchRequest", version, cause) from None
    return request


def fetch_offset_position(version: int, topic: str) -> int:
    """Where in the body the fetch offset lies of a request for one partition, versions 9 and above."""
    head = HEAD_V15 if version >= REPLICA_STATE_FROM else HEAD_V7
    name_bytes = len(topic.encode())
    if version >= TOPIC_IDS_FROM:
        before_partition = 1 + len(NO_UUID) + 1  # how many topics, which, how many partitions
    elif version >= FLEXIBLE_FROM:
        before_partition = 1 + len(encode_uvarint(name_bytes + 1)) + name_bytes + 1
    else:
        before_partition = 4 + 2 + name_bytes + 4
    return head.size + before_partition + 8  # after its index and leader epoch


def _read_head(version: int, body: Buffer) -> tuple[FetchRequest, int]:
    if version >= REPLICA_STATE_FROM:
        return FetchRequest(None, -1, ReplicaState(), *HEAD_V15.unpack_from(body)), HEAD_V15.size
    head = HEAD_V7 if version >= SESSIONS_FROM else HEAD_V4
    replica_id, *rest = head.unpack_from(body)
    return FetchRequest(None, replica_id, ReplicaState(replica_id), *rest), head.size


def _read_legacy(version: int, body: Buffer, position: int, request: FetchRequest) -> None:
    count, position = read_present_count(body, position)
    for _ in range(count):
        name, position = read_string(body, position)
        partition_count, position = read_present_count(body, position)
        partitions, position = _read_legacy_partitions(version, body, position, partition_count)
        request.topics.append(FetchTopic(name, NO_UUID, partitions))
    if version >= SESSIONS_FROM:
        count, position = read_present_count(body, position)
        for _ in range(count):
            name, position = read_string(body, position)
            partition_count, position = read_present_count(body, position)
            indexes, position = read_int32s(body, position, partition_count)
            request.forgotten_topics_data.append(ForgottenTopic(name, NO_UUID, indexes))
    if version >= 11:
        request.rack_id, position = read_string(body, position)


def _read_legacy_partitions(version: int, body: Buffer, position: int, count: int) -> tuple[list[FetchPartition], int]:
    partitions = []
    layout = PARTITION_V9 if version >= 9 else PARTITION_V5 if version >= 5 else PARTITION_V4
    epoch, log_start_offset = -1, -1
    for _ in range(count):
        if version >= 9:
            index, epoch, offset, log_start_offset, bytes_max = layout.unpack_from(body, position)
        elif version >= 5:
            index, offset, log_start_offset, bytes_max = layout.unpack_from(body, position)
        else:
            index, offset, bytes_max = layout.unpack_from(body, position)
        partitions.append(FetchPartition(index, epoch, offset, -1, log_start_offset, bytes_max))
        position += layout.size
    return partitions, position


def _read_flexible(version: int, body: Buffer, position: int, request: FetchRequest) -> None:
    count, position = read_compact_present_count(body, position)
    for _ in range(count):
        name, topic_id, position = _read_topic(version, body, position)
        partition_count, position = read_compact_present_count(body, position)
        partitions: list[FetchPartition] = []
        for _ in range(partition_count):
            partition = FetchPartition(*PARTITION_V12.unpack_from(body, position))
            position += PARTITION_V12.size
            if body[position] == 0:
                position += 1
            else:
                position = _read_partition_tags(version, body, position, partition)
            partitions.append(partition)
        position = skip_tags(body, position)
        request.topics.append(FetchTopic(name, topic_id, partitions))
    count, position = read_compact_present_count(body, position)
    for _ in range(count):
        name, topic_id, position = _read_topic(version, body, position)
        partition_count, position = read_compact_present_count(body, position)
        indexes, position = read_int32s(body, position, partition_count)
        position = skip_tags(body, position)
        request.forgotten_topics_data.append(ForgottenTopic(name, topic_id, indexes))
    request.rack_id, position = read_compact_string(body, position)
    if body[position] != 0:
        _read_request_tags(version, body, position, request)


def _read_topic(version: int, body: Buffer, position: int) -> tuple[str, bytes, int]:
    if version >= TOPIC_IDS_FROM:
        return "", bytes(body[position : position + 16]), position + 16
    name, position = read_compact_string(body, position)
    return name, NO_UUID, position


def _read_partition_tags(version: int, body: Buffer, position: int, partition: FetchPartition) -> int:
    readers = {
        tag: read
        for tag, read, since in (
            (0, read_uuid, REPLICA_DIRECTORIES_FROM),
            (1, NUMBER_READERS["int64"], REPLICA_HIGH_WATERMARKS_FROM),
        )
        if version >= since
    }
    tags, position = read_tags(body, position, readers)
    partition.replica_directory_id = tags.get(0, NO_UUID)
    partition.high_watermark = tags.get(1, NO_HIGH_WATERMARK)
    return position


def _read_request_tags(version: int, body: Buffer, position: int, request: FetchRequest) -> None:
    readers: dict[int, Callable[[Buffer, int], tuple[Any, int]]] = {0: read_compact_nullable_string}
    if version >= REPLICA_STATE_FROM:
        readers[1] = _read_replica_state
    tags, _ = read_tags(body, position, readers)
    request.cluster_id = tags.get(0)
    request.replica_state = tags.get(1, request.replica_state)


def _read_replica_state(body: Buffer, position: int) -> tuple[ReplicaState, int]:
    state = ReplicaState(*REPLICA_STATE.unpack_from(body, position))
    return state, skip_tags(body, position + REPLICA_STATE.size)
