"""Looking an offset or a timestamp up step by step, each step remembered (SPEC L4, L5).

By offset: the segment by binary search over the base offsets, the last index entry at or before the offset, then a scan
over batch heads. By time: the first segment whose time index reaches that late, its last time entry at or before the
time, the offset index entry for that, then a scan for a batch that is late enough, and its first such record.

It is the way `Segment` and `lookup` go, without their mending: an index that leads astray is told, and the scan begins
at the start of the segment instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from strandline.log import names
from strandline.log.inspection import SegmentFiles
from strandline.log.scan import scan_heads
from strandline.model.failures import CorruptData
from strandline.records.batch import BatchHead
from strandline.records.record import Record, read_records


class IndexEntry(NamedTuple):
    number: int  # counted from 1
    of: int  # entries in the index
    key: int  # an offset, or a timestamp
    target: int  # a position, or an offset


class Scan(NamedTuple):
    start: int  # position
    batches: int  # looked at, the found one included
    bytes: int  # passed over


@dataclass(slots=True)
class SegmentVisit:
    """How far one segment led."""

    files: SegmentFiles
    time_entry: IndexEntry | None = None
    offset_entry: IndexEntry | None = None
    scan: Scan | None = None
    notes: list[str] = field(default_factory=list)


class FoundBatch(NamedTuple):
    position: int
    batch: bytes
    record: Record | None  # None where the offset itself is gone from its batch


@dataclass(slots=True)
class Search:
    segment_count: int
    binary_steps: int = 0
    skipped_segments: int = 0  # by their largest timestamp
    visits: list[SegmentVisit] = field(default_factory=list)
    found: FoundBatch | None = None


def find_offset(segments: list[SegmentFiles], offset: int) -> Search:
    """The batch that holds the offset, or the first after it where compaction has taken it."""
    search = Search(len(segments))
    chosen = _binary_search(segments, offset, search)
    for files in segments[chosen:]:
        visit = SegmentVisit(files)
        search.visits.append(visit)
        visit.offset_entry = _offset_entry(files, offset)
        found = _scan(visit, lambda head: head.last_offset >= offset)
        if found is not None:
            position, batch = found
            records = (record for record in read_records(batch) if record.offset >= offset)
            search.found = FoundBatch(position, batch, next(records, None))
            return search
        visit.notes.append("the offset is not in this segment: compaction emptied its end, or the log ends here")
    return search


def find_time(segments: list[SegmentFiles], timestamp: int, log_start_offset: int) -> Search:
    """The first record at or after both the time and the log's start."""
    search = Search(len(segments))
    for files in segments[_binary_search(segments, log_start_offset, Search(0)) :]:
        last_timestamp = files.time_index().last_entry[0]
        if not files.is_active and files.exists(names.TIME_INDEX) and last_timestamp < timestamp:
            search.skipped_segments += 1
            continue
        visit = SegmentVisit(files)
        search.visits.append(visit)
        search.found = _find_time_in(visit, timestamp, log_start_offset)
        if search.found is not None:
            return search
        visit.notes.append("no record here is late enough")
    return search


def _find_time_in(visit: SegmentVisit, timestamp: int, from_offset: int) -> FoundBatch | None:
    index = visit.files.time_index()
    visit.time_entry = _last_entry(index.entries(), index.entry_count, timestamp)
    start_offset = visit.files.base_offset if visit.time_entry is None else visit.time_entry.target
    visit.offset_entry = _offset_entry(visit.files, max(start_offset, from_offset))
    found = _scan(visit, lambda head: head.max_timestamp >= timestamp and head.last_offset >= from_offset)
    if found is None:
        return None
    position, batch = found
    late = (record for record in read_records(batch) if record.timestamp >= timestamp and record.offset >= from_offset)
    return FoundBatch(position, batch, next(late, None))


def _binary_search(segments: list[SegmentFiles], offset: int, search: Search) -> int:
    """Index of the last segment that begins at or below the offset; the first one if none does."""
    low, high = 0, len(segments)
    while low < high:
        search.binary_steps += 1
        middle = (low + high) // 2
        if segments[middle].base_offset <= offset:
            low = middle + 1
        else:
            high = middle
    return max(0, low - 1)


def _offset_entry(files: SegmentFiles, offset: int) -> IndexEntry | None:
    index = files.offset_index()
    return _last_entry(index.entries(), index.entry_count, offset)


def _last_entry(entries: Iterator[tuple[int, int]], count: int, key: int) -> IndexEntry | None:
    """The last entry whose key is at or below the one asked for."""
    last = None
    for number, (entry_key, target) in enumerate(entries, 1):
        if entry_key > key:
            break
        last = IndexEntry(number, count, entry_key, target)
    return last


def _scan(visit: SegmentVisit, is_wanted: Callable[[BatchHead], bool]) -> tuple[int, bytes] | None:
    start = 0 if visit.offset_entry is None else visit.offset_entry.target
    if start and not _begins_batch(visit, start):
        visit.notes.append(f"the index leads to position {start}, where no batch begins; scanned from 0 instead")
        start = 0
    log = visit.files.open_log()
    batches = position = 0
    try:
        for position, head in scan_heads(log, start, visit.files.size_bytes):
            batches += 1
            if is_wanted(head):
                visit.scan = Scan(start, batches, position - start)
                return position, log.read(position, head.size_bytes)
    except CorruptData as error:
        raise CorruptData(f"{visit.files.path(names.LOG)}: {error}") from error
    finally:
        log.close()
    visit.scan = Scan(start, batches, visit.files.size_bytes - start)
    return None


def _begins_batch(visit: SegmentVisit, position: int) -> bool:
    log = visit.files.open_log()
    try:
        found = next(scan_heads(log, position, visit.files.size_bytes), None)
    except CorruptData:
        return False
    finally:
        log.close()
    limit = visit.files.base_offset if visit.offset_entry is None else visit.offset_entry.key
    return found is not None and visit.files.base_offset <= found[1].base_offset <= limit
