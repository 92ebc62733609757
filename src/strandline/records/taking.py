"""Batches that come from a leader, verified: what is hot in a follower.

A leader's bytes are taken as they are. What a follower verifies is that they are batches, that none of their bits has
been lost on the way (CRC-32C), and that their offsets go on where its log ends. `take_batches` does so for many at
once, up to the first about which there is more to be done: another epoch, a transaction, an older format, a new
segment, or damage. That one goes the long way (`log.Log.append_replicated`): whoever stops too early here is slow, not
wrong.

Compiled where there is a compiler, and a processor with a fast CRC; a test holds the twins equal.
"""

from __future__ import annotations

from strandline.records.batch import ATTRIBUTES_POSITION, HEAD, HEAD_BYTES, LENGTH_END, MAGIC_V2
from strandline.records.crc import IS_FAST, crc32c
from strandline.records.placing import PLAIN_ATTRIBUTES_MAX, Note

try:
    from strandline.records import _native
except ImportError:  # installed where there was no C compiler
    _native = None  # type: ignore[assignment]

IS_COMPILED = IS_FAST and hasattr(_native, "take_batches")  # which an older build has not

Room = tuple[int, int, int]  # bytes left in the segment, largest offset and largest timestamp that belong there
Origin = tuple[int, int, int, int]  # producer id, producer epoch, first sequence, base offset

read_fields = HEAD.unpack_from


def take_batches_pure(
    data: memoryview, position: int, next_offset: int, leader_epoch: int, room: Room
) -> tuple[list[Note], list[Origin | None], int]:
    """Those from `position` on, up to the first that is not plain: a note of each, who sent it, and where they end.

    There are no origins if none of them has one.
    """
    if position < 0:
        raise ValueError("a position is not negative")
    bytes_left, last_offset_max, max_timestamp_max = room
    notes: list[Note] = []
    origins: list[Origin | None] = []
    while len(data) - position >= HEAD_BYTES:
        base_offset, length, epoch, magic, crc, attributes, delta, _, last_ms, *producer, count = read_fields(
            data, position
        )
        producer_id, producer_epoch, sequence = producer
        size = length + LENGTH_END
        if (
            magic != MAGIC_V2
            or not HEAD_BYTES <= size <= min(len(data) - position, bytes_left)
            or epoch != leader_epoch
            or base_offset < next_offset
            or not 0 <= attributes <= PLAIN_ATTRIBUTES_MAX
            or delta < 0
            or count < 0
            or base_offset + delta > last_offset_max
            or last_ms > max_timestamp_max
            or sequence < 0 <= producer_id
            or crc32c(data[position + ATTRIBUTES_POSITION : position + size]) != crc
        ):
            break
        if producer_id >= 0 or origins:
            origins += [None] * (len(notes) - len(origins))
            origins.append((producer_id, producer_epoch, sequence, base_offset) if producer_id >= 0 else None)
        notes.append((size, base_offset + delta, last_ms))
        next_offset = base_offset + delta + 1
        bytes_left -= size
        position += size
    return notes, origins, position


take_batches = _native.take_batches if IS_COMPILED else take_batches_pure
