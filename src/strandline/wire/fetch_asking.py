"""Fetch as those see it who ask: the request to bytes and the response from them, by hand, for followers above all.

A follower asks once for every record that somebody waits for with acks=all, so both are hot there: versions 15 to 18,
in their plain form. Whatever is particular (older versions, aborted transactions, a diverging epoch, leaders that have
moved) is left to the plain way of `codec`, which gives the same values. The other side of both is in `fetch_request`
and `fetch_response`.
"""

from __future__ import annotations

from struct import Struct
from typing import NamedTuple

from strandline.model.failures import ProtocolError
from strandline.wire.codec import decode, encode, tags_writer
from strandline.wire.fetch_request import HEAD_V15, PARTITION_V12, REPLICA_STATE_FROM
from strandline.wire.fetch_response import ONE, ONLY_PARTITION_V13, SESSION
from strandline.wire.fetch_response import PARTITION_V12 as ANSWERED_PARTITION
from strandline.wire.messages.fetch import (
    EpochEndOffset,
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    LeaderIdAndEpoch,
    PartitionData,
    ReplicaState,
    SnapshotId,
)
from strandline.wire.primitives import (
    BAD_BYTES,
    NO_UUID,
    TAGS_NONE,
    Buffer,
    encode_compact_count,
    malformed,
    read_compact_present_count,
    read_uvarint,
    take,
)

NO_HIGH_WATERMARK = 2**63 - 1
NONE_FORGOTTEN = NO_RACK = b"\1"
UUID_BYTES = 16
LONGEST_UVARINT_BYTES = 5
REPLICA_STATE_TAG = Struct(">BBBiqB")  # one tag, its number, its size, replica id, broker epoch, no tags of its own
NO_TRANSACTIONS = 1  # that were aborted; 0 is null, more are some

# Shared, and never changed.
NO_DIVERGENCE, NO_LEADER, NO_SNAPSHOT, NO_REPLICA = EpochEndOffset(), LeaderIdAndEpoch(), SnapshotId(), ReplicaState()


def encode_fetch_request(version: int, request: FetchRequest) -> bytes:
    replica = request.replica_state
    if (
        version < REPLICA_STATE_FROM
        or request.cluster_id is not None
        or request.rack_id
        or request.forgotten_topics_data
    ):
        return encode(request, version)
    parts = [
        HEAD_V15.pack(
            request.max_wait_ms, request.min_bytes, request.max_bytes, request.isolation_level,
            request.session_id, request.session_epoch,
        ),
        encode_compact_count(len(request.topics)),
    ]  # fmt: skip
    for topic in request.topics:
        parts += [topic.topic_id, encode_compact_count(len(topic.partitions))]
        for each in topic.partitions:
            parts += [_partition(each), _partition_tags(version, each)]
        parts.append(TAGS_NONE)
    parts += [NONE_FORGOTTEN, NO_RACK]
    if replica.replica_id == NO_REPLICA.replica_id and replica.replica_epoch == NO_REPLICA.replica_epoch:
        parts.append(TAGS_NONE)
    else:
        parts.append(REPLICA_STATE_TAG.pack(1, 1, 13, replica.replica_id, replica.replica_epoch, 0))
    return b"".join(parts)


def _partition(asked: FetchPartition) -> bytes:
    return PARTITION_V12.pack(
        asked.partition,
        asked.current_leader_epoch,
        asked.fetch_offset,
        asked.last_fetched_epoch,
        asked.log_start_offset,
        asked.partition_max_bytes,
    )


def _partition_tags(version: int, asked: FetchPartition) -> bytes:
    is_plain = asked.replica_directory_id == NO_UUID and asked.high_watermark == NO_HIGH_WATERMARK
    return TAGS_NONE if is_plain else tags_writer(FetchPartition, version)(asked)


def decode_fetch_response(version: int, body: Buffer) -> FetchResponse:
    if version < REPLICA_STATE_FROM:
        return decode(FetchResponse, version, body)
    try:
        response = _read_plain(body)
    except (*BAD_BYTES, ProtocolError) as cause:
        raise malformed("FetchResponse", version, cause) from None
    return decode(FetchResponse, version, body) if response is None else response


class Beginning(NamedTuple):
    """What is there of an answer about one partition whose end is missing."""

    session_id: int
    topic_id: bytes
    partition_index: int
    records: Buffer  # so far


def read_beginning(body: Buffer) -> Beginning | None:
    """Of versions 13 and above. None where it is no plain answer about one partition, or there are no records yet."""
    if len(body) < ONLY_PARTITION_V13.size + LONGEST_UVARINT_BYTES:
        return None
    (
        _, error_code, session_id, topic_count, topic_id, partition_count, index, partition_error_code, *_, aborted, _,
    ) = ONLY_PARTITION_V13.unpack_from(body)  # fmt: skip
    if error_code or partition_error_code or topic_count != ONE or partition_count != ONE or aborted > NO_TRANSACTIONS:
        return None
    length, position = read_uvarint(body, ONLY_PARTITION_V13.size)
    end = position + length - 1
    return Beginning(session_id, topic_id, index, body[position:end]) if end > position else None


def _read_plain(body: Buffer) -> FetchResponse | None:
    """None where something in it is particular."""
    responses: list[FetchableTopicResponse] = []
    throttle_time_ms, error_code, session_id = SESSION.unpack_from(body)
    topic_count, position = read_compact_present_count(body, SESSION.size)
    for _ in range(topic_count):
        topic_id = bytes(body[position : position + UUID_BYTES])
        partition_count, position = read_compact_present_count(body, position + UUID_BYTES)
        partitions: list[PartitionData] = []
        for _ in range(partition_count):
            index, error, high, stable, start, aborted, preferred = ANSWERED_PARTITION.unpack_from(body, position)
            if aborted > NO_TRANSACTIONS:
                return None
            length, position = read_uvarint(body, position + ANSWERED_PARTITION.size)
            end = position if length == 0 else take(body, position, length - 1)
            if body[end]:
                return None
            partitions.append(
                PartitionData(
                    index, error, high, stable, start, NO_DIVERGENCE, NO_LEADER, NO_SNAPSHOT,
                    [] if aborted else None, preferred, None if length == 0 else body[position:end],
                )
            )  # fmt: skip
            position = end + 1
        if body[position]:
            return None
        position += 1
        responses.append(FetchableTopicResponse("", topic_id, partitions))
    if body[position]:
        return None
    return FetchResponse(throttle_time_ms, error_code, session_id, responses)
