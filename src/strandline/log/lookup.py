"""Finding things in the segments of a log: by offset, by timestamp, aborted transactions (SPEC L4-L6, P3)."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

from strandline.log import index_truth
from strandline.log.aborted_index import AbortedTransaction
from strandline.log.log_slice import LogSlice
from strandline.log.segment import Segment
from strandline.log.segments import Segments
from strandline.model.failures import CorruptData, TooLargeDecompressed
from strandline.records.batch import HEAD_BYTES, MAGIC_V2, NO_TIMESTAMP, BatchHead, magic_of, read_head
from strandline.records.heads import head_of
from strandline.records.record import read_records

# A batch that grows beyond this is found as a whole: looking into it would hold up everybody for one who asks.
LOOKUP_BYTES_MAX = 32 * 2**20

new_tuple = tuple.__new__  # half the price of calling the class


class TimestampOffset(NamedTuple):
    """A record found by time, with the leader epoch it was written in."""

    timestamp: int
    offset: int
    leader_epoch: int


def read_slice(segments: Segments, offset: int, max_bytes: int, *, max_offset: int, log_end_offset: int) -> LogSlice:
    """From the batch that holds `offset`: up to `max_bytes`, always one batch, nothing at or above `max_offset`.

    The limits are taken once, by the caller: reading them again while data arrives is how readers got to see
    uncommitted records (KAFKA-9807, 9835).
    """
    active = segments.active
    position = active.read_ends.get(offset)  # by those who follow the end of the log, mostly
    if position is not None:
        end = active.size_bytes if max_offset >= log_end_offset else active.read_ends.get(max_offset, 0)
        if 0 < end - position <= max_bytes:
            if end == active.size_bytes:
                active.read_ends.note(log_end_offset, active.size_bytes)
            return LogSlice(active.file, position, end - position)
    found_slice = _find_slice(segments, offset, max_bytes, max_offset, log_end_offset)
    if found_slice.file is active.file and found_slice.position + found_slice.length == active.size_bytes:
        active.read_ends.note(log_end_offset, active.size_bytes)
    return found_slice


def _find_slice(segments: Segments, offset: int, max_bytes: int, max_offset: int, log_end_offset: int) -> LogSlice:
    segment = segments.active
    if offset < segment.base_offset:
        segment = segments.holding(offset)
    while True:
        file = segment.file
        # What the kernel read ahead for somebody far behind would pass for what others use, and stay (SPEC P5).
        file.read_nothing_ahead()
        found = segment.position_of(offset)
        if found is not None:
            break
        following = segments.after(segment)  # compaction emptied the rest of this one
        if following is None:
            return LogSlice(file, segment.size_bytes, 0)
        segment = following
    position, length = found  # of the first batch
    if length < max_bytes:
        length = max_bytes
    end = segment.size_bytes if max_offset >= log_end_offset else _end_before(segment, max_offset)
    if length > end - position:
        length = max(0, end - position)
    return new_tuple(LogSlice, (file, position, length))


def _end_before(segment: Segment, max_offset: int) -> int:
    """Where the batches end that lie wholly below an offset."""
    limit = segment.position_of(max_offset) if max_offset >= segment.base_offset else (0, 0)
    return limit[0] if limit is not None else segment.size_bytes


def batch_start(segment: Segment, offset: int) -> int:
    """The base offset of the batch that holds `offset`; the offset itself where none does."""
    found = segment.position_of(offset)
    head = next(segment.heads(found[0]), None) if found else None
    return min(offset, head[1].base_offset) if head else offset


class FoundBatch(NamedTuple):
    """A batch, and where it lies."""

    segment_base_offset: int
    position: int
    head: BatchHead


def find_batch(segments: Segments, offset: int) -> FoundBatch | None:
    """The batch that holds `offset`; None if compaction has left no record at or after it there."""
    for segment in segments.from_offset(offset):
        found = segment.position_of(offset)
        if found is not None:
            position, batch_bytes = found
            head = head_of(segment.file.read(position, batch_bytes))
            return FoundBatch(segment.base_offset, position, head) if head.base_offset <= offset else None
    return None


def find_by_timestamp(segments: Segments, timestamp: int, log_start_offset: int) -> TimestampOffset | None:
    """The first record whose timestamp is at or after the one asked for."""
    for segment in segments.from_offset(log_start_offset):
        if segment.max_timestamp >= timestamp:
            found = _find_in_segment(segment, timestamp, log_start_offset)
            if found is not None:
                return found
    return None


def _find_in_segment(segment: Segment, timestamp: int, from_offset: int) -> TimestampOffset | None:
    """The first record at or after both bounds, looked up inside batches."""
    entry = segment.time_index.lookup(timestamp)
    if not index_truth.is_time_entry_true(segment, entry):
        segment.rebuild_indexes()
        entry = segment.time_index.lookup(timestamp)
    found = segment.position_of(max(entry[1], from_offset))
    for at, head in segment.heads(found[0]) if found else ():
        if head.max_timestamp < timestamp or head.last_offset < from_offset:
            continue
        try:
            for record in read_records(segment.file.read(at, head.size_bytes), LOOKUP_BYTES_MAX):
                if record.timestamp >= timestamp and record.offset >= from_offset:
                    return TimestampOffset(record.timestamp, record.offset, head.leader_epoch)
        except TooLargeDecompressed:
            return TimestampOffset(head.base_timestamp, max(head.base_offset, from_offset), head.leader_epoch)
        except CorruptData:
            continue  # its CRC holds, its records do not: what one client sent must not end everybody's search
    return None


def find_max_timestamp(segments: Segments, log_start_offset: int) -> TimestampOffset | None:
    """The first record that carries the largest timestamp of the log (KIP-734, KAFKA-16310)."""
    candidates = segments.from_offset(log_start_offset)
    best: TimestampOffset | None = None
    for segment in sorted(candidates, key=lambda each: each.max_timestamp, reverse=True):
        if segment.max_timestamp < (0 if best is None else best.timestamp):
            break
        found = _find_in_segment(segment, segment.max_timestamp, log_start_offset)
        # A segment's largest may be of a record below the log start, or of a batch that compaction has emptied.
        found = found or _find_in_segment(segment, max_timestamp_from(segment, log_start_offset), log_start_offset)
        if found is not None and (best is None or (-found.timestamp, found.offset) < (-best.timestamp, best.offset)):
            best = found
    return best


def max_timestamp_from(segment: Segment, offset: int) -> int:
    """The largest timestamp of the records at or after `offset`: a scan over the whole segment."""
    largest = NO_TIMESTAMP
    for position, head in segment.heads():
        if head.last_offset < offset or head.max_timestamp <= largest or head.record_count == 0:
            continue
        if head.base_offset >= offset:
            largest = head.max_timestamp
        else:
            records = read_records(segment.file.read(position, head.size_bytes), LOOKUP_BYTES_MAX)
            with suppress(TooLargeDecompressed):
                largest = max((each.timestamp for each in records if each.offset >= offset), default=largest)
    return largest


def upper_bound_of(segments: Segments, offset: int, found: LogSlice, log_end_offset: int) -> int:
    """An offset that surely lies beyond a slice which was read from `offset` on, and not far beyond it.

    The index names a batch behind the slice, and the batch itself confirms it: one that is wrong would leave out
    aborted transactions."""
    following = segments.from_offset(offset)
    for number, segment in enumerate(following):
        if segment.file is found.file:
            base_offset = _batch_behind(segment, found)
            if base_offset is not None:
                return base_offset
            return following[number + 1].base_offset if number + 1 < len(following) else log_end_offset
    return log_end_offset


def _batch_behind(segment: Segment, found: LogSlice) -> int | None:
    entry = segment.offset_index.lookup_upper_bound(found.position, found.length)
    if entry is None or not found.position + found.length <= entry[1] <= segment.size_bytes - HEAD_BYTES:
        return None
    data = segment.file.read(entry[1], HEAD_BYTES)
    if magic_of(data) != MAGIC_V2 or (head := read_head(data)).last_offset != entry[0]:
        return None
    return head.base_offset


def aborted_transactions(
    segments: Segments, fetch_offset: int, upper_bound_offset: int, require_index: Callable[[Segment], None]
) -> list[AbortedTransaction]:
    """Aborted transactions a read_committed reader of [fetch, upper bound) must filter out."""
    return _collect(_with_aborted_from(segments, fetch_offset, require_index), fetch_offset, upper_bound_offset)


def aborted_transactions_in(
    segments: Segments,
    offset: int,
    found: LogSlice,
    max_offset: int,
    log_end_offset: int,
    require_index: Callable[[Segment], None],
) -> list[AbortedTransaction]:
    """Those of a slice that was read from `offset` on. Where it ends matters only if there are any at all."""
    having = _with_aborted_from(segments, offset, require_index)
    if not having:
        return []
    return _collect(having, offset, min(upper_bound_of(segments, offset, found, log_end_offset), max_offset))


def _with_aborted_from(segments: Segments, offset: int, require_index: Callable[[Segment], None]) -> list[Segment]:
    def has_aborted(segment: Segment) -> bool:
        require_index(segment)
        return not segment.aborted.is_empty

    return segments.with_aborted_from(offset, has_aborted)


def _collect(having: list[Segment], fetch_offset: int, upper_bound_offset: int) -> list[AbortedTransaction]:
    collected: list[AbortedTransaction] = []
    for segment in having:
        found, is_complete = segment.aborted.collect(fetch_offset, upper_bound_offset)
        collected += found
        if is_complete:
            break
    return collected
