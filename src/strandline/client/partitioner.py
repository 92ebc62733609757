"""Which partition a record goes to: by its key, as Kafka's Java client does it, or to any for a while without one.

Every client must send a key to the same partition, or the order of what belongs together is lost. Java's hash is
MurmurHash2 with a seed of its own (librdkafka calls it `murmur2_random`). Records without a key stay with a partition
until about a batch has gone there, then with another: few full batches instead of many small ones (KIP-480).
"""

from __future__ import annotations

import random
from struct import iter_unpack

SEED = 0x9747B28C
MULTIPLIER = 0x5BD1E995
SHIFT = 24
WORD = 0xFFFFFFFF


def murmur2(data: bytes) -> int:
    """The hash as an unsigned number of 32 bits."""
    length = len(data)
    result = SEED ^ length
    whole = length & ~3
    for (word,) in iter_unpack("<I", data[:whole]):
        mixed = word * MULTIPLIER & WORD
        mixed = (mixed ^ mixed >> SHIFT) * MULTIPLIER & WORD
        result = result * MULTIPLIER & WORD ^ mixed
    tail = data[whole:]
    if tail:
        result = (result ^ int.from_bytes(tail, "little")) * MULTIPLIER & WORD
    result = (result ^ result >> 13) * MULTIPLIER & WORD
    return result ^ result >> 15


def partition_of_key(key: bytes, partition_count: int) -> int:
    return (murmur2(key) & 0x7FFFFFFF) % partition_count


class StickyChoice:
    """For the records of one topic that have no key."""

    def __init__(self, bytes_each: int) -> None:
        self._bytes_each = max(1, bytes_each)
        self._partition = -1
        self._left_bytes = 0

    def choose(self, partition_count: int, record_bytes: int) -> int:
        if self._left_bytes <= 0 or self._partition >= partition_count:
            others = [index for index in range(partition_count) if index != self._partition]
            self._partition = random.choice(others or [0])
            self._left_bytes = self._bytes_each
        self._left_bytes -= record_bytes
        return self._partition
