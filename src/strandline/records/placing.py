"""Batches that nothing need be said about, verified and given their place: the hottest lines of a broker.

A leader verifies the head and the CRC of each batch and sets base offset and leader epoch, which lie outside the CRC.
`place_batches` does so for many at once, up to the first about which a rule may have something to say: its size, magic,
counts, timestamps, bits that only few may set, the room in the segment. The long way (`log.admission`) finds out what,
or that there was nothing after all: whoever stops too early here is slow, not wrong.

Compiled where there is a compiler, and a processor with the crc32 instruction; a test holds the twins equal.
"""

from __future__ import annotations

from collections.abc import Sequence

from strandline.records.batch import ATTRIBUTES_POSITION, HEAD, HEAD_BYTES, LENGTH_END, MAGIC_V2, Buffer, set_place
from strandline.records.compression import Codec
from strandline.records.crc import IS_FAST, crc32c

try:
    from strandline.records import _native
except ImportError:  # installed where there was no C compiler
    _native = None  # type: ignore[assignment]

IS_COMPILED = IS_FAST and hasattr(_native, "place_batches")  # which an older build has not
PLAIN_ATTRIBUTES_MAX = int(Codec.ZSTD)  # a codec and nothing else

# Within which a batch is plain: its size, the size of all, its last offset, base timestamp (least), max timestamp.
Limits = tuple[int, int, int, int, int]
Note = tuple[int, int, int]  # size, last offset, max timestamp
Identity = tuple[int, int, int]  # producer id, producer epoch, first sequence

read_fields = HEAD.unpack_from


def place_batches_pure(
    batches: Sequence[Buffer], start: int, base_offset: int, leader_epoch: int, limits: Limits
) -> tuple[list[Note], list[Identity | None]]:
    """Place those from `start` on, up to the first that is not plain: a note of each, and who sent it.

    There are no identities if none of them has one.
    """
    if start < 0:
        raise ValueError("a position is not negative")
    size_bytes_max, bytes_left, last_offset_max, base_timestamp_min, max_timestamp_max = limits
    notes: list[Note] = []
    identities: list[Identity | None] = []
    for position in range(start, len(batches)):
        batch = batches[position]
        size = len(batch)
        if size < HEAD_BYTES:
            break
        _, length, _, magic, crc, attributes, delta, first_ms, last_ms, *producer, count = read_fields(batch)
        producer_id, epoch, sequence = producer
        last_offset = base_offset + delta
        bytes_left -= size
        if (
            magic != MAGIC_V2
            or length + LENGTH_END != size
            or size > size_bytes_max
            or bytes_left < 0
            or not 0 <= attributes <= PLAIN_ATTRIBUTES_MAX
            or not count == delta + 1 > 0
            or last_offset > last_offset_max
            or first_ms < base_timestamp_min
            or last_ms > max_timestamp_max
            or sequence < 0 <= producer_id
            or crc32c(memoryview(batch)[ATTRIBUTES_POSITION:]) != crc
        ):
            break
        try:
            set_place(batch, 0, base_offset, length, leader_epoch)
        except TypeError:
            break  # it cannot be written to, which the long way says
        if producer_id >= 0 or identities:
            identities += [None] * (len(notes) - len(identities))
            identities.append((producer_id, epoch, sequence) if producer_id >= 0 else None)
        notes.append((size, last_offset, last_ms))
        base_offset = last_offset + 1
    return notes, identities


place_batches = _native.place_batches if IS_COMPILED else place_batches_pure
