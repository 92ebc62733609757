"""Sections of v2 records as columns, in the memory layout of Apache Arrow and with no object for a record.

A column of bytes is three buffers: int32 offsets, one more than there are rows; a bitmap of those that are not null,
the lowest bit first; the bytes of all rows, one after the other. A column of numbers is one buffer.

    key        offsets, bitmap, data          offset         int64
    value      offsets, bitmap, data          timestamp      int64, microseconds
                                              timestampType  int32: -1 none, 0 create time, 1 log append time
    headers    offsets, bitmap of a list (null where a record has none), whose items are
               key     offsets, data
               value   offsets, bitmap, data

Microseconds have no room for every millisecond that a record can hold. A time beyond the year 294246 becomes the
greatest that there is room for, and likewise in the past: one odd record must not stop a reader.

`CompiledColumns` and `PureColumns` are twins: the same buffers, the same refusals, held equal by a test. After a
refusal nothing of the refused section is there, and the next may be appended.
"""

from __future__ import annotations

from array import array
from typing import NamedTuple

from strandline.model.failures import CorruptData, check
from strandline.records.batch import Buffer
from strandline.records.varint import LONG_MAX, LONG_MIN, decode_varint
from strandline.records.walk import COLUMNS, check_count, walk_records_pure

try:
    from strandline.records import _native
except ImportError:  # installed where there was no C compiler
    _native = None  # type: ignore[assignment]

IS_COMPILED = hasattr(_native, "append_columns")

NO_TIMESTAMP_TYPE = -1
CREATE_TIME = 0
APPEND_TIME = 1

OFFSETS_END = 2**63 - 1  # above every offset that there is
MILLISECONDS_MAX = LONG_MAX // 1000
DONE = -1
UNSOUND = -2
# In the order of `ColumnBuffers`: a first guess for a thousand records of a hundred bytes.
FIRST_BYTES = (4096, 128, 4096, 4096, 128, 131072, 8192, 8192, 4096)
FIRST_HEADER_BYTES = (4096, 128, 1024, 1024, 1024, 128, 1024)


class SectionFields(NamedTuple):
    """What a batch says of all its records, and which of them are wanted."""

    record_count: int
    base_offset: int
    base_timestamp: int
    append_time_ms: int
    has_append_time: bool  # then it is the timestamp of every record
    timestamp_type: int
    from_offset: int = 0
    to_offset: int = OFFSETS_END  # exclusive


class ColumnBuffers(NamedTuple):
    """Each exactly as long as its rows need. Those of headers are None where none were asked for."""

    rows: int
    headers: int
    key_offsets: memoryview
    key_validity: memoryview
    key_data: memoryview
    value_offsets: memoryview
    value_validity: memoryview
    value_data: memoryview
    offsets: memoryview
    timestamps: memoryview
    timestamp_types: memoryview
    headers_offsets: memoryview | None = None
    headers_validity: memoryview | None = None
    header_key_offsets: memoryview | None = None
    header_key_data: memoryview | None = None
    header_value_offsets: memoryview | None = None
    header_value_validity: memoryview | None = None
    header_value_data: memoryview | None = None


class CompiledColumns:
    """Columns that grow by whole sections. `take` gives them away and begins anew."""

    def __init__(self, *, include_headers: bool = False) -> None:
        self._first_bytes: tuple[int, ...] = FIRST_BYTES + FIRST_HEADER_BYTES if include_headers else FIRST_BYTES
        self._begin()

    def _begin(self) -> None:
        self._cursor = array("q", (0,) * 6)
        self._buffers = tuple(map(bytearray, self._first_bytes))

    @property
    def rows(self) -> int:
        return self._cursor[0]

    def append(self, section: Buffer, fields: SectionFields) -> int:
        """Add the wanted records of one whole section; returns how many they were. `CorruptData` if it is not sound."""
        check_count(section, fields.record_count)
        rows_before = self._cursor[0]
        while (verdict := _native.append_columns(section, fields, self._cursor, self._buffers)) != DONE:
            if verdict == UNSOUND:
                PureColumns().append(section, fields)
                check(False, "the compiled columns refused what the pure ones accept")
            too_small = self._buffers[verdict]
            too_small.extend(bytes(len(too_small)))
        return self._cursor[0] - rows_before

    def take(self) -> ColumnBuffers:
        rows, headers = self._cursor[0], self._cursor[3]
        used_bytes = buffer_bytes(self._cursor)
        used = (memoryview(buffer)[:size] for buffer, size in zip(self._buffers, used_bytes, strict=False))
        taken = ColumnBuffers(rows, headers, *used)
        # What this group needed is a good guess for the next; a page more spares it a second attempt.
        self._first_bytes = tuple(size + 4096 for size in used_bytes[: len(self._buffers)])
        self._begin()
        return taken


