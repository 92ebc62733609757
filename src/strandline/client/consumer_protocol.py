"""What the consumers of a group tell each other through their coordinator, which does not look inside.

    subscription  int16 version, topics, user data (v0), owned partitions (v1), generation (v2), rack (v3)
    assignment    int16 version, topics with partitions, user data

All in the protocol's old form of strings, bytes and arrays. Each version adds to the end, so that readers take what
they know. We write version 0 of the subscription: what later ones add is for assignors that we do not have.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from struct import error

from strandline.client.leaders import by_topic
from strandline.model.failures import ProtocolError
from strandline.model.partitions import TopicPartition
from strandline.wire.dialects import LEGACY
from strandline.wire.primitives import (
    INT16,
    Buffer,
    encode_count,
    encode_nullable_bytes,
    encode_string,
    read_int32s,
    read_present_count,
    read_string,
)

PROTOCOL_TYPE = "consumer"
RANGE = "range"
VERSION = 0


def encode_subscription(topics: Collection[str]) -> bytes:
    names = b"".join([encode_string(topic) for topic in sorted(topics)])
    return INT16.pack(VERSION) + encode_count(len(topics)) + names + encode_nullable_bytes(None)


def decode_subscription(data: Buffer) -> list[str]:
    """The topics of a subscription of any version; none where the bytes are something else."""
    try:
        count, position = read_present_count(data, INT16.size)
        topics = []
        for _ in range(count):
            topic, position = read_string(data, position)
            topics.append(topic)
    except (ProtocolError, error, IndexError, UnicodeDecodeError):
        return []
    return topics


def encode_assignment(partitions: Collection[TopicPartition]) -> bytes:
    grouped = by_topic(sorted(partitions))
    target = bytearray(INT16.pack(VERSION) + encode_count(len(grouped)))
    for topic, indexes in grouped.items():
        target += encode_string(topic) + LEGACY.encode_int32s(indexes)
    return bytes(target + encode_nullable_bytes(None))


def decode_assignment(data: Buffer) -> list[TopicPartition]:
    """None where there are no bytes: a member without a share."""
    if not data:
        return []
    try:
        count, position = read_present_count(data, INT16.size)
        partitions = []
        for _ in range(count):
            topic, position = read_string(data, position)
            partition_count, position = read_present_count(data, position)
            indexes, position = read_int32s(data, position, partition_count)
            partitions += [TopicPartition(topic, index) for index in indexes]
    except (ProtocolError, error, IndexError, UnicodeDecodeError) as cause:
        raise ProtocolError(f"the bytes are not an assignment: {cause}") from None
    return partitions


def assign_range(
    subscriptions: Mapping[str, Collection[str]], partition_counts: Mapping[str, int]
) -> dict[str, list[TopicPartition]]:
    """Of every topic, each member gets a run of neighbouring partitions, the first ones one more if need be."""
    shares: dict[str, list[TopicPartition]] = {member_id: [] for member_id in subscriptions}
    for topic in sorted({topic for topics in subscriptions.values() for topic in topics}):
        readers = sorted(member_id for member_id, topics in subscriptions.items() if topic in topics)
        share, left_over = divmod(partition_counts.get(topic, 0), len(readers))
        first = 0
        for place, member_id in enumerate(readers):
            end = first + share + (place < left_over)
            shares[member_id] += [TopicPartition(topic, index) for index in range(first, end)]
            first = end
    return shares
