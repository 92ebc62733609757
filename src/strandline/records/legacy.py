"""Message sets of the formats v0 (Kafka 0.8, 0.9) and v1 (0.10, KIP-32), which old logs still hold.

    position  size  field
           0     8  offset
           8     4  message size: bytes that follow this field
          12     4  CRC-32 (zlib's) of everything from `magic` to the end
          16     1  magic = 0 or 1
          17     1  attributes: bits 0-2 codec, 3 timestamp type (v1)
          18     8  timestamp (v1 only)
                 4  key length, negative for null; key
                 4  value length, negative for null; value

There are no batches: each message stands alone, and a compressed set is the value of one more message, its
wrapper. The wrapper has the offset of its last inner message and, in v1, the largest timestamp. Inner offsets
are absolute in v0; in v1 they count from the first (KIP-31), so that the broker need not recompress to assign
offsets: absolute = wrapper's offset - last inner offset + inner offset. Where a v1 wrapper has log append
time, all its messages have the wrapper's timestamp. Wrappers do not nest.

To the rest of the code a message, or a wrapper with all that is in it, is a batch with a made-up `BatchHead`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from struct import Struct
from typing import NamedTuple
from zlib import crc32

from strandline.model.failures import CorruptData, check
from strandline.records.batch import (
    CODEC_MASK,
    CRC,
    LENGTH_END,
    LOG_APPEND_TIME,
    MAGIC_POSITION,
    NO_LEADER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    BatchHead,
    Buffer,
    check_offsets,
    split_batches,
)
from strandline.records.builder import INT_MAX, build_batch
from strandline.records.compression import DECOMPRESSED_BYTES_MAX, Codec, codec_of, compress, decompress
from strandline.records.lz4_header import with_right_checksum, with_v0_checksum
from strandline.records.record import Record

MESSAGE_HEAD = Struct(">qiIbb")
TIMESTAMP = Struct(">q")
LENGTH = Struct(">i")
CRC_POSITION = 12
NULL_LENGTH = -1
INNER_MESSAGES_MAX = 2**20  # as objects they take twenty times the bytes that the smallest have


class Message(NamedTuple):
    """One message as it stands; `value` is the compressed set where it is a wrapper."""

    offset: int
    size: int
    crc: int
    magic: int
    attributes: int
    timestamp: int
    key: memoryview | None
    value: memoryview | None

    @property
    def log_append_time_ms(self) -> int | None:
        return self.timestamp if self.attributes & LOG_APPEND_TIME else None


class CheckedRecord(NamedTuple):
    record: Record
    crc: int
    is_valid: bool


def read_legacy_head(message: Buffer, max_bytes: int = DECOMPRESSED_BYTES_MAX) -> BatchHead:
    """A head for one whole message. That of a wrapper has its first inner offset, hence decompression."""
    return _head_from(read_message(message), max_bytes)


def verify_legacy(message: Buffer, max_bytes: int = DECOMPRESSED_BYTES_MAX) -> BatchHead:
    return _head_from(_read_verified(message), max_bytes)


def read_legacy_records(message: Buffer, max_bytes: int = DECOMPRESSED_BYTES_MAX) -> Iterator[Record]:
    yield from _records_of(read_message(message), max_bytes)


def read_checked_records(message: Buffer, max_bytes: int = DECOMPRESSED_BYTES_MAX) -> Iterator[CheckedRecord]:
    """As `read_legacy_records`, with what the CRC of each single message says of it."""
    outer = read_message(message)
    is_wrapper = outer.attributes & CODEC_MASK
    messages = split_batches(_inner_set(outer, max_bytes)) if is_wrapper else [memoryview(message)]
    for record, single in zip(_records_of(outer, max_bytes), messages, strict=True):
        (crc,) = CRC.unpack_from(single, CRC_POSITION)
        yield CheckedRecord(record, crc, crc32(single[MAGIC_POSITION:]) == crc)


def up_convert(
    message_set: Buffer, *, base_offset: int | None = None, max_bytes: int = DECOMPRESSED_BYTES_MAX
) -> list[bytearray]:
    """The same records as v2 batches. They keep their offsets, or are numbered from `base_offset` on.

    A wrapper becomes one batch of its codec; messages that follow one another uncompressed become one batch
    as long as they agree on the timestamp type. CRCs are checked: what they cover is gone afterwards.
    """
    messages = [_read_verified(message) for message in split_batches(message_set)]
    next_offset = base_offset
    batches = []
    for (codec, _, log_append_time_ms, _), group in groupby(enumerate(messages), _batch_identity):
        records = [record for _, message in group for record in _records_of(message, max_bytes)]
        if next_offset is not None:
            records = [record._replace(offset=next_offset + index) for index, record in enumerate(records)]
            next_offset += len(records)
        _check_convertible(records)
        batches.append(build_batch(records, codec=codec, log_append_time_ms=log_append_time_ms))
    return batches


def build_legacy(
    records: Iterable[Record], *, magic: int, codec: Codec = Codec.NONE, log_append_time_ms: int | None = None
) -> bytearray:
    """A message set as Kafka wrote them; one wrapper where there is a codec. Headers have no place in it."""
    check(magic in (0, 1) and codec is not Codec.ZSTD, f"no message set of magic {magic} with {codec.name}")
    records = list(records)
    check(bool(records) and not any(record.headers for record in records), "not for a message set")
    attributes = LOG_APPEND_TIME if magic == 1 and log_append_time_ms is not None else 0
    relative_to = records[0].offset if magic == 1 and codec is not Codec.NONE else 0
    messages = bytearray()
    for record in records:
        timestamp = record.timestamp if log_append_time_ms is None else log_append_time_ms
        messages += _encode_message(record.offset - relative_to, magic, attributes, timestamp, record.key, record.value)
    if codec is Codec.NONE:
        return messages
    compressed: Buffer = compress(codec, messages)
    if codec is Codec.LZ4 and magic == 0:
        compressed = with_v0_checksum(compressed)
    timestamp = max(record.timestamp for record in records) if log_append_time_ms is None else log_append_time_ms
    return _encode_message(records[-1].offset, magic, attributes | codec, timestamp, None, compressed)


def _batch_identity(numbered: tuple[int, Message]) -> tuple[Codec, int, int | None, int]:
    """Equal for neighbours that go into one batch; offset deltas of a batch have 31 bits."""
    index, message = numbered
    codec = codec_of(message.attributes)
    alone = -1 if codec is Codec.NONE else index
    return codec, alone, message.log_append_time_ms, message.offset >> 31


def _check_convertible(records: list[Record]) -> None:
    previous = records[0].offset - 1
    for record in records:
        if record.offset <= previous or record.offset - records[0].offset > INT_MAX:
            raise CorruptData(f"message offset {record.offset} does not follow {previous}")
        if record.timestamp < NO_TIMESTAMP:
            raise CorruptData(f"message at offset {record.offset} has timestamp {record.timestamp}")
        previous = record.offset


def _read_verified(message: Buffer) -> Message:
    fields = read_message(message)
    if crc32(memoryview(message)[MAGIC_POSITION:]) != fields.crc:
        raise CorruptData(f"CRC of the message at offset {fields.offset} does not match its bytes")
    return fields


def read_message(message: Buffer) -> Message:
    """One whole message as it stands; its CRC is not looked at."""
    view = memoryview(message)
    if len(view) < MESSAGE_HEAD.size:
        raise CorruptData(f"a message needs {MESSAGE_HEAD.size} bytes, {len(view)} are left")
    offset, size, crc, magic, attributes = MESSAGE_HEAD.unpack_from(view)
    if magic not in (0, 1):
        raise CorruptData(f"magic {magic} at offset {offset} is not 0 or 1")
    if size + LENGTH_END != len(view):
        raise CorruptData(f"message at offset {offset} says {size + LENGTH_END} bytes, has {len(view)}")
    position, timestamp = MESSAGE_HEAD.size, NO_TIMESTAMP
    if magic == 1:
        if len(view) < position + TIMESTAMP.size:
            raise CorruptData(f"message at offset {offset} is cut short")
        (timestamp,) = TIMESTAMP.unpack_from(view, position)
        position += TIMESTAMP.size
    else:
        attributes &= CODEC_MASK
    key, position = _read_bytes(view, position, offset)
    value, position = _read_bytes(view, position, offset)
    if position != len(view):
        raise CorruptData(f"message at offset {offset} has {len(view) - position} bytes too many")
    return Message(offset, size, crc, magic, attributes, timestamp, key, value)


def _read_bytes(view: memoryview, position: int, offset: int) -> tuple[memoryview | None, int]:
    start = position + LENGTH.size
    if start > len(view):
        raise CorruptData(f"message at offset {offset} is cut short")
    (length,) = LENGTH.unpack_from(view, position)
    if length < 0:
        return None, start
    if start + length > len(view):
        raise CorruptData(f"message at offset {offset} has a field of {length} bytes that runs beyond its end")
    return view[start : start + length], start + length


def _records_of(message: Message, max_bytes: int) -> list[Record]:
    if not message.attributes & CODEC_MASK:
        return [_record(message, message.offset, message.timestamp)]
    inner = list(_inner_messages(message, max_bytes))
    # Some versions of librdkafka send wrappers with offset 0; the inner offsets are all there is then.
    base_offset = 0
    if message.magic == 1 and message.offset != 0:
        base_offset = message.offset - inner[-1].offset
        if base_offset < 0:
            raise CorruptData(f"wrapper at offset {message.offset} ends with inner offset {inner[-1].offset}")
    if message.log_append_time_ms is not None:
        return [_record(entry, base_offset + entry.offset, message.log_append_time_ms) for entry in inner]
    return [_record(entry, base_offset + entry.offset, entry.timestamp) for entry in inner]


def _record(message: Message, offset: int, timestamp: int) -> Record:
    key, value = message.key, message.value
    return Record(offset, timestamp, None if key is None else bytes(key), None if value is None else bytes(value))


def _inner_set(wrapper: Message, max_bytes: int) -> bytes:
    codec = codec_of(wrapper.attributes)
    if wrapper.value is None or codec is Codec.ZSTD:
        raise CorruptData(f"wrapper at offset {wrapper.offset} has no value, or a codec of a later format")
    compressed: Buffer = wrapper.value
    if codec is Codec.LZ4 and wrapper.magic == 0:
        compressed = with_right_checksum(compressed)
    return decompress(codec, compressed, max_bytes)


def _inner_messages(wrapper: Message, max_bytes: int) -> Iterator[Message]:
    inner_set = _inner_set(wrapper, max_bytes)
    read_bytes = 0
    for count, message in enumerate(split_batches(inner_set)):
        if count == INNER_MESSAGES_MAX:
            raise CorruptData(f"wrapper at offset {wrapper.offset} has more than {INNER_MESSAGES_MAX} messages")
        inner = read_message(message)
        if inner.attributes & CODEC_MASK:
            raise CorruptData(f"wrapper at offset {wrapper.offset} holds another wrapper")
        read_bytes += len(message)
        yield inner
    if read_bytes != len(inner_set) or not inner_set:
        raise CorruptData(f"wrapper at offset {wrapper.offset} is empty or ends amid a message")


def _head_from(message: Message, max_bytes: int) -> BatchHead:
    records = _records_of(message, max_bytes)
    first_offset, last_offset = records[0].offset, records[-1].offset
    if not 0 <= last_offset - first_offset <= INT_MAX:
        raise CorruptData(f"message offset {last_offset} does not follow {first_offset}")
    check_offsets(first_offset, last_offset)
    return BatchHead(
        base_offset=first_offset,
        batch_length=message.size,
        leader_epoch=NO_LEADER_EPOCH,
        magic=message.magic,
        crc=message.crc,
        attributes=message.attributes & (CODEC_MASK | LOG_APPEND_TIME),
        last_offset_delta=last_offset - first_offset,
        base_timestamp=records[0].timestamp,
        max_timestamp=message.timestamp,
        producer_id=NO_PRODUCER_ID,
        producer_epoch=NO_PRODUCER_EPOCH,
        base_sequence=NO_SEQUENCE,
        record_count=len(records),
    )


def _encode_message(
    offset: int, magic: int, attributes: int, timestamp: int, key: Buffer | None, value: Buffer | None
) -> bytearray:
    message = bytearray(MESSAGE_HEAD.size)
    if magic == 1:
        message += TIMESTAMP.pack(timestamp)
    for field in (key, value):
        message += LENGTH.pack(NULL_LENGTH if field is None else len(field))
        message += field or b""
    MESSAGE_HEAD.pack_into(message, 0, offset, len(message) - LENGTH_END, 0, magic, attributes)
    CRC.pack_into(message, CRC_POSITION, crc32(memoryview(message)[MAGIC_POSITION:]))
    return message
