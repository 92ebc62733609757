"""Rows of Arrow from what a scan finds: one for each record, or one for each batch.

The fields of a batch are repeated for its records by run lengths, a whole group of batches at a time: no Python object
is made for a record. Rows of what is damaged come in groups of their own between the others, in the order of the file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from strandline.model.failures import CorruptData
from strandline.records.batch import MAGIC_V2, NO_SEQUENCE, NO_TIMESTAMP, BatchHead
from strandline.records.columns import APPEND_TIME, CREATE_TIME, NO_TIMESTAMP_TYPE, new_columns
from strandline.records.compression import Codec
from strandline.spark.arrow_decoding import GROUP_BYTES, AbortedFilter, arrow_rows, open_section
from strandline.spark.segment_options import RECORD, Wanted
from strandline.spark.segment_planning import Split
from strandline.spark.segment_scanning import Found, scan

BATCHES_AT_ONCE = 8192
SEQUENCE_MASK = pa.scalar(0x7FFF_FFFF, pa.int64())


def rows_of(split: Split, row_per: str, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    return RecordRows(split, schema).run() if row_per == RECORD else BatchRows(split, schema).run()


def _is_batch_wanted(head: BatchHead, wanted: Wanted) -> bool:
    """Of a batch only the largest timestamp is known; its smallest as well where all are the broker's."""
    if head.next_offset <= wanted.from_offset or head.base_offset >= wanted.to_offset:
        return False
    if wanted.from_timestamp_ms is not None and head.max_timestamp < wanted.from_timestamp_ms:
        return False
    return wanted.to_timestamp_ms is None or not head.is_log_append_time or head.max_timestamp < wanted.to_timestamp_ms


def _wanted_batches(split: Split) -> Iterator[Found]:
    """Everything that is damaged, and of the rest what a consumer may see."""
    filtering = None if split.aborted is None else AbortedFilter(split.aborted)
    for found in scan(split):
        if found.fault is None and found.head is not None and found.batch is not None:
            if filtering is not None and (filtering.hides(found.head, found.batch) or found.head.is_control):
                continue
            if not _is_batch_wanted(found.head, split.wanted):
                continue
        yield found


# Of a head that can be read, whether its batch is damaged or not.
HEAD_VALUES: dict[str, Callable[[BatchHead], Any]] = {
    "baseOffset": lambda head: head.base_offset,
    "lastOffset": lambda head: head.last_offset,
    "recordCount": lambda head: head.record_count,
    "baseTimestamp": lambda head: None if head.delete_horizon_ms is not None else _microseconds(head.base_timestamp),
    "maxTimestamp": lambda head: _microseconds(head.max_timestamp),
    "timestampType": lambda head: timestamp_type_of(head),
    "deleteHorizon": lambda head: None if head.delete_horizon_ms is None else _microseconds(head.delete_horizon_ms),
    "magic": lambda head: head.magic,
    "codec": lambda head: codec_name(head.codec),
    "leaderEpoch": lambda head: head.leader_epoch,
    "producerId": lambda head: head.producer_id,
    "producerEpoch": lambda head: head.producer_epoch,
    "baseSequence": lambda head: head.base_sequence,
    "lastSequence": lambda head: head.last_sequence,
    "transactional": lambda head: head.is_transactional,
    "control": lambda head: head.is_control,
}
FOUND_VALUES: dict[str, Callable[[Found], Any]] = {
    "position": lambda found: found.position,
    "sizeBytes": lambda found: found.size_bytes,
    "crcOk": lambda found: found.is_crc_right,
    "fault": lambda found: found.fault,
}
CODEC_NAMES = {codec.value: codec.name.lower() for codec in Codec}


def codec_name(codec: int) -> str:
    return CODEC_NAMES.get(codec, f"unknown ({codec})")


def timestamp_type_of(head: BatchHead) -> int:
    if head.is_log_append_time:
        return APPEND_TIME
    return CREATE_TIME if head.magic else NO_TIMESTAMP_TYPE


def _microseconds(milliseconds: int) -> int | None:
    """None where there is none, and for what no microseconds can tell, as damage may have left it."""
    return milliseconds * 1000 if milliseconds != NO_TIMESTAMP and abs(milliseconds) < 2**63 // 1000 else None


def _value(name: str, split: Split, found: Found) -> Any:
    constants: dict[str, Any] = {"topic": split.partition.topic, "partition": split.partition.partition}
    if name in constants:
        return constants[name]
    if name == "file":
        return split.path
    if name in FOUND_VALUES:
        return FOUND_VALUES[name](found)
    if name == "offset":
        return None if found.head is None else found.head.base_offset
    of_head = HEAD_VALUES.get(name)
    return None if of_head is None or found.head is None else of_head(found.head)


def _one_row_each(split: Split, schema: pa.Schema, found: list[Found]) -> pa.RecordBatch:
    columns = [pa.array([_value(field.name, split, each) for each in found], field.type) for field in schema]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


