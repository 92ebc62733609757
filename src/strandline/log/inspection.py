"""Looking at a partition's folder without touching it: ours or Apache Kafka's, while a broker runs or not.

`Segment` and `Log` open files for writing and mend what they find. Nothing here does: files are opened for reading, an
index is taken as it stands, and what is wrong is told. While a broker writes, the active segment grows under the
reader, its indexes have room behind their entries, and files may vanish between being listed and being opened.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from strandline.log import names
from strandline.log.aborted_index import AbortedIndex
from strandline.log.filesystem import File, FileSystem
from strandline.log.offset_index import OffsetIndex
from strandline.log.scan import scan_heads
from strandline.log.time_index import TimeIndex
from strandline.model.failures import CorruptData
from strandline.records.batch import NO_TIMESTAMP, BatchHead
from strandline.records.compression import Codec

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
    bases: list[int | None] = [base_offset for base_offset, _ in found]
    return [
        SegmentFiles(filesystem, directory, base_offset, size_bytes, next_base_offset)
        for (base_offset, size_bytes), next_base_offset in zip(found, [*bases[1:], None], strict=True)
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
    except (CorruptData, ValueError) as error:
        summary.damage = f"at position {valid_bytes}: {error}"
    finally:
        log.close()
    if summary.damage is None and valid_bytes < files.size_bytes:
        summary.damage = f"at position {valid_bytes}: {files.size_bytes - valid_bytes} bytes of a batch cut short"
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
