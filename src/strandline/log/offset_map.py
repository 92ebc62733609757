"""The newest offset of each key, in bounded memory (SPEC C6): what compaction decides by.

A key of up to 31 bytes stands for itself; a longer one is represented by 32 bytes of BLAKE2b, which no short key can
be mistaken for. Shorter hashes are out of the question: where two keys collide, one of them loses its records.

What an entry costs is counted as CPython allocates it, and the whole never exceeds `memory_bytes * load_factor`:

    the key     33 bytes of object head, the key itself, rounded up to 16: 48 bytes for 15, 64 for 31
    the offset  32 bytes
    the table   power-of-two slots, at most two thirds used, 4 index bytes (8 beyond 2**32 slots) and two thirds of 24
                entry bytes a slot: 30 bytes an entry when full, 60 just after it has doubled. While it doubles, the
                old table is there too: 90 bytes.

That makes 110 to 186 bytes a key, 144 in the mean for keys of 16 to 31 bytes; Kafka's table has 24, and may confuse two
keys. A map with no room at all still takes one key, so that compaction always gets on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from itertools import repeat

SHORT_KEY_BYTES_MAX = 31
DIGEST_BYTES = 32
NOT_MAPPED = -1

OFFSET_OBJECT_BYTES = 32
BYTES_OBJECT_HEAD_BYTES = 33
ALLOCATION_BYTES = 16
TABLE_HEAD_BYTES = 64 + 32  # the dict itself, and the head of its table
SLOTS_MIN = 8


def short_key(key: bytes) -> bytes:
    """The key, or what stands for it."""
    return key if len(key) <= SHORT_KEY_BYTES_MAX else blake2b(key, digest_size=DIGEST_BYTES).digest()


class OffsetMap:
    """Keys given to `put`, `put_all`, `get` and `newest_offsets` have gone through `short_key`."""

    __slots__ = ("_content_bytes", "_limit_bytes", "_offsets", "_slots", "latest_offset")

    def __init__(self, memory_bytes: int, load_factor: float) -> None:
        self._limit_bytes = int(memory_bytes * load_factor)
        self._offsets: dict[bytes, int] = {}
        self._content_bytes = 0
        self._slots = SLOTS_MIN
        self.latest_offset = NOT_MAPPED  # everything up to it is reflected here, keyed or not

    def __len__(self) -> int:
        return len(self._offsets)

    @property
    def used_bytes(self) -> int:
        return self._content_bytes + table_bytes(self._slots)

    def get(self, key: bytes) -> int | None:
        return self._offsets.get(key)

    def newest_offsets(self, keys: Iterable[bytes | None]) -> Iterator[int]:
        """For each key its newest offset, or `NOT_MAPPED`."""
        return map(self._offsets.get, keys, repeat(NOT_MAPPED))  # type: ignore[arg-type]

    def put(self, key: bytes, offset: int) -> bool:
        """False if the key is new and there is no room for it."""
        offsets = self._offsets
        if key not in offsets:
            cost = entry_bytes(len(key))
            if offsets and not self._has_room(1, cost):
                return False
            self._note_added(1, cost)
        offsets[key] = offset
        return True

    def put_all(self, keys: Sequence[bytes], offsets: Iterable[int], key_bytes_max: int) -> bool:
        """All in one go; False, and nothing put, if they might not all have room: then `put` them one by one."""
        cost = entry_bytes(min(key_bytes_max, DIGEST_BYTES))
        if not self._has_room(len(keys), cost):
            return False
        before = len(self._offsets)
        self._offsets.update(zip(keys, offsets, strict=True))
        self._note_added(len(self._offsets) - before, cost, in_map=True)
        return True

    def _has_room(self, count: int, cost: int) -> bool:
        slots = slots_for(len(self._offsets) + count, self._slots)
        needed = table_bytes(slots)
        if slots > self._slots:
            needed += table_bytes(slots // 2)  # the one it grows out of
        return self._content_bytes + count * cost + needed <= self._limit_bytes

    def _note_added(self, count: int, cost: int, *, in_map: bool = False) -> None:
        self._content_bytes += count * cost
        self._slots = slots_for(len(self._offsets) + (0 if in_map else count), self._slots)


def entry_bytes(key_bytes: int) -> int:
    """A key and its offset, without their place in the table."""
    size = BYTES_OBJECT_HEAD_BYTES + key_bytes
    return size + -size % ALLOCATION_BYTES + OFFSET_OBJECT_BYTES


def slots_for(count: int, slots: int) -> int:
    while count > slots * 2 // 3:
        slots *= 2
    return slots


def table_bytes(slots: int) -> int:
    index_bytes = 1 if slots < 2**8 else 2 if slots < 2**16 else 4 if slots < 2**32 else 8
    return TABLE_HEAD_BYTES + slots * index_bytes + slots * 2 // 3 * 24
