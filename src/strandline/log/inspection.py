"""Looking at a partition's folder without touching it: ours or Apache Kafka's, while a broker runs or not.

`Segment` and `Log` open files for writing and mend what they find. Nothing here does: files are opened for reading, an
index is taken as it stands, and what is wrong is told. While a broker writes, the active segment grows under the
reader, its indexes have room behind their entries, and files may vanish between being listed and being opened.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import field

from strandline.log import names
from strandline.log.aborted_index import AbortedIndex
from strandline.log.filesystem import File, FileSystem
from strandline.log.mapped_index import RELATIVE_OFFSET_MAX
from strandline.log.offset_index import OffsetIndex
from strandline.log.scan import scan_heads
from strandline.log.time_index import TimeIndex
from strandline.model.failures import CorruptData
from strandline.model.lazy_dataclass import dataclass
from strandline.records.batch import (
    BASE_OFFSET,
    LENGTH_END,
    MAGIC_POSITION,
    MAGIC_V2,
    NO_TIMESTAMP,
    OFFSET_AND_LENGTH,
    SMALLEST_LENGTH,
    BatchHead,
)
from strandline.records.compression import Codec

OFFSET_MAX = 2**63 - 1
Advance = Callable[[int], None]
METADATA_SNAPSHOT_NAME = re.compile(r"(?P<offset>[0-9]{20})-(?P<epoch>[0-9]{10})\.checkpoint")  # KRaft's


@dataclass(frozen=True, slots=True)
class SegmentFiles:
    """The files of one segment, found by name."""

    filesystem: FileSystem
    directory: str
    base_offset: int
    size_bytes: int
    next_base_offset: int | None  # None for the active segment

    @property
    def is_active(self) -> bool:
        return self.next_base_offset is None

    def offsets_from(self, offset: int) -> range:
        """Those that a batch may have where the ones before it end below `offset`."""
        end_offset = self.base_offset + RELATIVE_OFFSET_MAX + 1
        return range(offset, end_offset if self.next_base_offset is None else min(self.next_base_offset, end_offset))

    def path(self, suffix: str) -> str:
        return f"{self.directory}/{names.offset_name(self.base_offset, suffix)}"

    def exists(self, suffix: str) -> bool:
        return self.filesystem.exists(self.path(suffix))

    def open_log(self) -> File:
        return self.filesystem.open(self.path(names.LOG), writable=False)

    def offset_index(self) -> OffsetIndex:
        index = OffsetIndex(self.filesystem, self.path(names.OFFSET_INDEX), self.base_offset, writable=False)
        if self.is_active:
            index.forget_zeros()
        return index

    def time_index(self) -> TimeIndex:
        index = TimeIndex(self.filesystem, self.path(names.TIME_INDEX), self.base_offset, writable=False)
        if self.is_active:
            index.forget_zeros()
        return index

    def aborted_index(self) -> AbortedIndex:
        return AbortedIndex(self.filesystem, self.path(names.ABORTED_INDEX), self.base_offset, writable=False)


def list_segments(filesystem: FileSystem, directory: str) -> list[SegmentFiles]:
    found = []
    for name, size_bytes in filesystem.sizes(directory).items():
        parsed = names.parse_offset_name(name)
        if parsed is not None and parsed[1] == names.LOG:
            found.append((parsed[0], size_bytes))
    following: list[int | None] = [*(base_offset for base_offset, _ in found[1:]), None]
    return [
        SegmentFiles(filesystem, directory, base_offset, size_bytes, next_base_offset)
        for (base_offset, size_bytes), next_base_offset in zip(found, following, strict=False)
    ]


@dataclass(slots=True)
class EpochRun:
    """Neighbouring batches of one leader epoch."""

    epoch: int
    first_offset: int
    last_offset: int
    batches: int = 0


@dataclass(slots=True)
class SegmentSummary:
    files: SegmentFiles
    next_offset: int
    batches: int = 0
    records: int = 0
    first_timestamp: int = NO_TIMESTAMP  # of the first batch that has one
    max_timestamp: int = NO_TIMESTAMP
    codecs: set[Codec] = field(default_factory=set)
    epochs: list[EpochRun] = field(default_factory=list)
    offset_entries: int = 0
    time_entries: int = 0
    aborted_entries: int = 0
    damage: str | None = None  # where the walk over the heads had to stop


def summarize(files: SegmentFiles, advance: Advance) -> SegmentSummary:
    """Walk over the heads of a segment, bodies unread; `damage` says what that much showed."""
    summary = SegmentSummary(files, files.base_offset)
    _count_entries(files, summary)
    log = files.open_log()
    valid_bytes = 0
    try:
        for position, head in scan_heads(log, 0, files.size_bytes):
            advance(head.size_bytes)
            valid_bytes = position + head.size_bytes
            if summary.first_timestamp == NO_TIMESTAMP:
                summary.first_timestamp = _first_timestamp(head)
            summary.batches += 1
            summary.records += head.record_count
            summary.max_timestamp = max(summary.max_timestamp, head.max_timestamp)
            summary.codecs.add(Codec(head.codec))
            summary.next_offset = head.next_offset
            _note_epoch(summary.epochs, head.leader_epoch, head.base_offset, head.last_offset)
        left_over = what_is_left(log, valid_bytes, files.size_bytes, files.offsets_from(summary.next_offset))
        if left_over is not None:
            summary.damage = f"at position {valid_bytes}: {left_over}"
    except (CorruptData, ValueError) as error:
        summary.damage = f"at position {valid_bytes}: {error}"
    finally:
        log.close()
    return summary


def _first_timestamp(head: BatchHead) -> int:
    """Of its first record, unless the head has something else in that place."""
    is_overlaid = head.is_log_append_time or head.delete_horizon_ms is not None or head.base_timestamp < 0
    return head.max_timestamp if is_overlaid else head.base_timestamp


def _count_entries(files: SegmentFiles, summary: SegmentSummary) -> None:
    summary.offset_entries = files.offset_index().entry_count
    summary.time_entries = files.time_index().entry_count
    try:
        summary.aborted_entries = len(files.aborted_index().all())
    except CorruptData as error:
        summary.damage = str(error)


def _note_epoch(runs: list[EpochRun], epoch: int, first_offset: int, last_offset: int) -> None:
    if not runs or runs[-1].epoch != epoch:
        runs.append(EpochRun(epoch, first_offset, last_offset))
    runs[-1].last_offset = last_offset
    runs[-1].batches += 1


def join_runs(summaries: Iterator[SegmentSummary]) -> list[EpochRun]:
    """The runs of a whole partition: one that goes on in the next segment is one."""
    joined: list[EpochRun] = []
    for summary in summaries:
        for run in summary.epochs:
            if joined and joined[-1].epoch == run.epoch:
                joined[-1].last_offset = run.last_offset
                joined[-1].batches += run.batches
            else:
                joined.append(EpochRun(run.epoch, run.first_offset, run.last_offset, run.batches))
    return joined


def is_cut_short(file: File, position: int) -> bool:
    """Whether the bytes from `position` on still are not a whole batch: a broker may be amid writing it."""
    return next(scan_heads(file, position, file.size()), None) is None


def what_is_left(file: File, position: int, end: int, offsets: range) -> str | None:
    """What the bytes behind the last whole batch are; None if there are none, or have become a batch meanwhile.

    A write that was torn leaves the start of a batch with one of `offsets`. All else never was one.
    """
    if position >= end or not is_cut_short(file, position):
        return None
    if begins_batch(file.read(position, MAGIC_POSITION + 1), offsets):
        return f"the last {end - position} bytes are a batch cut short"
    return f"no batch at position {position}: the last {end - position} bytes are none"


def begins_batch(start: bytes, offsets: range) -> bool:
    """As far as the bytes go."""
    least, greatest = (BASE_OFFSET.unpack(start[:8].ljust(8, rest))[0] for rest in (b"\x00", b"\xff"))
    if greatest < offsets.start or least >= offsets.stop:
        return False
    if len(start) >= LENGTH_END and OFFSET_AND_LENGTH.unpack_from(start)[1] < SMALLEST_LENGTH:
        return False
    return len(start) <= MAGIC_POSITION or start[MAGIC_POSITION] <= MAGIC_V2
