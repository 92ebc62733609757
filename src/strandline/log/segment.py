"""One segment: a `.log` file of batches with its sparse indexes (SPEC L1, L3-L5).

A segment is cheap to have: neither its file nor its indexes are opened before they are needed, so that a broker with
ten thousand closed segments starts at once. Only the active segment, the last of its log, is appended to; its indexes
are preallocated, and trimmed when the next segment takes over or the log is closed.

Every index is derived from the `.log` file and may be thrown away. A missing or damaged one is found when it is first
used and rebuilt by a scan; an index entry that points at no batch is found on look-up, with the same consequence.

    offset index   (last offset of a batch, its position), one entry each `index.interval.bytes`
    time index     (largest timestamp so far, last offset of the batch that has it), at the same places, and once more
                   at the end, so that the last entry always tells the segment's largest timestamp
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from strandline.log import index_truth, names
from strandline.log.aborted_index import AbortedIndex
from strandline.log.filesystem import Buffer, File, FileSystem
from strandline.log.offset_index import OffsetIndex
from strandline.log.read_ends import ReadEnds
from strandline.log.renaming import rename_segment
from strandline.log.scan import SCAN_BYTES, find_batch, first_head, peek_batch, read_batches, scan_heads
from strandline.log.time_index import TimeIndex
from strandline.model.failures import CorruptData
from strandline.model.settings import LONG_MAX, LogSettings
from strandline.records.batch import NO_TIMESTAMP, BatchHead

RELATIVE_OFFSET_MAX = 2**31 - 1
FAR_BYTES = 2 * SCAN_BYTES  # between index entries: few batches lie there, of which the next entry's is likely wanted


class Segment:
    """Not thread-safe but for its `file`, which may be read and synced from anywhere."""

    __slots__ = (
        "_aborted", "_file", "_filesystem", "_first_timestamp", "_max_timestamp", "_offset_index", "_time_index",
        "base_offset", "bytes_since_index_entry", "created_ms", "directory", "has_rot", "index_entries_left",
        "is_preallocated", "offset_of_max_timestamp", "read_ends", "roll_jitter_ms", "settings", "size_bytes", "suffix",
    )  # fmt: skip

    def __init__(
        self,
        filesystem: FileSystem,
        directory: str,
        base_offset: int,
        settings: LogSettings,
        *,
        size_bytes: int = 0,
        created_ms: int = 0,
        roll_jitter_ms: int = 0,
        suffix: str = "",
    ) -> None:
        self._filesystem = filesystem
        self.directory = directory
        self.base_offset = base_offset
        self.settings = settings
        self.size_bytes = size_bytes
        self.created_ms = created_ms
        self.roll_jitter_ms = roll_jitter_ms
        self.suffix = suffix
        self.bytes_since_index_entry = 0
        self.offset_of_max_timestamp = base_offset
        self.is_preallocated = False  # whether the indexes can take entries
        self.index_entries_left = 0  # how many more both of them take
        self.has_rot = False  # a look-up has met it
        self.read_ends = ReadEnds()
        self._max_timestamp: int | None = None  # None until read from the time index
        self._first_timestamp: int | None = None  # None until read from the first batch
        self._file: File | None = None
        self._offset_index: OffsetIndex | None = None
        self._time_index: TimeIndex | None = None
        self._aborted: AbortedIndex | None = None

    @classmethod
    def create(
        cls,
        filesystem: FileSystem,
        directory: str,
        base_offset: int,
        settings: LogSettings,
        *,
        now_ms: int = 0,
        roll_jitter_ms: int = 0,
        suffix: str = "",
    ) -> Segment:
        """An empty segment, ready for appends. What an earlier life left under these names is overwritten."""
        segment = cls(
            filesystem,
            directory,
            base_offset,
            settings,
            created_ms=now_ms,
            roll_jitter_ms=roll_jitter_ms,
            suffix=suffix,
        )
        segment._file = filesystem.open(segment.path(names.LOG), create=True)
        segment._file.truncate(0)
        segment.aborted.remove()
        segment._aborted = None  # removed means closed for good
        segment.clear_indexes()
        return segment

    def path(self, kind: str) -> str:
        return f"{self.directory}/{self.base_offset:020d}{kind}{self.suffix}"

    def __str__(self) -> str:
        return names.offset_name(self.base_offset, names.LOG) + self.suffix

    # Files, opened when first used.

    @property
    def file(self) -> File:
        if self._file is None:
            self._file = self._filesystem.open(self.path(names.LOG))
        return self._file

    @property
    def offset_index(self) -> OffsetIndex:
        return self._offset_index or self._load_indexes()[0]

    @property
    def time_index(self) -> TimeIndex:
        return self._time_index or self._load_indexes()[1]

    @property
    def aborted(self) -> AbortedIndex:
        if self._aborted is None:
            self._aborted = AbortedIndex(self._filesystem, self.path(names.ABORTED_INDEX), self.base_offset)
        return self._aborted

    def _open_indexes(self) -> tuple[OffsetIndex, TimeIndex]:
        index_bytes = self.settings.segment_index_bytes
        self._offset_index = OffsetIndex(self._filesystem, self.path(names.OFFSET_INDEX), self.base_offset, index_bytes)
        self._time_index = TimeIndex(self._filesystem, self.path(names.TIME_INDEX), self.base_offset, index_bytes)
        return self._offset_index, self._time_index

    def _load_indexes(self) -> tuple[OffsetIndex, TimeIndex]:
        present = all(self._filesystem.exists(self.path(kind)) for kind in (names.OFFSET_INDEX, names.TIME_INDEX))
        offsets, times = self._open_indexes()
        try:
            if not present or not index_truth.are_indexes_sane(offsets, times, self.size_bytes):
                self.rebuild_indexes()
        except OSError:  # no descriptor was left, say: the next one to come here looks at them again
            self._abandon_indexes()
            raise
        return offsets, times

    def _abandon_indexes(self) -> None:
        for index in (self._offset_index, self._time_index):
            if index is not None:
                index.close(trim=False)
        self._offset_index = self._time_index = None
        self.is_preallocated = False

    # Appending.

    def append(self, buffers: Sequence[Buffer], batches: Sequence[tuple[int, int, int]]) -> None:
        """Write `buffers` at the end; `batches` gives (size, last offset, max timestamp) of each batch in them.

        One write for all of them, then the index entries they call for.
        """
        if not self.is_preallocated:
            self.prepare_for_append()
        if self._max_timestamp is None:
            self._load_max_timestamp()  # while the file is what its indexes were made from
        position = self.size_bytes
        file = self._file or self.file
        self.size_bytes = position + file.append(buffers)
        if position == 0:
            self._first_timestamp = batches[0][2]
        self.note_batches(position, batches)

    def note_batches(self, position: int, batches: Sequence[tuple[int, int, int]]) -> None:
        """Index batches that lie in the file from `position` on."""
        interval, since_entry = self.settings.index_interval_bytes, self.bytes_since_index_entry
        max_timestamp = self._max_timestamp if self._max_timestamp is not None else self.max_timestamp
        add_offset, indexed_timestamp = (self._offset_index or self.offset_index).append, None
        for size, last_offset, batch_timestamp in batches:
            if batch_timestamp > max_timestamp:
                self._max_timestamp = max_timestamp = batch_timestamp
                self.offset_of_max_timestamp = last_offset
            if since_entry > interval and self.index_entries_left > 0:
                add_offset(last_offset, position)
                if max_timestamp != indexed_timestamp:
                    times = self._time_index or self.time_index
                    times.maybe_append(max_timestamp, self.offset_of_max_timestamp)
                    indexed_timestamp = max_timestamp
                self.index_entries_left -= 1
                since_entry = 0
            position += size
            since_entry += size
        self.bytes_since_index_entry = since_entry

    def fits_offset(self, offset: int) -> bool:
        return 0 <= offset - self.base_offset <= RELATIVE_OFFSET_MAX

    def should_roll(self, size: int, last_offset: int, max_timestamp: int, now_ms: int) -> bool:
        """Whether a batch must go to a new segment (SPEC L3): by size, index space, offset range or time."""
        bytes_left, offset_max, timestamp_max = self.room(now_ms)
        return size > bytes_left or last_offset > offset_max or max_timestamp > timestamp_max

    def room(self, now_ms: int) -> tuple[int, int, int]:
        """For how many bytes there is room here, up to which offset and which timestamp."""
        if not self.is_preallocated:
            self.prepare_for_append()
        settings, size_bytes, timestamp_max = self.settings, self.size_bytes, LONG_MAX
        bytes_left = settings.segment_bytes - size_bytes if self.index_entries_left > 0 else -1
        if size_bytes:
            waited_ms_max = settings.segment_ms
            # What compaction may not leave waiting must not stay in the active segment for longer (KIP-354).
            if settings.max_compaction_lag_ms < waited_ms_max and settings.compacts:
                waited_ms_max = settings.max_compaction_lag_ms
            waited_ms_max -= self.roll_jitter_ms
            # By the clock of the records where they have one, so that a replica rolls where its leader does (KIP-33).
            first = self._first_timestamp if self._first_timestamp is not None else self.first_timestamp
            if first < 0:
                bytes_left = bytes_left if now_ms - self.created_ms <= waited_ms_max else -1
            elif waited_ms_max < LONG_MAX - first:
                timestamp_max = first + waited_ms_max
        return bytes_left, self.base_offset + RELATIVE_OFFSET_MAX, timestamp_max

    @property
    def first_timestamp(self) -> int:
        """Largest timestamp of the first batch: the moment from which time-based rolling counts."""
        if self._first_timestamp is None:
            head = first_head(self.file, self.size_bytes)
            self._first_timestamp = head.max_timestamp if head else NO_TIMESTAMP
        return self._first_timestamp

    # Looking up.

    @property
    def max_timestamp(self) -> int:
        return self._load_max_timestamp() if self._max_timestamp is None else self._max_timestamp

    def _load_max_timestamp(self) -> int:
        if not index_truth.is_last_time_entry_true(self) and not self.has_rot:
            self.rebuild_indexes()
        self._max_timestamp, self.offset_of_max_timestamp = self.time_index.last_entry
        return self._max_timestamp

    def largest_timestamp_or_modified_ms(self) -> int:
        """What time-based retention judges by (SPEC C2)."""
        if self.max_timestamp >= 0:
            return self.max_timestamp
        return self._filesystem.modified_ms(self.path(names.LOG))

    def position_of(self, offset: int) -> tuple[int, int] | None:
        """Position and size of the batch that holds `offset`, or the first after it; None past the end."""
        index = self._offset_index or self.offset_index
        entry_offset, position, next_offset, next_position = index.lookup_around(offset)
        if entry_offset < offset and next_position - position > FAR_BYTES:
            found = peek_batch(self._file or self.file, next_position, self.size_bytes, next_offset, offset)
            if found is not None:
                return found
        expected = range(self.base_offset, entry_offset + 1) if position else None
        try:
            if not 0 <= position <= self.size_bytes:
                raise CorruptData(f"an index entry points at position {position}")
            return find_batch(self.file, position, self.size_bytes, offset, expected=expected)
        except CorruptData as damage:
            if not self.has_rot:
                self.has_rot = not index_truth.are_batches_whole(self)
            if self.has_rot:  # to scan it again would help nobody, and an index goes past the rot: it is worth keeping
                raise CorruptData(f"{self}: {damage}") from None
            self.rebuild_indexes()
            return find_batch(self.file, self.offset_index.lookup(offset)[1], self.size_bytes, offset)

    def heads(self, position: int = 0) -> Iterator[tuple[int, BatchHead]]:
        return scan_heads(self.file, position, self.size_bytes)

    def batches(self, position: int = 0) -> Iterator[tuple[int, memoryview]]:
        return read_batches(self.file, position, self.size_bytes)

    def end(self) -> tuple[int, int]:
        """The next offset and the position where the last whole batch ends: a scan from the last index entry."""
        entry_offset, position = self.offset_index.lookup(self.offset_index.last_offset)
        next_offset = self.base_offset
        for at, head in self.heads(position):
            is_first_found = position and next_offset == self.base_offset
            if head.base_offset < next_offset or (is_first_found and head.last_offset != entry_offset):
                raise CorruptData(f"offset {head.base_offset} at position {at} is out of order")
            next_offset, position = head.next_offset, at + head.size_bytes
        return next_offset, position

    # Changing shape.

    def truncate_to(self, offset: int) -> int:
        """Drop `offset` and everything above; returns the bytes cut."""
        found = self.position_of(offset)
        self.read_ends.clear()
        self.offset_index.truncate_to(offset)
        self.time_index.truncate_to(offset)
        self.aborted.truncate_to(offset)
        self.prepare_for_append()
        cut = 0
        if found is not None:
            cut = self.size_bytes - found[0]
            self.file.truncate(found[0])
            self.size_bytes, self.has_rot = found[0], False
        self._reread_timestamps()
        return cut

    def _reread_timestamps(self) -> None:
        self.bytes_since_index_entry = 0
        self._first_timestamp = None
        self._max_timestamp, self.offset_of_max_timestamp = self.time_index.last_entry
        # With each entry of the offset index goes one that tells the largest timestamp up to there, if it grew.
        for _, head in self.heads(self.offset_index.lookup(self.offset_index.last_offset)[1]):
            if head.max_timestamp > self._max_timestamp:
                self._max_timestamp, self.offset_of_max_timestamp = head.max_timestamp, head.last_offset

    def rebuild_indexes(self) -> None:
        """Both sparse indexes from the batches in the file, which are taken as they are up to the first bad one."""
        was_preallocated = self.is_preallocated
        self.clear_indexes()
        try:
            for position, head in self.heads():
                if not self.fits_offset(head.last_offset):
                    break
                self.note_batches(position, [(head.size_bytes, head.last_offset, head.max_timestamp)])
        except CorruptData:
            pass  # a look-up beyond this point will meet the same bytes and say so
        if not was_preallocated:
            self.finish()
            self.offset_index.sync()  # no flush will come by here again, and a clean stop vouches for them
            self.time_index.sync()

    def clear_indexes(self) -> None:
        if self._offset_index is None or self._time_index is None:
            self._open_indexes()
        self.offset_index.clear()
        self.time_index.clear()
        self.prepare_for_append()
        self._max_timestamp = NO_TIMESTAMP
        self._first_timestamp = None
        self.offset_of_max_timestamp = self.base_offset
        self.bytes_since_index_entry = 0

    def prepare_for_append(self) -> None:
        """Preallocate both indexes, as the active segment's are."""
        index_bytes = self.settings.segment_index_bytes
        self.offset_index.prepare_for_append(index_bytes)
        self.time_index.prepare_for_append(index_bytes)
        self.is_preallocated = True
        self.index_entries_left = min(self.offset_index.entries_left, self.time_index.entries_left)

    def finish(self) -> None:
        """No more appends: the last time index entry tells the largest timestamp, both indexes are trimmed."""
        if self.max_timestamp > NO_TIMESTAMP:
            self.time_index.maybe_append(self.max_timestamp, self.offset_of_max_timestamp, skip_full_check=True)
        self.offset_index.trim()
        self.time_index.trim()
        self.is_preallocated = False

    def sync(self) -> None:
        """Make the bytes of a segment durable, indexes included. Names are the folder's matter."""
        self.file.sync()
        self.offset_index.sync()
        self.time_index.sync()
        self.aborted.sync()

    def change_suffix(self, suffix: str) -> None:
        rename_segment(self._filesystem, self.path(""), self.suffix, suffix)
        self.suffix = suffix
        for kind, index in zip(
            names.INDEX_SUFFIXES, (self._offset_index, self._time_index, self._aborted), strict=True
        ):
            if index is not None:
                index.moved(self.path(kind))

    def remove_files(self) -> None:
        """Unlink what is there. Readers that still hold the file keep it until they are done."""
        self._abandon_indexes()
        for kind in names.SEGMENT_SUFFIXES:
            if self._filesystem.exists(self.path(kind)):
                self._filesystem.remove(self.path(kind))
        self.forget()

    @property
    def is_open(self) -> bool:
        return self._file is not None or self._offset_index is not None or self._time_index is not None

    def forget(self) -> None:
        """Drop the handles without closing the `.log` file: a slice handed to a reader may still use it."""
        for index in (self._offset_index, self._time_index, self._aborted):
            if index is not None:
                index.close()
        self.is_preallocated = False
        self._file = self._offset_index = self._time_index = self._aborted = None

    def close(self) -> None:
        """A clean close, after which the files are as a finished segment's."""
        if self.is_preallocated:
            self.finish()
        self.forget()