def buffer_bytes(cursor: array[int]) -> tuple[int, ...]:
    """The size of each buffer in the order of `ColumnBuffers`."""
    rows, key_bytes, value_bytes, headers, header_key_bytes, header_value_bytes = cursor
    row_offsets, row_bits = (rows + 1) * 4, -(-rows // 8)
    header_offsets, header_bits = (headers + 1) * 4, -(-headers // 8)
    return (
        *(row_offsets, row_bits, key_bytes),
        *(row_offsets, row_bits, value_bytes),
        *(rows * 8, rows * 8, rows * 4),
        *(row_offsets, row_bits),
        *(header_offsets, header_key_bytes),
        *(header_offsets, header_bits, header_value_bytes),
    )


class PureColumns:
    """The twin that needs no compiler. It reads a section to its end before it keeps anything of it."""

    def __init__(self, *, include_headers: bool = False) -> None:
        self._include_headers = include_headers
        self._begin()

    def _begin(self) -> None:
        self._key, self._value = _BytesColumn(), _BytesColumn()
        self._offsets, self._timestamps, self._timestamp_types = array("q"), array("q"), array("i")
        self._headers_offsets, self._has_headers = array("i", (0,)), bytearray()
        self._header_key, self._header_value = _BytesColumn(), _BytesColumn()

    @property
    def rows(self) -> int:
        return len(self._offsets)

    def append(self, section: Buffer, fields: SectionFields) -> int:
        data = bytes(section)
        numbers = iter(walk_records_pure(data, fields.record_count))
        records = list(zip(*[numbers] * COLUMNS, strict=True))
        timestamps = [_timestamp(fields, timestamp_delta) for _, _, timestamp_delta, *_ in records]
        rows_before = self.rows
        for timestamp, record in zip(timestamps, records, strict=True):
            offset = fields.base_offset + record[3]
            if fields.from_offset <= offset < fields.to_offset:
                self._offsets.append(offset)
                self._timestamps.append(max(-MILLISECONDS_MAX, min(timestamp, MILLISECONDS_MAX)) * 1000)
                self._timestamp_types.append(fields.timestamp_type)
                self._append_bytes(data, *record[4:])
        return self.rows - rows_before

    def _append_bytes(
        self,
        data: bytes,
        key_position: int,
        key_length: int,
        value_position: int,
        value_length: int,
        headers_position: int,
        header_count: int,
    ) -> None:
        self._key.append(data, key_position, key_length)
        self._value.append(data, value_position, value_length)
        if not self._include_headers:
            return
        position = headers_position
        for _ in range(header_count):
            length, position = decode_varint(data, position)
            self._header_key.append(data, position, length)
            length, position = decode_varint(data, position + length)
            self._header_value.append(data, position, length)
            position += max(0, length)
        self._headers_offsets.append(self._header_key.rows)
        self._has_headers.append(header_count > 0)

    def take(self) -> ColumnBuffers:
        taken = ColumnBuffers(
            self.rows,
            self._header_key.rows,
            *self._key.buffers(),
            *self._value.buffers(),
            *(memoryview(numbers).cast("B") for numbers in (self._offsets, self._timestamps, self._timestamp_types)),
            *(self._header_buffers() if self._include_headers else ()),
        )
        self._begin()
        return taken

    def _header_buffers(self) -> tuple[memoryview, ...]:
        key_offsets, _, key_data = self._header_key.buffers()
        list_offsets = memoryview(self._headers_offsets).cast("B")
        return list_offsets, _bitmap(self._has_headers), key_offsets, key_data, *self._header_value.buffers()


class _BytesColumn:
    def __init__(self) -> None:
        self.offsets = array("i", (0,))
        self.is_there = bytearray()
        self.data = bytearray()

    @property
    def rows(self) -> int:
        return len(self.is_there)

    def append(self, source: bytes, position: int, length: int) -> None:
        self.is_there.append(length >= 0)
        self.data += source[position : position + max(0, length)]
        self.offsets.append(len(self.data))

    def buffers(self) -> tuple[memoryview, memoryview, memoryview]:
        return memoryview(self.offsets).cast("B"), _bitmap(self.is_there), memoryview(self.data)


def _bitmap(flags: bytearray) -> memoryview:
    bits = bytearray(-(-len(flags) // 8))
    for index, flag in enumerate(flags):
        bits[index // 8] |= flag << index % 8
    return memoryview(bits)


def _timestamp(fields: SectionFields, timestamp_delta: int) -> int:
    if fields.has_append_time:
        return fields.append_time_ms
    timestamp = fields.base_timestamp + timestamp_delta
    if not LONG_MIN <= timestamp <= LONG_MAX:
        raise CorruptData(f"timestamp {timestamp} in the batch at offset {fields.base_offset} is out of range")
    return timestamp


Columns = CompiledColumns | PureColumns


def new_columns(*, include_headers: bool = False) -> Columns:
    kind = CompiledColumns if IS_COMPILED else PureColumns
    return kind(include_headers=include_headers)
