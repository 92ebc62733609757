"""Looking an offset or a timestamp up step by step, each step remembered (SPEC L4, L5).

By offset: the segment by binary search over the base offsets, the last index entry at or before the offset, then a scan
over batch heads. By time: the first segment whose time index reaches that late, its last time entry at or before the
time, the offset index entry for that, then a scan for a batch that is late enough, and its first such record.

It is the way `Segment` and `lookup` go, without their mending: an index that leads astray is told, and the scan begins
at the start of the segment instead. A batch that compaction has emptied is passed over. Damage ends the search: what
lies behind it may be what was asked for, or may have been lost.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from typing import NamedTuple

from strandline.log import names
from strandline.log.filesystem import File
from strandline.log.inspection import SegmentFiles, what_is_left
from strandline.log.scan import scan_heads
from strandline.model.failures import CorruptData
from strandline.model.lazy_dataclass import dataclass
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
    record: Record


@dataclass(slots=True)
class Search:
    segment_count: int
    binary_steps: int = 0
    skipped_segments: int = 0  # by their largest timestamp
    visits: list[SegmentVisit] = field(default_factory=list)
    found: FoundBatch | None = None
    damage: str | None = None  # where the search had to stop


class Wanted(NamedTuple):
    """A record at or after both."""

    offset: int
    timestamp: int | None = None

    def may_be_in(self, head: BatchHead) -> bool:
        return head.last_offset >= self.offset and (self.timestamp is None or head.max_timestamp >= self.timestamp)

    def first_of(self, batch: bytes) -> Record | None:
        for record in read_records(batch):
            if record.offset >= self.offset and (self.timestamp is None or record.timestamp >= self.timestamp):
                return record
        return None


def find_offset(segments: list[SegmentFiles], offset: int) -> Search:
    """The record at the offset, or the first after it where compaction has taken it."""
    search, wanted = Search(len(segments)), Wanted(offset)
    for files in segments[_binary_search(segments, offset, search) :]:
        visit = SegmentVisit(files)
        search.visits.append(visit)
        visit.offset_entry = _offset_entry(files, offset)
        _scan(search, visit, wanted)
        if search.found is not None or search.damage is not None:
            break
        visit.notes.append("nothing from the offset on is in this segment")
    return search


def find_time(segments: list[SegmentFiles], timestamp: int, log_start_offset: int) -> Search:
    """The first record at or after both the time and the log's start."""
    search, wanted = Search(len(segments)), Wanted(log_start_offset, timestamp)
    for files in segments[_binary_search(segments, log_start_offset, Search(0)) :]:
        last_timestamp = files.time_index().last_entry[0]
        if not files.is_active and files.exists(names.TIME_INDEX) and last_timestamp < timestamp:
            search.skipped_segments += 1
            continue
        visit = SegmentVisit(files)
        search.visits.append(visit)
        _follow_time_index(visit, wanted)
        _scan(search, visit, wanted)
        if search.found is not None or search.damage is not None:
            break
        visit.notes.append("no record here is late enough")
    return search


def _follow_time_index(visit: SegmentVisit, wanted: Wanted) -> None:
    assert wanted.timestamp is not None
    index = visit.files.time_index()
    visit.time_entry = _last_entry(index.entries(), index.entry_count, wanted.timestamp)
    start_offset = visit.files.base_offset if visit.time_entry is None else visit.time_entry.target
    visit.offset_entry = _offset_entry(visit.files, max(start_offset, wanted.offset))


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


def _scan(search: Search, visit: SegmentVisit, wanted: Wanted) -> None:
    start = 0 if visit.offset_entry is None else visit.offset_entry.target
    if start and not _begins_batch(visit, start):
        visit.notes.append(f"the index leads to position {start}, where no batch begins; scanned from 0 instead")
        start = 0
    walk = _Walk(visit.files, wanted, position=start)
    log = visit.files.open_log()
    try:
        search.found = walk.run(log)
    except CorruptData as error:
        search.damage = f"{visit.files.path(names.LOG)}: position {walk.position}: {error}"
    finally:
        log.close()
    visit.scan = Scan(start, walk.batches, walk.position - start)
    if walk.emptied:
        visit.notes.append(f"batches looked into that hold no such record any more: {walk.emptied}")


@dataclass(slots=True)
class _Walk:
    """From batch to batch. `position` is that of the one being looked at, at the end that of the segment's end."""

    files: SegmentFiles
    wanted: Wanted
    position: int
    batches: int = 0
    emptied: int = 0

    def run(self, log: File) -> FoundBatch | None:
        next_offset = self.files.base_offset
        for position, head in scan_heads(log, self.position, self.files.size_bytes):
            self.batches += 1
            if self.wanted.may_be_in(head):
                batch = log.read(position, head.size_bytes)
                record = self.wanted.first_of(batch)
                if record is not None:
                    return FoundBatch(position, batch, record)
                self.emptied += 1
            self.position = position + head.size_bytes
            next_offset = head.next_offset
        left_over = what_is_left(log, self.position, self.files.size_bytes, self.files.offsets_from(next_offset))
        if left_over is not None:
            raise CorruptData(left_over)
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
