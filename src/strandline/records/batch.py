"""The head of a record batch, format v2 (KIP-98), and how to edit it in place.

    position  size  field
           0     8  base offset
           8     4  batch length: bytes that follow this field
          12     4  partition leader epoch
          16     1  magic = 2
          17     4  CRC-32C of everything from `attributes` to the end
          21     2  attributes: bits 0-2 codec, 3 timestamp type, 4 transactional, 5 control, 6 delete horizon
          23     4  last offset delta
          27     8  base timestamp, or the delete horizon when bit 6 is set (KIP-534)
          35     8  max timestamp
          43     8  producer id
          51     2  producer epoch
          53     4  base sequence
          57     4  record count
          61        records

The base offset and the leader epoch lie outside the CRC so that a broker can set them without touching the
rest: this is what lets a produce request become file bytes with no copy. The length and the magic come at the
same place in the older message sets (`records.legacy`), which is how the formats are told apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct
from typing import NamedTuple

from strandline.model.failures import CorruptData
from strandline.records.crc import crc32c

Buffer = bytes | bytearray | memoryview

HEAD = Struct(">qiibIhiqqqhii")
HEAD_BYTES = HEAD.size  # 61
LENGTH_POSITION = 8
LENGTH_END = 12  # the batch length counts from here
LEADER_EPOCH_POSITION = 12
MAGIC_POSITION = 16
CRC_POSITION = 17
ATTRIBUTES_POSITION = 21
LAST_OFFSET_DELTA_POSITION = 23

MAGIC_V2 = 2
CODEC_MASK = 0x07
LOG_APPEND_TIME = 0x08
TRANSACTIONAL = 0x10
CONTROL = 0x20
DELETE_HORIZON = 0x40

OFFSET_MAX = 2**63 - 2  # the one after it must have a place in 64 bits too

NO_PRODUCER_ID = -1
NO_PRODUCER_EPOCH = -1
NO_SEQUENCE = -1
NO_TIMESTAMP = -1
NO_LEADER_EPOCH = -1

OFFSET_AND_LENGTH = Struct(">qi")
BASE_OFFSET = Struct(">q")
LEADER_EPOCH = Struct(">i")
PLACE = Struct(">qii")  # base offset, batch length, leader epoch
CRC = Struct(">I")
ATTRIBUTES_TO_MAX_TIMESTAMP = Struct(">hiqq")


class BatchHead(NamedTuple):
    """The thirteen fields of the head, in file order."""

    base_offset: int
    batch_length: int
    leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        return self.base_offset + self.last_offset_delta + 1

    @property
    def size_bytes(self) -> int:
        return self.batch_length + LENGTH_END

    @property
    def codec(self) -> int:
        return self.attributes & CODEC_MASK

    @property
    def is_log_append_time(self) -> bool:
        return self.attributes & LOG_APPEND_TIME != 0

    @property
    def is_transactional(self) -> bool:
        return self.attributes & TRANSACTIONAL != 0

    @property
    def is_control(self) -> bool:
        return self.attributes & CONTROL != 0

    @property
    def delete_horizon_ms(self) -> int | None:
        """When tombstones and markers of this batch may go, once a first cleaning has passed over them."""
        return self.base_timestamp if self.attributes & DELETE_HORIZON else None

    @property
    def last_sequence(self) -> int:
        """Sequences wrap from 2**31 - 1 to 0."""
        if self.base_sequence == NO_SEQUENCE:
            return NO_SEQUENCE
        return (self.base_sequence + self.last_offset_delta) & 0x7FFF_FFFF


def magic_of(batch: Buffer) -> int:
    """The format of a batch, which every format has at the same place."""
    if len(batch) <= MAGIC_POSITION:
        raise CorruptData(f"{len(batch)} bytes are too few for a batch")
    magic = batch[MAGIC_POSITION]
    if magic > MAGIC_V2:
        raise CorruptData(f"there is no batch format with magic {magic}")
    return magic


def read_head(buffer: Buffer, position: int = 0) -> BatchHead:
    """The head at `position`, which must be of format v2. Nothing but the shape is verified."""
    if len(buffer) - position < HEAD_BYTES:
        raise CorruptData(f"a batch head needs {HEAD_BYTES} bytes, {len(buffer) - position} are left")
    return BatchHead._make(HEAD.unpack_from(buffer, position))


def batch_crc(batch: Buffer) -> int:
    """CRC-32C of one whole batch, from its attributes to its end."""
    return crc32c(memoryview(batch)[ATTRIBUTES_POSITION:])


def verify_batch(batch: Buffer) -> BatchHead:
    """The head of one whole batch whose length, magic, CRC and counts hold; else `CorruptData` says which."""
    head = read_head(batch)
    if head.magic != MAGIC_V2:
        raise CorruptData(f"magic {head.magic} at offset {head.base_offset} is not 2")
    if head.size_bytes != len(batch):
        raise CorruptData(f"batch at offset {head.base_offset} says {head.size_bytes} bytes, has {len(batch)}")
    if batch_crc(batch) != head.crc:
        raise CorruptData(f"CRC of the batch at offset {head.base_offset} does not match its bytes")
    if head.last_offset_delta < 0 or head.record_count < 0:
        raise CorruptData(f"batch at offset {head.base_offset} has a negative count")
    check_offsets(head.base_offset, head.last_offset)
    return head


def check_offsets(first_offset: int, last_offset: int) -> None:
    if first_offset < 0 or last_offset > OFFSET_MAX:
        raise CorruptData(f"batch from {first_offset} to {last_offset}: there are no such offsets")


def set_base_offset(batch: bytearray | memoryview, base_offset: int, position: int = 0) -> None:
    BASE_OFFSET.pack_into(batch, position, base_offset)


def set_leader_epoch(batch: bytearray | memoryview, leader_epoch: int, position: int = 0) -> None:
    LEADER_EPOCH.pack_into(batch, position + LEADER_EPOCH_POSITION, leader_epoch)


set_place = PLACE.pack_into
"""`set_place(batch, position, base_offset, batch_length, leader_epoch)`: all that a leader sets, in one call."""


def set_max_timestamp(batch: bytearray | memoryview, max_timestamp: int, *, log_append_time: bool) -> None:
    """Change the timestamp type and the maximum of one whole batch; its CRC follows."""
    attributes, last_offset_delta, base_timestamp, _ = ATTRIBUTES_TO_MAX_TIMESTAMP.unpack_from(
        batch, ATTRIBUTES_POSITION
    )
    attributes = attributes | LOG_APPEND_TIME if log_append_time else attributes & ~LOG_APPEND_TIME
    ATTRIBUTES_TO_MAX_TIMESTAMP.pack_into(
        batch, ATTRIBUTES_POSITION, attributes, last_offset_delta, base_timestamp, max_timestamp
    )
    CRC.pack_into(batch, CRC_POSITION, batch_crc(batch))


def split_batches(buffer: Buffer) -> Iterator[memoryview]:
    """Whole batches of any format, in order; stops before a batch that is cut short at the end."""
    view = memoryview(buffer)
    position, end = 0, len(view)
    while end - position > MAGIC_POSITION:
        _, length = OFFSET_AND_LENGTH.unpack_from(view, position)
        if length < SMALLEST_LENGTH:
            raise CorruptData(f"batch length {length} at position {position} is too small to be one")
        following = position + LENGTH_END + length
        if following > end:
            return
        yield view[position:following]
        position = following


SMALLEST_LENGTH = 14  # an empty v0 message: CRC, magic, attributes, null key, null value
