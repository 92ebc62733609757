"""What compaction does to one batch (SPEC C6): leaves it as it is, takes records out, empties it, or drops it.

A record stays if it lies beyond what the offset map covers, or if it is the newest of its key and either has a value or
is a tombstone whose time has not come. Records without a key and records of aborted transactions go. Offsets never
change: a rewritten batch keeps its base offset, its last offset, its producer, sequence and leader epoch; the records
that stay are copied as bytes, so their offsets and timestamps are what they were.

Tombstones and transaction markers live on for `delete.retention.ms` after the first cleaning that could have dropped
them, so that a reader who is that far behind still learns of them. That moment is stored in the batch (KIP-534,
KAFKA-8522): bit 6 of the attributes is set and the base timestamp is the delete horizon; timestamps, being relative to
the base, are encoded anew that one time.

A batch is kept without records where its head alone is needed: the last data of an active producer carries its last
sequence (KAFKA-5490, KAFKA-8335), the last batch of a cleaned segment says where the segment ends (KAFKA-17076).

Messages of the formats v0 and v1 stay as they are while all their records do; otherwise what stays becomes a v2 batch,
because only that has room for offsets with gaps and for a delete horizon.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import compress
from operator import ge
from typing import NamedTuple

from strandline.log.aborted_index import AbortedTransaction
from strandline.log.cleaned_transactions import CleanedTransactions
from strandline.log.compaction_records import KeyedRecords
from strandline.log.offset_map import OffsetMap, short_key
from strandline.log.producer_entry import ProducerEntry
from strandline.records.batch import (
    DELETE_HORIZON,
    MAGIC_V2,
    NO_TIMESTAMP,
    BatchHead,
    Buffer,
    verify_batch,
)
from strandline.records.builder import build_batch, seal_batch
from strandline.records.compression import Codec, codec_of
from strandline.records.control import read_marker
from strandline.records.heads import head_of, verified_head_of
from strandline.records.record import Record, read_records, records_section
from strandline.records.varint import LONG_BITS, LONG_MAX, LONG_MIN, append_varint, decode_varint
from strandline.records.walk import COLUMNS, END, START, TIMESTAMP_DELTA, walk_records


class LastOfProducer(NamedTuple):
    """`last_data_offset` is None when only a marker is known of the epoch."""

    last_data_offset: int | None
    producer_epoch: int


def last_of_producers(entries: Iterable[ProducerEntry]) -> dict[int, LastOfProducer]:
    return {
        entry.producer_id: LastOfProducer(
            None if entry.last_batch is None else entry.last_batch.last_offset, entry.producer_epoch
        )
        for entry in entries
    }


class KeptBatch(NamedTuple):
    data: Buffer
    last_offset: int
    max_timestamp: int
    record_count: int


class CompactionFilter:
    """Batches must be shown in the order of the log, from its first segment on."""

    def __init__(
        self,
        offset_map: OffsetMap,
        transactions: CleanedTransactions,
        producers: Mapping[int, LastOfProducer],
        *,
        now_ms: int,
        delete_retention_ms: int,
    ) -> None:
        self._offset_map = offset_map
        self._latest_offset = offset_map.latest_offset
        self._transactions = transactions
        self._producers = producers
        self._now_ms = now_ms
        self._new_horizon_ms = min(now_ms + delete_retention_ms, LONG_MAX)
        self.records_read = 0
        self.aborted: list[AbortedTransaction] = []  # what the index of the cleaned segment must know

    def apply(self, batch: memoryview, *, ends_segment: bool) -> KeptBatch | None:
        head = head_of(batch)
        self.records_read += head.record_count
        if head.is_control:
            return self._apply_to_control(batch, head, ends_segment)
        is_aborted = self._transactions.is_aborted(head)
        if head.base_offset > self._latest_offset:
            return _as_it_is(batch, head)
        keeps_empty = ends_segment or self._is_last_of_producer(head)
        if head.record_count == 0:
            return _as_it_is(batch, head) if keeps_empty else None
        if is_aborted:
            return _emptied(head) if keeps_empty else None
        kept = self._apply_to_data(batch, head) if head.magic == MAGIC_V2 else self._apply_to_legacy(batch, head)
        return kept or (_emptied(head) if keeps_empty else None)

    def _is_last_of_producer(self, head: BatchHead) -> bool:
        last = self._producers.get(head.producer_id)
        return last is not None and last.last_data_offset == head.last_offset

    # Data.

    def _apply_to_data(self, batch: memoryview, head: BatchHead) -> KeptBatch | None:
        records = KeyedRecords(batch, head)
        stays = bytearray(map(ge, records.offsets, self._offset_map.newest_offsets(records.keys)))
        if records.has_null_keys:
            for index, key in enumerate(records.keys):
                if key is None:
                    stays[index] = records.offsets[index] > self._latest_offset
        has_tombstones = self._judge_tombstones(records, head, stays)
        if 1 not in stays:
            return None
        columns = records.columns
        deltas = columns[TIMESTAMP_DELTA::COLUMNS]
        earliest, latest = head.base_timestamp + min(deltas), head.base_timestamp + max(deltas)
        stamps = has_tombstones and self._may_stamp(head, earliest, latest)
        if 0 not in stays and not stamps:
            return _as_it_is(batch, head)
        latest = head.base_timestamp + max(compress(deltas, stays))
        max_timestamp = head.max_timestamp if head.is_log_append_time else max(LONG_MIN, min(latest, LONG_MAX))
        section = b"".join(_runs(records.section, columns[START::COLUMNS], columns[END::COLUMNS], stays))
        rewrite = self._stamped if stamps else _rewritten
        return rewrite(head, section, stays.count(1), max_timestamp)

    def _judge_tombstones(self, records: KeyedRecords, head: BatchHead, stays: bytearray) -> bool:
        """Take out those whose time has come; whether there are others that stay."""
        value_lengths = records.value_lengths
        if min(value_lengths) >= 0:
            return False
        horizon_ms = head.delete_horizon_ms
        has_passed = horizon_ms is not None and horizon_ms <= self._now_ms
        has_tombstones = False
        for index, length in enumerate(value_lengths):
            if length < 0 and stays[index] and records.offsets[index] <= self._latest_offset:
                stays[index] = not has_passed
                has_tombstones = True
        return has_tombstones and not has_passed

    def _may_stamp(self, head: BatchHead, min_timestamp: int, max_timestamp: int) -> bool:
        return (
            head.delete_horizon_ms is None
            # The clock of a tombstone that the map does not cover yet must not start to run.
            and head.last_offset <= self._latest_offset
            # Clients may send any timestamp; one so far from now that their distance has no place stays without.
            and min_timestamp - self._new_horizon_ms >= LONG_MIN
            and max_timestamp - self._new_horizon_ms <= LONG_MAX
        )

    def _stamped(self, head: BatchHead, section: bytes, record_count: int, max_timestamp: int) -> KeptBatch:
        """With the delete horizon as base timestamp, and the records' timestamps relative to that."""
        shifted = _shift_timestamps(section, record_count, head.base_timestamp - self._new_horizon_ms)
        stamped = head._replace(attributes=head.attributes | DELETE_HORIZON, base_timestamp=self._new_horizon_ms)
        return _rewritten(stamped, shifted, record_count, max_timestamp)

    # Markers.

    def _apply_to_control(self, batch: memoryview, head: BatchHead, ends_segment: bool) -> KeptBatch | None:
        marker = read_marker(batch)
        if marker is None:
            # Emptied before, or not a transaction's: KRaft's markers are not ours to judge.
            return _as_it_is(batch, head) if head.record_count or ends_segment else None
        has_data, aborted = self._transactions.end(head)
        if has_data and aborted is not None:
            self.aborted.append(aborted)
        if has_data or self._carries_epoch(head):
            return _as_it_is(batch, head)
        horizon_ms = head.delete_horizon_ms
        if horizon_ms is None:
            verify_batch(batch)
            section = bytes(records_section(batch))
            deltas = walk_records(section, head.record_count)[TIMESTAMP_DELTA::COLUMNS]
            if self._may_stamp(head, head.base_timestamp + min(deltas), head.base_timestamp + max(deltas)):
                return self._stamped(head, section, head.record_count, head.max_timestamp)
        if horizon_ms is None or horizon_ms > self._now_ms:
            return _as_it_is(batch, head)
        return _emptied(head) if ends_segment else None

    def _carries_epoch(self, head: BatchHead) -> bool:
        """Whether this marker is all there is to fence older epochs of its producer. It needs its record for that."""
        last = self._producers.get(head.producer_id)
        return last is not None and last.last_data_offset is None and last.producer_epoch == head.producer_epoch

    # Messages of old formats.

    def _apply_to_legacy(self, batch: memoryview, head: BatchHead) -> KeptBatch | None:
        verified_head_of(batch)
        records = list(read_records(batch))
        staying = [record for record in records if self._stays(record)]
        if not staying:
            return None
        has_tombstones = any(record.value is None for record in staying)
        timestamps = [record.timestamp for record in staying]
        stamps = has_tombstones and self._may_stamp(head, min(timestamps), max(timestamps))
        if len(staying) == len(records) and not stamps:
            return _as_it_is(batch, head)
        data = build_batch(
            staying,
            codec=codec_of(head.attributes),
            base_offset=head.base_offset,
            last_offset=head.last_offset,
            log_append_time_ms=head.max_timestamp if head.is_log_append_time else None,
            delete_horizon_ms=self._new_horizon_ms if stamps else None,
        )
        return KeptBatch(data, head.last_offset, head_of(data).max_timestamp, len(staying))

    def _stays(self, record: Record) -> bool:
        if record.offset > self._latest_offset:
            return True
        if record.key is None:
            return False
        newest_offset = self._offset_map.get(short_key(record.key))
        return newest_offset is None or record.offset >= newest_offset


