"""What a compaction would take out now, counted by reading the log twice and writing nothing.

The first reading finds the newest offset of each key in the dirty part, the second asks of every record below the
first uncleanable offset whether a newer one has its key. Two things are left out, so that the count is never too high:
transaction markers, and tombstones in message sets before v2, which have no delete horizon of their own.

The keys of the dirty part are held in memory, each as 16 bytes: a tool can afford that, a broker could not.
"""

from __future__ import annotations

from hashlib import blake2b

from strandline.log import names
from strandline.log.aborted_index import AbortedIndex
from strandline.log.cleanable import Cleanability
from strandline.log.segment_view import LogView, SegmentView
from strandline.model.lazy_dataclass import dataclass
from strandline.records.batch import BatchHead
from strandline.records.heads import head_of
from strandline.records.record import read_records

AbortedRanges = dict[int, list[tuple[int, int]]]  # by producer id: first and last offset


@dataclass(slots=True)
class RecordCount:
    """The records of one segment, markers left out. One that goes is counted under the first cause that applies."""

    records: int = 0
    aborted: int = 0
    keyless: int = 0  # of no use in a compacted log
    superseded: int = 0
    expired_tombstones: int = 0

    @property
    def going(self) -> int:
        return self.aborted + self.keyless + self.superseded + self.expired_tombstones


def count_records(log: LogView, cleanability: Cleanability) -> dict[int, RecordCount]:
    """By base offset, for each segment below the first uncleanable offset. `CorruptData` where bytes are bad."""
    dirty_from, end = cleanability.first_dirty_offset, cleanability.first_uncleanable_offset
    segments = [segment for segment in log.segments if segment.end_offset <= end and not segment.is_active]
    aborted = _aborted_ranges(segments)
    newest: dict[bytes, int] = {}
    for segment in segments:
        if segment.end_offset > dirty_from:
            _note_newest(segment, dirty_from, aborted, newest)
    return {segment.base_offset: _count(segment, aborted, newest, log.now_ms) for segment in segments}


def _aborted_ranges(segments: list[SegmentView]) -> AbortedRanges:
    ranges: AbortedRanges = {}
    for segment in segments:
        path = segment.path.removesuffix(names.LOG) + names.ABORTED_INDEX
        index = AbortedIndex(segment.filesystem, path, segment.base_offset, writable=False)
        for transaction in index.all():
            ranges.setdefault(transaction.producer_id, []).append((transaction.first_offset, transaction.last_offset))
        index.close()
    return ranges


def _is_aborted(head: BatchHead, aborted: AbortedRanges) -> bool:
    return head.is_transactional and any(
        first <= head.base_offset <= last for first, last in aborted.get(head.producer_id, ())
    )


def _note_newest(segment: SegmentView, dirty_from: int, aborted: AbortedRanges, newest: dict[bytes, int]) -> None:
    for _, batch in segment.batches():
        head = head_of(batch)
        if head.is_control or head.last_offset < dirty_from or _is_aborted(head, aborted):
            continue
        for record in read_records(batch):
            if record.key is not None and record.offset >= dirty_from:
                newest[_digest(record.key)] = record.offset


def _count(segment: SegmentView, aborted: AbortedRanges, newest: dict[bytes, int], now_ms: int) -> RecordCount:
    count = RecordCount()
    for _, batch in segment.batches():
        head = head_of(batch)
        if head.is_control:
            continue
        records = list(read_records(batch))
        count.records += len(records)
        if _is_aborted(head, aborted):
            count.aborted += len(records)
            continue
        horizon_ms = head.delete_horizon_ms
        tombstones_go = horizon_ms is not None and horizon_ms <= now_ms
        for record in records:
            if record.key is None:
                count.keyless += 1
            elif newest.get(_digest(record.key), -1) > record.offset:
                count.superseded += 1
            elif record.value is None and tombstones_go:
                count.expired_tombstones += 1
    return count


def _digest(key: bytes) -> bytes:
    return blake2b(key, digest_size=16).digest()
