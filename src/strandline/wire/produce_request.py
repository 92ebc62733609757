"""The Produce request as a client writes it, versions 3 to 13: in parts, so that nobody copies the records.

`wire.produce` has the layout of each version, and reads it.
"""

from __future__ import annotations

from strandline.wire.dialects import FLEXIBLE, LEGACY, Dialect
from strandline.wire.messages.produce import ProduceRequest, TopicProduceData
from strandline.wire.primitives import INT32, Buffer, encode_uvarint
from strandline.wire.produce import ACKS_AND_TIMEOUT, FLEXIBLE_FROM, TOPIC_IDS_FROM


def encode_produce_request(version: int, request: ProduceRequest) -> list[Buffer]:
    """What to send, one part after another; records are parts of their own."""
    dialect = FLEXIBLE if version >= FLEXIBLE_FROM else LEGACY
    head = bytearray(dialect.encode_nullable_string(request.transactional_id))
    head += ACKS_AND_TIMEOUT.pack(request.acks, request.timeout_ms)
    head += dialect.encode_count(len(request.topic_data))
    parts: list[Buffer] = []
    for topic in request.topic_data:
        head += topic.topic_id if version >= TOPIC_IDS_FROM else dialect.encode_string(topic.name)
        head = _append_partitions(parts, head, topic, dialect)
        head += dialect.tags
    parts.append(bytes(head + dialect.tags))
    return parts


def _append_partitions(parts: list[Buffer], head: bytearray, topic: TopicProduceData, dialect: Dialect) -> bytearray:
    """Leaves behind what is still to be sent when they are."""
    head += dialect.encode_count(len(topic.partition_data))
    for partition in topic.partition_data:
        head += INT32.pack(partition.index)
        length = -1 if partition.records is None else len(partition.records)
        head += encode_uvarint(length + 1) if dialect is FLEXIBLE else INT32.pack(length)
        if partition.records is not None:
            parts += (bytes(head), partition.records)
            head = bytearray()
        head += dialect.tags
    return head