def _as_it_is(batch: memoryview, head: BatchHead) -> KeptBatch:
    return KeptBatch(batch, head.last_offset, head.max_timestamp, head.record_count)


def _emptied(head: BatchHead) -> KeptBatch:
    bare = head._replace(attributes=head.attributes & ~DELETE_HORIZON, base_timestamp=NO_TIMESTAMP)
    return _rewritten(bare, b"", 0, head.max_timestamp)


def _rewritten(head: BatchHead, section: Buffer, record_count: int, max_timestamp: int) -> KeptBatch:
    data = seal_batch(
        section,
        base_offset=head.base_offset,
        last_offset_delta=head.last_offset_delta,
        base_timestamp=head.base_timestamp,
        max_timestamp=max_timestamp,
        record_count=record_count,
        attributes=head.attributes,
        codec=codec_of(head.attributes) if record_count else Codec.NONE,
        leader_epoch=head.leader_epoch,
        producer_id=head.producer_id,
        producer_epoch=head.producer_epoch,
        base_sequence=head.base_sequence,
    )
    return KeptBatch(data, head.last_offset, max_timestamp, record_count)


def _runs(section: bytes, starts: Iterable[int], ends: Iterable[int], stays: bytearray) -> Iterator[memoryview]:
    """The records that stay, neighbours in one piece."""
    view, start, end = memoryview(section), list(starts), list(ends)
    first = stays.find(1)
    while first >= 0:
        after = stays.find(0, first)
        last = (after if after >= 0 else len(stays)) - 1
        yield view[start[first] : end[last]]
        first = stays.find(1, last + 1)


def _shift_timestamps(section: bytes, record_count: int, by_ms: int) -> bytes:
    """The same records for a base timestamp that is smaller by `by_ms`: each length and timestamp written anew."""
    columns = walk_records(section, record_count)
    shifted = bytearray()
    deltas, starts, ends = columns[TIMESTAMP_DELTA::COLUMNS], columns[START::COLUMNS], columns[END::COLUMNS]
    for delta, start, end in zip(deltas, starts, ends, strict=True):
        _, attributes_at = decode_varint(section, start)
        _, rest = decode_varint(section, attributes_at + 1, LONG_BITS)
        body = bytearray(section[attributes_at : attributes_at + 1])
        append_varint(body, delta + by_ms)
        append_varint(shifted, len(body) + end - rest)
        shifted += body
        shifted += section[rest:end]
    return bytes(shifted)