class BatchRows:
    def __init__(self, split: Split, schema: pa.Schema) -> None:
        self._split = split
        self._schema = schema

    def run(self) -> Iterator[pa.RecordBatch]:
        waiting: list[Found] = []
        for found in _wanted_batches(self._split):
            waiting.append(found._replace(batch=None))
            if len(waiting) == BATCHES_AT_ONCE:
                yield _one_row_each(self._split, self._schema, waiting)
                waiting = []
        if waiting:
            yield _one_row_each(self._split, self._schema, waiting)


class RecordRows:
    def __init__(self, split: Split, schema: pa.Schema) -> None:
        self._split = split
        self._schema = schema
        self._columns = new_columns(include_headers="headers" in schema.names)
        self._runs: list[Found] = []
        self._run_ends: list[int] = []
        self._group_bytes = 0

    def run(self) -> Iterator[pa.RecordBatch]:
        for found in _wanted_batches(self._split):
            damaged = found if found.fault is not None else self._append(found)
            if self._group_bytes >= GROUP_BYTES or damaged is not None:
                yield from self._take()
            if damaged is not None:
                yield _one_row_each(self._split, self._schema, [damaged])
        yield from self._take()

    def _append(self, found: Found) -> Found | None:
        """What is wrong after all, now that its records were looked at."""
        assert found.head is not None
        assert found.batch is not None
        wanted = self._split.wanted
        try:
            section = open_section(found.head, found.batch, wanted.from_offset, wanted.to_offset)
            self._columns.append(section.records, section.fields)
        except CorruptData as error:
            return found._replace(batch=None, fault=str(error))
        self._group_bytes += len(section.records)
        self._runs.append(found._replace(batch=None))
        self._run_ends.append(self._columns.rows)
        return None

    def _take(self) -> Iterator[pa.RecordBatch]:
        if self._columns.rows:
            yield from self._filtered(arrow_rows(self._columns.take()))
        self._runs, self._run_ends, self._group_bytes = [], [], 0

    def _filtered(self, decoded: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        columns = [self._column(field, decoded) for field in self._schema]
        rows = pa.RecordBatch.from_arrays(columns, schema=self._schema)
        mask = _time_mask(decoded.column("timestamp"), self._split.wanted)
        rows = rows if mask is None else rows.filter(mask)
        if rows.num_rows:
            yield rows

    def _column(self, field: pa.Field, decoded: pa.RecordBatch) -> pa.Array:
        if field.name in decoded.schema.names:
            return decoded.column(field.name)
        if field.name == "sequence":
            return self._sequences(decoded.column("offset"))
        if field.name in ("topic", "partition", "file", "crcOk", "fault"):  # the same for all sound rows of a split
            return pa.repeat(pa.scalar(_value(field.name, self._split, self._runs[0]), field.type), len(decoded))
        return self._repeated([_value(field.name, self._split, found) for found in self._runs], field.type)

    def _repeated(self, values: list[Any], kind: pa.DataType) -> pa.Array:
        """Each value as often as its batch has rows."""
        if values.count(values[0]) == len(values):
            return pa.repeat(pa.scalar(values[0], kind), self._run_ends[-1])
        slots = [index for index, end in enumerate(self._run_ends) if end > (self._run_ends[index - 1] if index else 0)]
        run_ends = pa.array([self._run_ends[index] for index in slots], pa.int32())
        of_runs = pa.RunEndEncodedArray.from_arrays(run_ends, pa.array(slots, pa.int32()))
        return pa.array(values, kind).take(pc.run_end_decode(of_runs))

    def _sequences(self, offsets: pa.Array) -> pa.Array:
        """A record's is as far from the batch's first as its offset is; they wrap from 2**31 - 1 to 0."""
        heads = [found.head for found in self._runs if found.head is not None]
        has_sequence = [head.magic == MAGIC_V2 and head.base_sequence != NO_SEQUENCE for head in heads]
        if not any(has_sequence):
            return pa.repeat(pa.scalar(NO_SEQUENCE, pa.int32()), len(offsets))
        starts = self._repeated([head.base_sequence - head.base_offset for head in heads], pa.int64())
        wrapped = pc.bit_wise_and(pc.add(offsets, starts), SEQUENCE_MASK)
        sequences = pc.if_else(self._repeated(has_sequence, pa.bool_()), wrapped, pa.scalar(NO_SEQUENCE, pa.int64()))
        return sequences.cast(pa.int32())


def _time_mask(timestamps: pa.Array, wanted: Wanted) -> pa.Array | None:
    """Which rows are within the time that is wanted; None if all are."""
    mask = None
    microseconds = timestamps.view(pa.int64())
    if wanted.from_timestamp_ms is not None:
        mask = pc.greater_equal(microseconds, pa.scalar(_bounded(wanted.from_timestamp_ms), pa.int64()))
    if wanted.to_timestamp_ms is not None:
        below = pc.less(microseconds, pa.scalar(_bounded(wanted.to_timestamp_ms), pa.int64()))
        mask = below if mask is None else pc.and_(mask, below)
    return mask


def _bounded(milliseconds: int) -> int:
    most = (2**63 - 1) // 1000
    return max(-most, min(milliseconds, most)) * 1000
