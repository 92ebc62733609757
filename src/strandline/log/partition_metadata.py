"""`partition.metadata`: which topic, by id, a partition's folder belongs to (KIP-516).

    version: 0
    topic_id: MkTRaEQ5RgqvGx4kZ9S1uA

The last line has no end, as in Kafka; one that has is read too.
"""

from __future__ import annotations

import re
from uuid import UUID

from strandline.model.failures import CorruptData
from strandline.model.ids import decode_id, encode_id

NO_ID = UUID(int=0)
VERSION_LINE = re.compile(r"version:\s+([0-9]{1,9})")
TOPIC_ID_LINE = re.compile(r"topic_id:\s+(\S+)")


def encode_partition_metadata(topic_id: UUID) -> bytes:
    return f"version: 0\ntopic_id: {encode_id(topic_id)}".encode()


def decode_partition_metadata(data: bytes) -> UUID:
    """The topic id. Versions above 0 are read as version 0, so that a newer Kafka's folder stays readable."""
    lines = data.decode(errors="replace").splitlines()
    if not lines or not VERSION_LINE.fullmatch(lines[0]):
        raise CorruptData("partition.metadata does not begin with its version")
    match = TOPIC_ID_LINE.fullmatch(lines[1]) if len(lines) > 1 else None
    if match is None:
        raise CorruptData("partition.metadata has no topic id on its second line")
    topic_id = decode_id(match[1])
    if topic_id == NO_ID:
        raise CorruptData("partition.metadata has the id that stands for no topic")
    return topic_id
