"""The compacted topic of profiles: a few keys that many write over and over, in transactions and outside of them."""

from __future__ import annotations

from random import Random

from strandline.model.partitions import TopicPartition
from strandline.records.record import Record

TOPIC = "profiles"
PARTITION = TopicPartition(TOPIC, 0)
KEYS = 8
SELDOM_KEYS, SELDOM_SHARE = 8, 0.05  # and mostly deleted: a tombstone that is soon written over never comes to its end


def profile(record: Record, chance: Random, *, seldom_share: float = SELDOM_SHARE) -> Record:
    """The record with a key that others write, too, and perhaps without a value."""
    is_seldom = chance.random() < seldom_share
    number = KEYS + chance.randrange(SELDOM_KEYS) if is_seldom else chance.randrange(KEYS)
    is_deletion = chance.random() < (0.6 if is_seldom else 0.1)
    return record._replace(key=f"key {number}".encode(), value=None if is_deletion else record.value)
