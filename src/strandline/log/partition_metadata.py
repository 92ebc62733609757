"""`partition.metadata`: which topic, by id, a partition's folder belongs to (KIP-516).

    version: 0
    topic_id: MkTRaEQ5RgqvGx4kZ9S1uA

An id is written as Kafka writes every uuid: 16 bytes in url-safe base64 without padding, 22 characters. The
last line has no end, as in Kafka; one that has is read too.
"""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from uuid import UUID

from strandline.model.failures import CorruptData

PARTITION_METADATA = "partition.metadata"
NO_ID = UUID(int=0)
ID_TEXT = re.compile(r"[A-Za-z0-9_-]{22}(==)?")
VERSION_LINE = re.compile(r"version:\s+([0-9]{1,9})")
TOPIC_ID_LINE = re.compile(r"topic_id:\s+(\S+)")


def encode_id(identity: UUID) -> str:
    return urlsafe_b64encode(identity.bytes).decode().removesuffix("==")


def decode_id(text: str) -> UUID:
    if not ID_TEXT.fullmatch(text):
        raise CorruptData(f"{text[:80]!r} is not an id of 22 base64 characters")
    return UUID(bytes=urlsafe_b64decode(text[:22] + "=="))


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
