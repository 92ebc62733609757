"""Walking the batches of a segment file.

Three walks, from cheap to thorough: `find_batch` peeks at 27 bytes of each batch to find one offset (the short scan
after the sparse index, SPEC L4), `scan_heads` reads heads and jumps over bodies, `read_batches` reads whole batches in
large chunks. All of them stop with `CorruptData` at bytes that cannot be a batch; none of them verifies a CRC. Where
batches are large, one `peek_batch` often spares the walk.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct

from strandline.log.filesystem import File
from strandline.model.failures import CorruptData
from strandline.records.batch import (
    HEAD_BYTES,
    LENGTH_END,
    MAGIC_POSITION,
    MAGIC_V2,
    OFFSET_AND_LENGTH,
    SMALLEST_LENGTH,
    BatchHead,
    read_head,
)
from strandline.records.heads import head_of

PEEK = Struct(">qi4xb6xi")  # base offset, length, magic, last offset delta
PEEK_BYTES = PEEK.size
SMALLEST_BATCH_BYTES = LENGTH_END + SMALLEST_LENGTH
SCAN_BYTES = 4096  # one index interval: a find by offset is usually one read
CHUNK_BYTES = 1024 * 1024


def find_batch(
    file: File, position: int, end: int, offset: int, *, expected: range | None = None
) -> tuple[int, int] | None:
    """Position and size of the first batch from `position` on whose last offset is at or above `offset`.

    `expected` bounds the first batch's offset: it tells a good index entry from one that points at no batch.
    """
    while end - position >= SMALLEST_BATCH_BYTES:
        chunk = file.read(position, min(SCAN_BYTES, end - position))
        if len(chunk) < SMALLEST_BATCH_BYTES:
            return None  # the file is shorter than we were told: it was truncated under a reader
        at, last_whole_peek = 0, len(chunk) - PEEK_BYTES
        while at <= last_whole_peek:
            base_offset, length, magic, last_offset_delta = PEEK.unpack_from(chunk, at)
            if length < SMALLEST_LENGTH:
                raise _not_a_batch(position + at, length)
            if expected is not None:
                if base_offset not in expected or position + length + LENGTH_END > end:
                    raise CorruptData(f"no batch of offsets {expected} at position {position}")
                expected = None
            if (base_offset + last_offset_delta if magic >= MAGIC_V2 else base_offset) >= offset:
                return position + at, length + LENGTH_END
            at += length + LENGTH_END
        if at == 0:  # 26 bytes at the very end: an empty v0 message, too short for the peek
            base_offset, length = OFFSET_AND_LENGTH.unpack_from(chunk)
            return (position, length + LENGTH_END) if base_offset >= offset else None
        position += at
    return None


def peek_batch(file: File, position: int, end: int, last_offset: int, offset: int) -> tuple[int, int] | None:
    """Position and size of the batch at `position`, if it ends with `last_offset`, as an index says, and has `offset`.

    One batch of a segment at most has it, so there is no need to look at those before.
    """
    peeked = file.read(position, PEEK_BYTES)
    if len(peeked) < PEEK_BYTES:
        return None
    base_offset, length, magic, last_offset_delta = PEEK.unpack(peeked)
    if magic != MAGIC_V2 or base_offset + last_offset_delta != last_offset or not base_offset <= offset <= last_offset:
        return None
    size = length + LENGTH_END
    return (position, size) if SMALLEST_BATCH_BYTES <= size <= end - position else None


def scan_heads(file: File, position: int, end: int) -> Iterator[tuple[int, BatchHead]]:
    """Every batch head with its position; ends quietly before a batch that `end` cuts short."""
    chunk, chunk_position = b"", position
    while end - position >= SMALLEST_BATCH_BYTES:
        at = position - chunk_position
        if at + HEAD_BYTES > len(chunk):
            chunk, chunk_position, at = file.read(position, min(SCAN_BYTES, end - position)), position, 0
            if len(chunk) < SMALLEST_BATCH_BYTES:
                return
        _, length = OFFSET_AND_LENGTH.unpack_from(chunk, at)
        if length < SMALLEST_LENGTH:
            raise _not_a_batch(position, length)
        size = length + LENGTH_END
        if position + size > end:
            return
        if chunk[at + MAGIC_POSITION] == MAGIC_V2 and size >= HEAD_BYTES:
            yield position, read_head(chunk, at)
        else:
            yield position, head_of(file.read(position, size))
        position += size


def first_head(file: File, end: int) -> BatchHead | None:
    """Of the batch at the beginning, if it can be read."""
    try:
        return next((head for _, head in scan_heads(file, 0, end)), None)
    except CorruptData:
        return None


def read_batches(
    file: File, position: int, end: int, chunk_bytes: int = CHUNK_BYTES
) -> Iterator[tuple[int, memoryview]]:
    """Every whole batch with its position, read in chunks. The views share a chunk: copy what must outlive the walk."""
    wanted_bytes = chunk_bytes
    while end - position >= SMALLEST_BATCH_BYTES:
        chunk = memoryview(file.read(position, min(wanted_bytes, end - position)))
        at = 0
        while len(chunk) - at >= SMALLEST_BATCH_BYTES:
            _, length = OFFSET_AND_LENGTH.unpack_from(chunk, at)
            if length < SMALLEST_LENGTH:
                raise _not_a_batch(position + at, length)
            following = at + length + LENGTH_END
            if following > len(chunk):
                break
            yield position + at, chunk[at:following]
            at = following
        size = _size_of_cut_batch(chunk, at)
        if at == 0 and size <= wanted_bytes:
            return  # nothing whole though it was asked for: `end` cuts it short, or a truncation under a reader did
        position += at
        if size > end - position:
            return
        # What the chunk's end cut is read again: among batches of one size none will be cut from here on.
        if size:
            wanted_bytes = -(-chunk_bytes // size) * size


def _size_of_cut_batch(chunk: memoryview, at: int) -> int:
    """0 where the chunk has too little of it to tell."""
    if len(chunk) - at < SMALLEST_BATCH_BYTES:
        return 0
    _, length = OFFSET_AND_LENGTH.unpack_from(chunk, at)
    size: int = length + LENGTH_END
    return size


def _not_a_batch(position: int, length: int) -> CorruptData:
    return CorruptData(f"no batch at position {position}: its length reads {length}")
