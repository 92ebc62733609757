"""Where everything lies in an uncompressed section of v2 records, found in one pass and copied nowhere.

    record   varint   length: bytes that follow this field
             int8     attributes, unused
             varlong  timestamp, from the base timestamp of the batch
             varint   offset, from the base offset of the batch
             varint   key length, negative for null; key
             varint   value length, negative for null; value
             varint   header count; headers
    header   varint   key length; key
             varint   value length, negative for null; value

The answer is one flat array with ten numbers per record (the columns below): integers only, so that
compaction or a look-up by timestamp touches just the records it wants. `walk_records` is the compiled twin
where there is one; the pure twin explains every refusal, and a test holds the two equal.
"""

from __future__ import annotations

from array import array

from strandline.model.failures import CorruptData, check
from strandline.records.batch import Buffer
from strandline.records.compression import DECOMPRESSED_BYTES_MAX
from strandline.records.varint import LONG_BITS, decode_varint

try:
    from strandline.records import _native
except ImportError:  # installed where there was no C compiler
    _native = None  # type: ignore[assignment]

IS_COMPILED = _native is not None

START = 0
END = 1
TIMESTAMP_DELTA = 2
OFFSET_DELTA = 3
KEY_POSITION = 4
KEY_LENGTH = 5  # -1 for null
VALUE_POSITION = 6
VALUE_LENGTH = 7  # -1 for null
HEADERS_POSITION = 8
HEADER_COUNT = 9
COLUMNS = 10

RECORD_BYTES_MIN = 7  # every field one byte, nothing in key, value and headers
HEADER_BYTES_MIN = 2
# Columns are ten times as large as the smallest records, and those compress to next to nothing: a bomb of its own.
RECORDS_MAX = DECOMPRESSED_BYTES_MAX // (COLUMNS * 8)


def walk_records(section: Buffer, count: int) -> array[int]:
    """The columns of exactly `count` records that fill `section`; `CorruptData` if they do not."""
    return walk_records_compiled(section, count) if IS_COMPILED else walk_records_pure(section, count)


def walk_records_compiled(section: Buffer, count: int) -> array[int]:
    check_count(section, count)
    columns = array("q", (0,)) * (count * COLUMNS)
    if not _native.walk_records(section, count, columns):
        walk_records_pure(section, count)
        check(False, "the compiled walk refused what the pure walk accepts")
    return columns


def walk_records_pure(section: Buffer, count: int) -> array[int]:
    check_count(section, count)
    data = bytes(section)
    columns: array[int] = array("q")
    position, last = 0, len(data) - 1
    try:
        for _ in range(count):
            position = _walk_record(data, position, columns)
    except IndexError:
        raise CorruptData(f"record at position {position} runs beyond the end of its batch") from None
    if position != last + 1:
        raise CorruptData(f"{last + 1 - position} bytes are left after {count} records")
    return columns


def check_count(section: Buffer, count: int) -> None:
    # Before anything is allocated: a count is four bytes that may say two thousand million.
    if count < 0 or count * RECORD_BYTES_MIN > len(section):
        raise CorruptData(f"{count} records do not fit in {len(section)} bytes")
    if count > RECORDS_MAX:
        raise CorruptData(f"{count} records are more than the {RECORDS_MAX} that a batch may have")


def _walk_record(data: bytes, start: int, columns: array[int]) -> int:
    # Nearly every varint is a single byte, and a call costs more than the decoding: hence the repetition.
    length = data[start]
    position = start + 1
    if length < 0x80:
        length = (length >> 1) ^ -(length & 1)
    else:
        length, position = decode_varint(data, start)
    end = position + length
    if length < RECORD_BYTES_MIN - 1 or end > len(data):
        raise CorruptData(f"record at position {start} has a length of {length}")
    position += 1

    timestamp_delta = data[position]
    if timestamp_delta < 0x80:
        timestamp_delta = (timestamp_delta >> 1) ^ -(timestamp_delta & 1)
        position += 1
    else:
        timestamp_delta, position = decode_varint(data, position, LONG_BITS)

    offset_delta = data[position]
    if offset_delta < 0x80:
        offset_delta = (offset_delta >> 1) ^ -(offset_delta & 1)
        position += 1
    else:
        offset_delta, position = decode_varint(data, position)

    key_length = data[position]
    if key_length < 0x80:
        key_length = (key_length >> 1) ^ -(key_length & 1)
        key_position = position + 1
    else:
        key_length, key_position = decode_varint(data, position)
    if key_length < 0:
        key_length = -1
        position = key_position
    else:
        position = key_position + key_length

    value_length = data[position]
    if value_length < 0x80:
        value_length = (value_length >> 1) ^ -(value_length & 1)
        value_position = position + 1
    else:
        value_length, value_position = decode_varint(data, position)
    if value_length < 0:
        value_length = -1
        position = value_position
    else:
        position = value_position + value_length

    header_count = data[position]
    if header_count == 0:
        position += 1
        headers_position = position
    else:
        header_count, headers_position = decode_varint(data, position)
        position = _walk_headers(data, headers_position, end, header_count)
    if position != end:
        raise CorruptData(f"record at position {start} has a length of {length} that its fields do not fill")
    columns.extend((start, end, timestamp_delta, offset_delta, key_position, key_length))
    columns.extend((value_position, value_length, headers_position, header_count))
    return end


def _walk_headers(data: bytes, position: int, end: int, count: int) -> int:
    if count < 0 or count * HEADER_BYTES_MIN > end - position:
        raise CorruptData(f"{count} headers do not fit in the record at position {position}")
    for _ in range(count):
        length, position = decode_varint(data, position)
        if length < 0:
            raise CorruptData(f"header key at position {position} has a length of {length}")
        length, position = decode_varint(data, position + length)
        position += max(0, length)
    return position
