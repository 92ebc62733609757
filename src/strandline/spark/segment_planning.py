"""Which bytes of which files a query reads, cut into tasks. Files are looked at, never locked, written or mended.

A segment is cut where its offset index says that a batch begins, so that one large segment keeps all cores busy; small
segments share a task. An index is derived and may be wrong (decision 3): a place is only used if a batch that fits the
entry begins there, and where the index has nothing to say the segment stays whole.

What cannot have a wanted row is left out: partitions by their folder's name, segments and splits by their offsets,
segments by the largest timestamp that their time index tells, splits by the entries of the time index.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from strandline.log import names
from strandline.log.aborted_index import AbortedTransaction
from strandline.log.filesystem import File, FileSystem
from strandline.log.inspection import SegmentFiles, list_segments
from strandline.log.inspection_transactions import first_undecided_offset
from strandline.log.offset_index import OffsetIndex
from strandline.log.scan import PEEK, PEEK_BYTES, find_batch
from strandline.log.stored_timestamps import StoredTimestamps
from strandline.model.failures import CorruptData
from strandline.model.partitions import TopicPartition, parse_partition_folder
from strandline.records.batch import MAGIC_V2
from strandline.records.columns import OFFSETS_END
from strandline.spark.failures import BadOption
from strandline.spark.segment_options import SegmentOptions, Wanted

SMALLEST_SPLIT_BYTES = 2**20  # below it a task costs more than it brings


@dataclass(frozen=True, slots=True)
class Split:
    """A piece of one segment: the batches that begin at `start` or later, and before `end`."""

    partition: TopicPartition
    files: SegmentFiles
    start: int
    end: int
    first_offset: int
    end_offset: int  # exclusive
    wanted: Wanted
    aborted: tuple[tuple[int, int], ...] | None  # (producer id, first offset); None to read everything

    @property
    def size_bytes(self) -> int:
        return self.end - self.start

    @property
    def path(self) -> str:
        return self.files.path(names.LOG)


class Folder(NamedTuple):
    partition: TopicPartition
    path: str


class Place(NamedTuple):
    """Where a batch begins. All offsets before it are below `end_offset`, all from it on at or above `first_offset`."""

    position: int
    first_offset: int
    end_offset: int


def plan(filesystem: FileSystem, options: SegmentOptions, wanted: Wanted) -> list[list[Split]]:
    """The splits of each task. `wanted` is what the options want, narrowed by what Spark knows of the query."""
    segments = [
        (folder, segment, limit, aborted)
        for folder in find_folders(filesystem, options.paths)
        if is_partition_wanted(folder.partition, wanted)
        for segment, limit, aborted in _segments_of(filesystem, folder, wanted, options.is_committed_only)
    ]
    total_bytes = sum(segment.size_bytes for _, segment, _, _ in segments)
    split_bytes = max(SMALLEST_SPLIT_BYTES, -(-total_bytes // options.min_partitions))
    split_bytes = min(split_bytes, options.max_bytes_per_partition)
    splits: list[Split] = []
    for folder, segment, limit, aborted in segments:
        splits += _splits_of(folder.partition, segment, limit, aborted, split_bytes)
    return _packed(splits, split_bytes)


def find_folders(filesystem: FileSystem, paths: tuple[str, ...]) -> list[Folder]:
    if not paths:
        raise BadOption("there is no path: write .load(DIR) with a data directory or a partition's folder")
    found = [folder for path in paths for folder in _folders_at(filesystem, _local(path))]
    return list(dict.fromkeys(found))  # a folder that was named twice, also by the directory that it is in, counts once


def _local(path: str) -> str:
    """As Hadoop writes it, too: file:/a, file:///a."""
    if path.startswith("file:"):
        return "/" + path.removeprefix("file:").lstrip("/")
    if "://" in path:
        raise BadOption(f"{path} is not on a disk of this machine: log files are read where a broker keeps them")
    if not path.strip():
        raise BadOption("the path is empty: write .load(DIR) with a data directory or a partition's folder")
    return path


def _folders_at(filesystem: FileSystem, path: str) -> Iterator[Folder]:
    path = os.path.abspath(path)
    if not filesystem.exists(path) or not filesystem.is_directory(path):
        raise BadOption(f"{path}: there is no such folder where Spark's driver runs; check the path")
    partition = parse_partition_folder(os.path.basename(path))
    if partition is not None and list_segments(filesystem, path):
        yield Folder(partition, path)
        return
    found = False
    for name in filesystem.names(path):
        partition = parse_partition_folder(name)
        if partition is not None and filesystem.is_directory(f"{path}/{name}"):
            found = True
            yield Folder(partition, f"{path}/{name}")
    if not found:
        raise BadOption(
            f"{path} is neither a partition's folder nor a data directory: it has no folders named"
            " <topic>-<partition>; give the path that log.dirs names"
        )


def is_partition_wanted(partition: TopicPartition, wanted: Wanted) -> bool:
    if wanted.topics is not None and partition.topic not in wanted.topics:
        return False
    return wanted.partitions is None or partition.partition in wanted.partitions


