"""The little that the coordinator reads of what consumers tell each other through it.

A consumer's subscription, which is opaque to the group protocol, begins in all its versions with an int16 version and
an array of topic names. Knowing the topics keeps their offsets from expiring while they are read (KIP-211).
"""

from __future__ import annotations

from strandline.model.failures import CorruptData
from strandline.records.layouts import INT16, Array, Dialect, Source, Text

CONSUMER_PROTOCOL_TYPE = "consumer"
TOPICS = Array(Text())


def subscribed_topics(subscription: bytes) -> frozenset[str] | None:
    """None where the bytes are not a consumer's subscription; clients may put there what they like."""
    source = Source(subscription)
    try:
        version = INT16.unpack(source.take(INT16.size))[0]
        return frozenset(TOPICS.take(source, Dialect(version, flexible=False)) or ())
    except CorruptData:
        return None
