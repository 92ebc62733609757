"""Bytes that were synced and have changed since: kept, never cut, and made walkable again (SPEC L7).

A batch is walked by three fields that its CRC does not cover: base offset, length and magic. All three can be told from
outside: the batch begins where the one before it ended, in bytes and in offsets, and ends where the next sound batch
begins. Written again, they repair a batch whose damage was there; where the damage is elsewhere, the batch stays bad,
and readers of it are told so by its CRC, but with its last offset delta set as well, what follows can be reached.
"""

from __future__ import annotations

from struct import Struct

from strandline.log.filesystem import File
from strandline.model.failures import CorruptData
from strandline.records.batch import (
    ATTRIBUTES_POSITION,
    BASE_OFFSET,
    CRC,
    CRC_POSITION,
    HEAD_BYTES,
    LAST_OFFSET_DELTA_POSITION,
    LENGTH_END,
    MAGIC_POSITION,
    MAGIC_V2,
    OFFSET_AND_LENGTH,
    BatchHead,
)
from strandline.records.crc import crc32c
from strandline.records.heads import verified_head_of

WINDOW_BYTES = 4 * 2**20
LAST_OFFSET_DELTA = Struct(">i")


def mend_batch(file: File, position: int, end: int, offsets: range, synced_offset: int) -> int | None:
    """Rewrite the walkable fields of the bad batch at `position`; returns where it ends, None if that cannot be told.

    `offsets` are those that batches may have from here on, of which the bad one has the first, unless it says another
    and is bad elsewhere. All below `synced_offset` were there once.
    """
    later = range(offsets.start + 1, offsets.stop)
    following = _end_of_bad_batch(file, position, end, later)
    if following is None:
        return None
    batch, base_offset = file.read(position, following - position), offsets.start
    if not _has_right_crc(batch):
        said_offset, length = OFFSET_AND_LENGTH.unpack_from(batch)
        if batch[MAGIC_POSITION] < MAGIC_V2 and length == len(batch) - LENGTH_END:
            return following  # an old message, which has its fields elsewhere; zeros only look like one
        head = sound_batch_at(file, following, end, later)
        next_offset = min(synced_offset, offsets.stop) if head is None else head.base_offset
        if base_offset <= said_offset < next_offset:
            base_offset = said_offset  # the damage is elsewhere, and records before it may have been compacted away
        delta = next_offset - base_offset - 1
        file.write(position + LAST_OFFSET_DELTA_POSITION, LAST_OFFSET_DELTA.pack(delta))
    file.write(position, OFFSET_AND_LENGTH.pack(base_offset, following - position - LENGTH_END))
    file.write(position + MAGIC_POSITION, bytes([MAGIC_V2]))
    return following


def _end_of_bad_batch(file: File, position: int, end: int, later: range) -> int | None:
    """By its own length if that leads to a sound batch, else at the next batch that is sound, else at the end."""
    start = file.read(position, LENGTH_END)
    if len(start) < LENGTH_END:
        return None
    by_length: int = position + LENGTH_END + OFFSET_AND_LENGTH.unpack(start)[1]
    if position + HEAD_BYTES <= by_length <= end and (
        by_length == end or sound_batch_at(file, by_length, end, later) is not None
    ):
        return by_length
    found = _next_sound_batch(file, position + HEAD_BYTES, end, later)
    if found is not None:
        return found
    return end if _has_right_crc(file.read(position, end - position)) else None


def _has_right_crc(batch: bytes) -> bool:
    if len(batch) < HEAD_BYTES:
        return False
    crc: int = CRC.unpack_from(batch, CRC_POSITION)[0]
    return crc == crc32c(memoryview(batch)[ATTRIBUTES_POSITION:])


def sound_batch_at(file: File, position: int, end: int, offsets: range) -> BatchHead | None:
    start = file.read(position, OFFSET_AND_LENGTH.size)
    if len(start) < OFFSET_AND_LENGTH.size:
        return None
    base_offset, length = OFFSET_AND_LENGTH.unpack(start)
    if base_offset not in offsets or length < HEAD_BYTES - LENGTH_END or position + LENGTH_END + length > end:
        return None
    try:
        return verified_head_of(file.read(position, LENGTH_END + length))
    except CorruptData:
        return None


def _next_sound_batch(file: File, position: int, end: int, offsets: range) -> int | None:
    """A search for the leading bytes that all base offsets in question share."""
    first, last = BASE_OFFSET.pack(offsets.start), BASE_OFFSET.pack(offsets.stop - 1)
    shared = next((count for count in range(8) if first[count] != last[count]), 8)
    while end - position >= HEAD_BYTES:
        window = file.read(position, min(WINDOW_BYTES, end - position))
        at = window.find(first[:shared])
        while at >= 0:
            if sound_batch_at(file, position + at, end, offsets) is not None:
                return position + at
            at = window.find(first[:shared], at + 1)
        position += max(1, len(window) - len(first))
    return None
