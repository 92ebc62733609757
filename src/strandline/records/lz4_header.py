"""The header checksum of an LZ4 frame, and how Kafka once got it wrong.

    magic 04 22 4D 18, flags, block descriptor, [8 bytes content size], [4 bytes dictionary id], checksum

The checksum is the second byte of the xxHash32 of what lies between the magic and it. Kafka's first writer
began the hash at the magic; messages of format v0 carry that wrong byte to this day, and their readers expect
it (KAFKA-3160).
"""

from __future__ import annotations

from strandline.model.failures import CorruptData
from strandline.records.batch import Buffer

MAGIC_BYTES = 4
HAS_CONTENT_SIZE = 0x08
HAS_DICTIONARY_ID = 0x01

PRIME_1 = 0x9E3779B1
PRIME_2 = 0x85EBCA77
PRIME_3 = 0xC2B2AE3D
PRIME_4 = 0x27D4EB2F
PRIME_5 = 0x165667B1
MASK = 0xFFFFFFFF


def with_right_checksum(frame: Buffer) -> bytearray:
    return _with_checksum(frame, hashed_from=MAGIC_BYTES)


def with_v0_checksum(frame: Buffer) -> bytearray:
    return _with_checksum(frame, hashed_from=0)


def _with_checksum(frame: Buffer, hashed_from: int) -> bytearray:
    changed = bytearray(frame)
    if len(changed) <= MAGIC_BYTES:
        raise CorruptData("lz4 data is cut short")
    flags = changed[MAGIC_BYTES]
    position = MAGIC_BYTES + 2 + (8 if flags & HAS_CONTENT_SIZE else 0) + (4 if flags & HAS_DICTIONARY_ID else 0)
    if len(changed) <= position:
        raise CorruptData("lz4 data is cut short")
    changed[position] = short_xxhash32(bytes(changed[hashed_from:position])) >> 8 & 0xFF
    return changed


def short_xxhash32(data: bytes) -> int:
    """xxHash32 with seed 0, of fewer than 16 bytes: the part of the algorithm that a header needs."""
    words_end = len(data) & ~3
    mixed = PRIME_5 + len(data)
    for position in range(0, words_end, 4):
        word = int.from_bytes(data[position : position + 4], "little")
        mixed = _rotate_left(mixed + word * PRIME_3, 17) * PRIME_4
    for byte in data[words_end:]:
        mixed = _rotate_left(mixed + byte * PRIME_5, 11) * PRIME_1
    mixed &= MASK
    mixed = (mixed ^ mixed >> 15) * PRIME_2 & MASK
    mixed = (mixed ^ mixed >> 13) * PRIME_3 & MASK
    return mixed ^ mixed >> 16


def _rotate_left(number: int, count: int) -> int:
    number &= MASK
    return (number << count | number >> (32 - count)) & MASK
