"""The batches in frames that are alike: Produce requests that differ in their correlation id and their records alone.

    size | api key, version | correlation id | client id … topic, partition | length, records | tags
               `before`          differs               `after`                  differs         none

The length is a varint (and one too large) and three empty tag sections follow, or it is an int32 and nothing follows:
which of them, the version says. Records are one batch of format v2, in no transaction. `broker.produce_lane` has what
this is for. It lies here because the compiled module does; a test holds the twins equal.
"""

from __future__ import annotations

from struct import Struct

from strandline.records.batch import ATTRIBUTES_POSITION, HEAD_BYTES, MAGIC_POSITION, MAGIC_V2, TRANSACTIONAL

try:
    from strandline.records import _native
except ImportError:  # installed where there was no C compiler
    _native = None  # type: ignore[assignment]

IS_COMPILED = hasattr(_native, "find_batches")  # which an older build has not
SIZE_BYTES, LENGTH_BYTES = 4, 4
CORRELATION_START, CORRELATION_END = 4, 8
TAGS_BYTES = 3  # of the partition, the topic and the request

read_start = Struct(">i4si").unpack_from  # size, before, correlation id
read_length = Struct(">i").unpack_from

Found = tuple[list[memoryview], list[int], int]  # batches, correlation ids, and where the first frame is that is not so


def find_batches_pure(
    received: memoryview, before: bytes, after: bytes, is_flexible: bool, frame_bytes_max: int
) -> Found:
    """Those of the whole frames at the beginning of `received`, up to the first that is not alike."""
    batches: list[memoryview] = []
    correlation_ids: list[int] = []
    size_min, position, end = CORRELATION_END + len(after) + HEAD_BYTES, 0, len(received)
    while end - position >= SIZE_BYTES + size_min:
        size, before_correlation, correlation_id = read_start(received, position)
        start = position + SIZE_BYTES
        if before_correlation != before or start + size > end or not size_min <= size <= frame_bytes_max:
            break
        batch = batch_after(received, start + CORRELATION_END, start + size, after, is_flexible)
        if batch is None:
            break
        batches.append(batch)
        correlation_ids.append(correlation_id)
        position = start + size
    return batches, correlation_ids, position


find_batches = _native.find_batches if IS_COMPILED else find_batches_pure


def batch_after(buffer: memoryview, position: int, end: int, after: bytes, is_flexible: bool) -> memoryview | None:
    """The batch of one frame, which ends at `end` and has its correlation id before `position`."""
    at = position + len(after)
    if end - at < HEAD_BYTES or buffer[position:at] != after:
        return None
    if is_flexible:
        length, start = _read_length(buffer, at)
        end -= TAGS_BYTES
        if start + length - 1 != end or buffer[end] or buffer[end + 1] or buffer[end + 2]:
            return None
    else:
        start = at + LENGTH_BYTES
        if read_length(buffer, at) != (end - start,):
            return None
    if (
        end - start < HEAD_BYTES
        or buffer[start + MAGIC_POSITION] != MAGIC_V2
        or buffer[start + ATTRIBUTES_POSITION + 1] & TRANSACTIONAL
    ):
        return None
    return buffer[start:end]


def _read_length(buffer: memoryview, position: int) -> tuple[int, int]:
    """A varint of up to three bytes, and where it ends. Wider ones, of more than 2 MiB, count as no length."""
    first, second, third = buffer[position], buffer[position + 1], buffer[position + 2]
    if first < 0x80:
        return first, position + 1
    if second < 0x80:
        return first & 0x7F | second << 7, position + 2
    if third < 0x80:
        return first & 0x7F | (second & 0x7F) << 7 | third << 14, position + 3
    return 0, position
