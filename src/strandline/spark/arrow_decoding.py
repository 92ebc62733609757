"""Record batches straight into Arrow columns, with no Python object for a record on the way.

    decoder = ArrowDecoder(include_headers=True)
    decoded = decoder.decode(fetched_bytes, from_offset=7, to_offset=1000, aborted=[(producer_id, first_offset)])
    for rows in decoded.record_batches:      # pyarrow.RecordBatch in DECODED_SCHEMA, or the one with headers
        ...
    decoded.next_offset                      # where to go on reading

The columns are key, value, offset, timestamp, timestampType and headers, as Spark's Kafka connector has them: headers
are null where a record has none, timestampType is 0 for create time, 1 for log append time, -1 for messages of format
v0, which have no time (their timestamp is -1 ms). `kafka_rows` puts topic and partition between them.

What a consumer is not shown is left out: control batches, and, where `aborted` is given, the batches of aborted
transactions, by the rule of Kafka's consumer in read_committed: a transaction of a producer that begins at or below the
last offset of a batch is aborted up to the producer's next abort marker. The broker sends that list with each fetch,
along with the bytes that it is about; for bytes that begin amid a transaction it is there too.

Formats v0 and v1 take a slower way, through records. Bytes that are no batch, or one whose CRC or records are wrong,
are `CorruptData`; a batch that the end of the bytes cuts short is left for the next fetch.

A decoded `pyarrow.RecordBatch` has about `GROUP_BYTES` of records: whole batches of the log, none of them split.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import pyarrow as pa

from strandline.model.failures import CorruptData
from strandline.records.batch import (
    MAGIC_V2,
    NO_TIMESTAMP,
    BatchHead,
    Buffer,
    split_batches,
)
from strandline.records.builder import INT_MAX, encode_records
from strandline.records.columns import (
    APPEND_TIME,
    CREATE_TIME,
    NO_TIMESTAMP_TYPE,
    OFFSETS_END,
    ColumnBuffers,
    SectionFields,
    new_columns,
)
from strandline.records.control import read_marker
from strandline.records.heads import head_of, verified_head_of
from strandline.records.record import read_records, section_of

GROUP_BYTES = 2 * 2**20  # of records, uncompressed: enough rows for Spark, and little enough for the caches

HEADERS_TYPE = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
TIMESTAMP_TYPE = pa.timestamp("us", tz="UTC")
DECODED_SCHEMA = pa.schema(
    [
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("offset", pa.int64()),
        ("timestamp", TIMESTAMP_TYPE),
        ("timestampType", pa.int32()),
    ]
)
DECODED_SCHEMA_WITH_HEADERS = DECODED_SCHEMA.append(pa.field("headers", HEADERS_TYPE))
KAFKA_SCHEMA = pa.schema(
    [
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", TIMESTAMP_TYPE),
        ("timestampType", pa.int32()),
    ]
)
KAFKA_SCHEMA_WITH_HEADERS = KAFKA_SCHEMA.append(pa.field("headers", HEADERS_TYPE))


class Decoded(NamedTuple):
    record_batches: list[pa.RecordBatch]  # none of them empty
    next_offset: int  # after the last whole batch, filtered ones included; `from_offset` if there was none
    is_at_end: bool  # a batch reached `to_offset`: nothing more to read for this window


class ArrowDecoder:
    """Keeps nothing from one call to the next but a guess of how large its buffers will be."""

    def __init__(
        self, *, include_headers: bool = False, verify_crc: bool = True, group_bytes: int = GROUP_BYTES
    ) -> None:
        self.schema = DECODED_SCHEMA_WITH_HEADERS if include_headers else DECODED_SCHEMA
        self._verify_crc = verify_crc
        self._group_bytes = group_bytes
        self._columns = new_columns(include_headers=include_headers)

    def decode(
        self,
        data: Buffer,
        *,
        from_offset: int = 0,
        to_offset: int = OFFSETS_END,
        aborted: Iterable[tuple[int, int]] | None = None,
    ) -> Decoded:
        """The rows of `data` (whole batches, the last perhaps cut short) with offsets from `from_offset` up to, not
        including, `to_offset`. `aborted` are (producer id, first offset); None reads uncommitted.
        """
        filtering = None if aborted is None else AbortedFilter(aborted)
        record_batches: list[pa.RecordBatch] = []
        next_offset, group_bytes = from_offset, 0
        self._columns.take()  # what a call left behind that ended with `CorruptData`
        for batch in split_batches(data):
            head = self._head(batch)
            if head.base_offset >= to_offset:
                return self._finished(record_batches, next_offset, is_at_end=True)
            next_offset = max(next_offset, head.next_offset)
            if filtering is not None and filtering.hides(head, batch):
                continue
            if head.is_control or head.next_offset <= from_offset:
                continue
            section = open_section(head, batch, from_offset, to_offset)
            self._columns.append(section.records, section.fields)
            group_bytes += len(section.records)
            if group_bytes >= self._group_bytes:
                self._take(record_batches)
                group_bytes = 0
        return self._finished(record_batches, next_offset, is_at_end=next_offset >= to_offset)

    def _head(self, batch: memoryview) -> BatchHead:
        return verified_head_of(batch) if self._verify_crc else head_of(batch)

    def _take(self, record_batches: list[pa.RecordBatch]) -> None:
        if self._columns.rows:
            record_batches.append(arrow_rows(self._columns.take()))

    def _finished(self, record_batches: list[pa.RecordBatch], next_offset: int, *, is_at_end: bool) -> Decoded:
        self._take(record_batches)
        return Decoded(record_batches, next_offset, is_at_end)


class Section(NamedTuple):
    """The records of one batch, ready for `Columns.append`."""

    records: Buffer
    fields: SectionFields


def open_section(head: BatchHead, batch: memoryview, from_offset: int = 0, to_offset: int = OFFSETS_END) -> Section:
    """Decompressed; where there is no codec it is a view of the batch. `CorruptData` if that cannot be done."""
    if head.magic != MAGIC_V2:
        return _legacy_section(head, batch, from_offset, to_offset)
    fields = SectionFields(
        head.record_count,
        head.base_offset,
        head.base_timestamp,
        head.max_timestamp,
        head.is_log_append_time,
        APPEND_TIME if head.is_log_append_time else CREATE_TIME,
        from_offset,
        to_offset,
    )
    return Section(section_of(head, batch), fields)


def _legacy_section(head: BatchHead, message: memoryview, from_offset: int, to_offset: int) -> Section:
    """The messages of an old format as a section of the new one."""
    records = list(read_records(message))
    offsets = [record.offset for record in records]
    base_offset, base_timestamp = min(offsets), records[0].timestamp
    if max(offsets) - base_offset > INT_MAX:
        raise CorruptData(f"message offset {max(offsets)} does not follow {base_offset}")
    timestamp_type = APPEND_TIME if head.is_log_append_time else CREATE_TIME if head.magic else NO_TIMESTAMP_TYPE
    fields = SectionFields(
        len(records), base_offset, base_timestamp, NO_TIMESTAMP, False, timestamp_type, from_offset, to_offset
    )
    return Section(encode_records(records, base_offset, base_timestamp), fields)


class AbortedFilter:
    """Which batches a reader of committed data is not shown, asked in the order of the log."""

    def __init__(self, aborted: Iterable[tuple[int, int]]) -> None:
        self._upcoming = sorted(aborted, key=lambda transaction: transaction[1], reverse=True)
        self._aborting: set[int] = set()

    def hides(self, head: BatchHead, batch: Buffer) -> bool:
        if head.producer_id < 0:
            return False
        while self._upcoming and self._upcoming[-1][1] <= head.last_offset:
            self._aborting.add(self._upcoming.pop()[0])
        if head.producer_id not in self._aborting:
            return False
        if head.is_control:
            marker = read_marker(batch)
            if marker is not None and not marker.is_commit:
                self._aborting.remove(head.producer_id)
            return True
        return head.is_transactional


def arrow_rows(buffers: ColumnBuffers) -> pa.RecordBatch:
    """What the buffers hold, not copied."""
    rows = buffers.rows
    columns = [
        _array(pa.binary(), rows, buffers.key_validity, buffers.key_offsets, buffers.key_data),
        _array(pa.binary(), rows, buffers.value_validity, buffers.value_offsets, buffers.value_data),
        _array(pa.int64(), rows, None, buffers.offsets),
        _array(TIMESTAMP_TYPE, rows, None, buffers.timestamps),
        _array(pa.int32(), rows, None, buffers.timestamp_types),
    ]
    if buffers.headers_offsets is None:
        return pa.RecordBatch.from_arrays(columns, schema=DECODED_SCHEMA)
    keys = _array(pa.string(), buffers.headers, None, buffers.header_key_offsets, buffers.header_key_data)
    values = _array(
        pa.binary(),
        buffers.headers,
        buffers.header_value_validity,
        buffers.header_value_offsets,
        buffers.header_value_data,
    )
    items = pa.Array.from_buffers(HEADERS_TYPE.value_type, buffers.headers, [None], children=[_readable(keys), values])
    validity, offsets = (pa.py_buffer(each) for each in (buffers.headers_validity, buffers.headers_offsets))
    columns.append(pa.Array.from_buffers(HEADERS_TYPE, rows, [validity, offsets], children=[items]))
    return pa.RecordBatch.from_arrays(columns, schema=DECODED_SCHEMA_WITH_HEADERS)


def _array(kind: pa.DataType, rows: int, *buffers: memoryview | None) -> pa.Array:
    return pa.Array.from_buffers(kind, rows, [None if each is None else pa.py_buffer(each) for each in buffers])


def _readable(keys: pa.Array) -> pa.Array:
    """A header key that is not UTF-8 is shown as Kafka's clients show it; Spark expects text that is sound."""
    try:
        keys.validate(full=True)
    except pa.ArrowInvalid:
        raw = keys.view(pa.binary())
        return pa.array([key.decode("utf-8", "replace") for key in raw.to_pylist()], pa.string())
    return keys


def kafka_rows(decoded: pa.RecordBatch, topic: str, partition: int) -> pa.RecordBatch:
    """The rows of one partition in the schema of Spark's Kafka connector."""
    columns = decoded.columns
    constants = [pa.repeat(pa.scalar(topic), len(decoded)), pa.repeat(pa.scalar(partition, pa.int32()), len(decoded))]
    schema = KAFKA_SCHEMA if len(columns) == len(DECODED_SCHEMA) else KAFKA_SCHEMA_WITH_HEADERS
    return pa.RecordBatch.from_arrays([*columns[:2], *constants, *columns[2:]], schema=schema)