def _segments_of(
    filesystem: FileSystem, folder: Folder, wanted: Wanted, is_committed_only: bool
) -> Iterator[tuple[SegmentFiles, Wanted, list[AbortedTransaction] | None]]:
    """Those that may have wanted rows; with what is wanted of them, and what of it was aborted."""
    try:
        segments = list_segments(filesystem, folder.path)
    except FileNotFoundError:
        return  # a topic that was deleted meanwhile
    aborted: list[AbortedTransaction] | None = None
    if is_committed_only:
        aborted = [entry for segment in segments for entry in _aborted_in(segment)]
        undecided = first_undecided_offset(filesystem, folder.path, segments)
        wanted = wanted if undecided is None else wanted.up_to_offset(undecided)
    for segment in segments:
        if segment.base_offset >= wanted.to_offset or _end_offset(segment) <= wanted.from_offset:
            continue
        if segment.size_bytes and not _is_too_old(segment, wanted):
            yield segment, wanted, aborted


def _aborted_in(segment: SegmentFiles) -> Iterable[AbortedTransaction]:
    """None of a segment that was removed meanwhile: what it tells of is at or before it, and gone as well."""
    try:
        return segment.aborted_index().all()
    except FileNotFoundError:
        return ()


def _end_offset(segment: SegmentFiles) -> int:
    return OFFSETS_END if segment.next_base_offset is None else segment.next_base_offset


def _is_too_old(segment: SegmentFiles, wanted: Wanted) -> bool:
    if wanted.from_timestamp_ms is None:
        return False
    timestamps = StoredTimestamps(
        segment.filesystem,
        segment.path(names.LOG),
        segment.base_offset,
        segment.size_bytes,
        is_last=segment.is_active,
    )
    try:
        return timestamps.max_timestamp < wanted.from_timestamp_ms
    except FileNotFoundError:
        return False  # whoever reads it tells that it is gone


def _splits_of(
    partition: TopicPartition,
    segment: SegmentFiles,
    wanted: Wanted,
    aborted: list[AbortedTransaction] | None,
    split_bytes: int,
) -> Iterator[Split]:
    from_offset = _first_offset_in_time(segment, wanted)
    places = list(split_places(segment, split_bytes))
    for place, following in zip(
        places, [*places[1:], Place(segment.size_bytes, OFFSETS_END, _end_offset(segment))], strict=True
    ):
        first_offset, end_offset = place.first_offset, following.end_offset
        if first_offset < wanted.to_offset and end_offset > from_offset:
            yield Split(
                partition,
                segment,
                place.position,
                following.position,
                first_offset,
                end_offset,
                wanted,
                None if aborted is None else _aborted_within(aborted, first_offset, end_offset),
            )


def _aborted_within(
    aborted: list[AbortedTransaction], first_offset: int, end_offset: int
) -> tuple[tuple[int, int], ...]:
    return tuple(
        (each.producer_id, each.first_offset)
        for each in aborted
        if each.first_offset < end_offset and each.last_offset >= first_offset
    )


def _first_offset_in_time(segment: SegmentFiles, wanted: Wanted) -> int:
    """No record below it is both at or above the first offset and at or after the time that are wanted."""
    if wanted.from_timestamp_ms is None or not segment.exists(names.TIME_INDEX):
        return wanted.from_offset
    try:
        timestamp, offset = segment.time_index().lookup(wanted.from_timestamp_ms - 1)
    except FileNotFoundError:
        return wanted.from_offset
    return max(wanted.from_offset, offset + 1) if timestamp >= 0 else wanted.from_offset


def split_places(segment: SegmentFiles, split_bytes: int) -> Iterator[Place]:
    """The start of the segment, and then a place each `split_bytes` or a little more, as the index allows."""
    place = Place(0, segment.base_offset, segment.base_offset)
    yield place
    if segment.size_bytes <= split_bytes or not segment.exists(names.OFFSET_INDEX):
        return
    try:
        log = segment.open_log()
    except FileNotFoundError:
        return
    try:
        index = segment.offset_index()
        while segment.size_bytes - place.position > split_bytes:
            following = next_place(segment, log, index, place, split_bytes)
            if following is None:
                return
            place = following
            yield place
    except FileNotFoundError:
        return  # the index is read when it is first asked, and was removed meanwhile
    finally:
        log.close()


def next_place(segment: SegmentFiles, log: File, index: OffsetIndex, after: Place, distance_bytes: int) -> Place | None:
    """The first place at least that far behind, of which the index tells and the log knows, too."""
    position, distance = after.position, distance_bytes
    while (entry := index.lookup_upper_bound(position, distance)) is not None:
        offset, entry_position = entry
        if entry_position < position + distance:
            return None  # the entries do not ascend: this is no index
        try:
            expected = range(after.first_offset, offset + 1)
            if find_batch(log, entry_position, segment.size_bytes, 0, expected=expected) is not None:
                return _place_at(log, entry_position, after)
        except CorruptData:
            pass
        position, distance = entry_position, 1
    return None


def _place_at(log: File, position: int, before: Place) -> Place:
    base_offset, _, magic, _ = PEEK.unpack(log.read(position, PEEK_BYTES))
    # A message of the old formats has the offset of its last record there.
    return Place(position, base_offset if magic >= MAGIC_V2 else before.first_offset, base_offset)


def _packed(splits: list[Split], task_bytes: int) -> list[list[Split]]:
    tasks: list[list[Split]] = []
    left_bytes = 0
    for split in splits:
        if split.size_bytes > left_bytes:
            tasks.append([])
            left_bytes = task_bytes
        tasks[-1].append(split)
        left_bytes -= split.size_bytes
    return tasks
