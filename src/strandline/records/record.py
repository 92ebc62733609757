"""The records of a batch, one by one, whatever its format and codec.

Only readers that must see records come here (compaction, look-ups by timestamp, the dump); the broker's own
path stops at the head. Nothing here checks the CRC: `records.heads.verified_head_of` does.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from strandline.model.failures import CorruptData
from strandline.records.batch import HEAD_BYTES, MAGIC_V2, BatchHead, Buffer, magic_of, read_head
from strandline.records.compression import DECOMPRESSED_BYTES_MAX, Codec, codec_of, decompress
from strandline.records.varint import LONG_MAX, LONG_MIN, decode_varint
from strandline.records.walk import COLUMNS, walk_records

Headers = tuple[tuple[str, bytes | None], ...]


class Record(NamedTuple):
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    # A key that is not UTF-8 comes with surrogate escapes, and is written back as the bytes it was.
    headers: Headers = ()


def read_records(batch: Buffer, max_bytes: int = DECOMPRESSED_BYTES_MAX) -> Iterator[Record]:
    """The records of one whole batch of any format; nothing is decompressed before the first is asked for."""
    if magic_of(batch) == MAGIC_V2:
        return _read_records_v2(batch, max_bytes)
    # Here, because `legacy` builds on this module.
    from strandline.records.legacy import read_legacy_records

    return read_legacy_records(batch, max_bytes)


def records_section(batch: Buffer, max_bytes: int = DECOMPRESSED_BYTES_MAX) -> bytes | memoryview:
    """The records of one whole v2 batch, decompressed, for `walk_records`; a view where there is no codec."""
    return section_of(_whole_head(batch), batch, max_bytes)


def read_headers(section: Buffer, position: int, count: int) -> Headers:
    """The headers that `walk_records` found at `position`."""
    headers = []
    for _ in range(count):
        length, start = decode_varint(section, position)
        key = str(section[start : start + length], "utf-8", "surrogateescape")
        length, position = decode_varint(section, start + length)
        value = bytes(section[position : position + length]) if length >= 0 else None
        position += max(0, length)
        headers.append((key, value))
    return tuple(headers)


def _whole_head(batch: Buffer) -> BatchHead:
    head = read_head(batch)
    if head.magic != MAGIC_V2:
        raise CorruptData(f"magic {head.magic} at offset {head.base_offset} is not 2")
    if head.size_bytes != len(batch):
        raise CorruptData(f"batch at offset {head.base_offset} says {head.size_bytes} bytes, has {len(batch)}")
    return head


def section_of(head: BatchHead, batch: Buffer, max_bytes: int = DECOMPRESSED_BYTES_MAX) -> bytes | memoryview:
    """The same for who has read the head of the whole batch already."""
    section = memoryview(batch)[HEAD_BYTES:]
    codec = codec_of(head.attributes)
    # A batch that compaction emptied has no section at all, not the codec's form of nothing.
    if codec is Codec.NONE or (head.record_count == 0 and not section):
        return section
    return decompress(codec, section, max_bytes)


def _read_records_v2(batch: Buffer, max_bytes: int) -> Iterator[Record]:
    head = _whole_head(batch)
    section = bytes(section_of(head, batch, max_bytes))
    columns = iter(walk_records(section, head.record_count))
    base_offset, base_timestamp = head.base_offset, head.base_timestamp
    log_append_time = head.max_timestamp if head.is_log_append_time else None
    for (
        _,
        _,
        timestamp_delta,
        offset_delta,
        key_position,
        key_length,
        value_position,
        value_length,
        headers_position,
        header_count,
    ) in zip(*[columns] * COLUMNS, strict=True):
        timestamp = base_timestamp + timestamp_delta if log_append_time is None else log_append_time
        if not LONG_MIN <= timestamp <= LONG_MAX:
            raise CorruptData(f"timestamp {timestamp} in the batch at offset {base_offset} is out of range")
        yield Record(
            base_offset + offset_delta,
            timestamp,
            section[key_position : key_position + key_length] if key_length >= 0 else None,
            section[value_position : value_position + value_length] if value_length >= 0 else None,
            read_headers(section, headers_position, header_count) if header_count else (),
        )
