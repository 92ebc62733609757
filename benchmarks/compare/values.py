"""Values to send: text as applications log it, so that a codec finds something, and not too much."""

from __future__ import annotations

import json
import random

POOL = 1000
WORDS = [
    "basket", "checkout", "delayed", "failed", "login", "order", "payment", "refund", "retry", "shipped", "timeout",
    "user", "view", "warehouse",
]  # fmt: skip


def values_of(size_bytes: int, seed: int = 1) -> list[bytes]:
    """A thousand different ones of exactly this size."""
    source = random.Random(seed)
    return [_value(source, size_bytes) for _ in range(POOL)]


def _value(source: random.Random, size_bytes: int) -> bytes:
    text = b""
    while len(text) < size_bytes:
        entry = {"id": source.getrandbits(40), "event": source.choice(WORDS), "amount": source.randrange(10**5) / 100}
        text += json.dumps(entry).encode() + b"\n"
    return text[:size_bytes]
