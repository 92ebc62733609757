"""A log to be judged, not changed: what retention, the choice of what to compact and their dry run look at.

`LogView.of` looks at a log that is open in this process. `views_of_folder` looks at a partition's folder that may
belong to another process, Kafka's included: its files are opened for reading only, and nothing is locked, rebuilt or
trimmed. A broker that runs may leave such a picture a little behind.

The largest timestamp of a segment costs opening a file, so it is looked up when asked for: whoever judges segments
oldest first and stops early never touches the rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

from strandline.log import names
from strandline.log.filesystem import FileSystem
from strandline.log.log import Log
from strandline.log.scan import read_batches, scan_heads
from strandline.log.stored_timestamps import StoredTimestamps
from strandline.model.lazy_dataclass import dataclass
from strandline.model.settings import LogSettings
from strandline.records.batch import BatchHead


class Timestamps(Protocol):
    """A live `Segment` has them, too. -1 where no record carries one."""

    @property
    def max_timestamp(self) -> int: ...
    @property
    def first_timestamp(self) -> int:
        """The largest of the first batch: from when on max.compaction.lag.ms counts."""
        ...


class SegmentView(NamedTuple):
    """There is one for each segment each time a log is judged: it must cost little."""

    base_offset: int
    end_offset: int  # the next segment's base offset; the log end for the last
    size_bytes: int
    directory: str
    is_active: bool
    filesystem: FileSystem
    timestamps: Timestamps

    @property
    def path(self) -> str:
        """Of the `.log` file."""
        return f"{self.directory}/{self}"

    @property
    def largest_timestamp(self) -> int:
        return self.timestamps.max_timestamp

    @property
    def largest_timestamp_or_modified_ms(self) -> int:
        """What time-based retention and the compaction lag judge by (SPEC C2)."""
        largest = self.largest_timestamp
        return largest if largest >= 0 else self.filesystem.modified_ms(self.path)

    def heads(self) -> Iterator[tuple[int, BatchHead]]:
        file = self.filesystem.open(self.path, writable=False)
        try:
            yield from scan_heads(file, 0, self.size_bytes)
        finally:
            file.close()

    def batches(self) -> Iterator[tuple[int, memoryview]]:
        file = self.filesystem.open(self.path, writable=False)
        try:
            yield from read_batches(file, 0, self.size_bytes)
        finally:
            file.close()

    def __str__(self) -> str:
        return names.offset_name(self.base_offset, names.LOG)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogView:
    """A log at a moment, with the bounds that replication gives it."""

    segments: Sequence[SegmentView]  # oldest first; the last one is the active one
    settings: LogSettings
    log_start_offset: int
    high_watermark: int
    last_stable_offset: int  # <= high_watermark; what is above may belong to an open transaction
    now_ms: int

    @classmethod
    def of(cls, log: Log, *, now_ms: int, high_watermark: int, last_stable_offset: int | None = None) -> LogView:
        return cls(
            segments=views_of(log),
            settings=log.settings,
            log_start_offset=log.log_start_offset,
            high_watermark=high_watermark,
            last_stable_offset=high_watermark if last_stable_offset is None else last_stable_offset,
            now_ms=now_ms,
        )

    @property
    def log_end_offset(self) -> int:
        return self.segments[-1].end_offset if self.segments else self.log_start_offset

    @property
    def size_bytes(self) -> int:
        return sum(segment.size_bytes for segment in self.segments)


def views_of(log: Log) -> list[SegmentView]:
    segments = log.segments.all()
    ends = [segment.base_offset for segment in segments[1:]] + [log.log_end_offset]
    return [
        SegmentView(
            segment.base_offset,
            end_offset,
            segment.size_bytes,
            segment.directory,
            segment is segments[-1],
            log.filesystem,
            segment,
        )
        for segment, end_offset in zip(segments, ends, strict=True)
    ]


def views_of_folder(filesystem: FileSystem, directory: str) -> list[SegmentView]:
    """The segments in a partition's folder, which is only read. None if there is no `.log` file in it."""
    sizes = filesystem.sizes(directory)
    parsed = [(name, names.parse_offset_name(name)) for name in sizes]
    found = [(offset[0], name) for name, offset in parsed if offset is not None and offset[1] == names.LOG]
    views = []
    for index, (base_offset, name) in enumerate(found):
        path, size_bytes = f"{directory}/{name}", sizes[name]
        is_last = index == len(found) - 1
        timestamps = StoredTimestamps(filesystem, path, base_offset, size_bytes, is_last=is_last)
        end_offset = timestamps.tail.end_offset if is_last else found[index + 1][0]
        views.append(SegmentView(base_offset, end_offset, size_bytes, directory, is_last, filesystem, timestamps))
    return views
