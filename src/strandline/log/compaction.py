"""Compaction of one log (SPEC C6): of each key the newest record stays, and offsets never change.

Three steps, of which the long one can run in a worker thread while the owner of the log appends and reads:

    plan     owner's thread   notes which segments to clean, which transactions were aborted, which producers are active
    run      any thread       fills the offset map from the dirty segments, then writes every segment from the first on
                              anew, several into one where they fit, as synced `.cleaned` files
    finish   owner's thread   puts the new segments in place of the old, unless some of those are gone meanwhile;
                              at once, or one by one (`finish_next`)

A log has a clean part, below the first dirty offset, that earlier compactions went over, and a dirty part. The map
holds the dirty part; what it covers may end early when memory is short, and then only that much counts as cleaned.
Nothing at or above the uncleanable offset is touched. The caller sets it to the least of high watermark, last stable
offset, and the start of what is too young: an overwritten value must be committed and final (KAFKA-13194). It is
rounded down to the start of a segment; the active segment is never cleaned, and no open transaction either.

`run` reads through its own handles and writes names that nobody else uses. It shares nothing with the live segments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import field

from strandline.log import names
from strandline.log.aborted_index import AbortedTransaction
from strandline.log.cleaned_transactions import CleanedTransactions
from strandline.log.compaction_filter import CompactionFilter, LastOfProducer, last_of_producers
from strandline.log.compaction_groups import CompactionSource, group_sources, read_sources
from strandline.log.compaction_io import CleanedSegmentWriter, WatchedFile
from strandline.log.compaction_map import fill_from_segment
from strandline.log.filesystem import FileSystem
from strandline.log.log import Log
from strandline.log.offset_map import OffsetMap
from strandline.log.replacement import replace_segments
from strandline.log.scan import SMALLEST_BATCH_BYTES, read_batches
from strandline.log.segment import Segment
from strandline.model.failures import CorruptData
from strandline.model.lazy_dataclass import dataclass
from strandline.model.settings import CleanerSettings, LogSettings


class CompactionAbandoned(Exception):
    """Somebody asked to stop, or a segment went away while it was being read. The log is as it was."""


@dataclass(slots=True)
class CompactionCounts:
    map_keys: int = 0
    bytes_read: int = 0  # from the disk or its cache: what is mapped and copied counts twice
    bytes_written: int = 0
    records_read: int = 0
    records_written: int = 0


def _nothing(*_: int) -> None:
    pass


def _never() -> bool:
    return False


class Replacement:
    """Segments of the log and the one, still `.cleaned`, that will take their place."""

    __slots__ = ("cleaned", "sources")

    def __init__(self, sources: list[CompactionSource], cleaned: Segment) -> None:
        self.sources = sources
        self.cleaned = cleaned


@dataclass(slots=True, kw_only=True)
class Compaction:
    filesystem: FileSystem
    directory: str
    settings: LogSettings
    cleaner: CleanerSettings
    sources: list[CompactionSource]  # from the first segment of the log up to the uncleanable offset
    follower: Segment  # the segment after them
    first_dirty_offset: int
    aborted: list[AbortedTransaction]
    producers: dict[int, LastOfProducer]
    now_ms: int
    counts: CompactionCounts = field(default_factory=CompactionCounts)
    next_dirty_offset: int | None = None  # once it has run
    replacements: list[Replacement] = field(default_factory=list)
    _bytes_done: int = 0
    _throttle: Callable[[int], None] = _nothing
    _progress: Callable[[int, int], None] = _nothing
    _should_stop: Callable[[], bool] = _never

    @classmethod
    def plan(
        cls, log: Log, cleaner: CleanerSettings, *, first_dirty_offset: int, uncleanable_offset: int, now_ms: int
    ) -> Compaction | None:
        """None when there is nothing to clean below `uncleanable_offset`."""
        log.check_usable()
        undecided = log.producers.first_undecided_offset
        end_offset = min(uncleanable_offset, log.log_end_offset if undecided is None else undecided)
        sources, follower = read_sources(log, end_offset)
        if not sources or sources[-1].end_offset <= first_dirty_offset:
            return None
        return cls(
            filesystem=log.filesystem,
            directory=log.directory,
            settings=log.settings,
            cleaner=cleaner,
            sources=sources,
            follower=follower,
            # The checkpoint may be behind what retention has taken.
            first_dirty_offset=max(first_dirty_offset, sources[0].base_offset),
            aborted=log.aborted_transactions(sources[0].base_offset, sources[-1].end_offset),
            producers=last_of_producers(log.producers.entries()),
            now_ms=now_ms,
        )

    # The long part.

    def run(
        self,
        *,
        throttle: Callable[[int], None] = _nothing,
        progress: Callable[[int, int], None] = _nothing,
        should_stop: Callable[[], bool] = _never,
    ) -> None:
        """`throttle` is told of bytes read and written, `progress` of bytes done and to be done.

        `CompactionAbandoned` or a failure leaves no files behind. `CorruptData` says that the log cannot be cleaned.
        """
        self._throttle, self._progress, self._should_stop = throttle, progress, should_stop
        try:
            self._remove_stale()
            offset_map = self._fill_map()
            self._write_segments(offset_map)
            self.filesystem.sync_directory(self.directory)
        except FileNotFoundError as error:
            self.abandon()
            raise CompactionAbandoned(f"{error.filename} is gone") from error
        except Exception:
            self.abandon()
            raise
        self.next_dirty_offset = offset_map.latest_offset + 1

    def _remove_stale(self) -> None:
        """A `.cleaned` file that an earlier attempt failed to remove would condemn our `.swap` files after a crash."""
        for name in self.filesystem.names(self.directory):
            if name.endswith(names.CLEANED):
                self.filesystem.remove(f"{self.directory}/{name}")

    def _fill_map(self) -> OffsetMap:
        cleaner = self.cleaner
        offset_map = OffsetMap(cleaner.dedupe_buffer_size // cleaner.threads, cleaner.io_buffer_load_factor)
        transactions = CleanedTransactions(self.aborted)
        for source in self.sources:
            if source.end_offset > self.first_dirty_offset and not fill_from_segment(
                offset_map,
                self._batches_of(source),
                transactions,
                first_dirty_offset=self.first_dirty_offset,
                end_offset=source.end_offset,
            ):
                break
        self.counts.map_keys = len(offset_map)
        return offset_map

    def _write_segments(self, offset_map: OffsetMap) -> None:
        batch_filter = CompactionFilter(
            offset_map,
            CleanedTransactions(self.aborted),
            self.producers,
            now_ms=self.now_ms,
            delete_retention_ms=self.settings.delete_retention_ms,
        )
        covered = [source for source in self.sources if source.base_offset <= offset_map.latest_offset]
        for group in group_sources(covered, self.settings):
            self._write_group(group, batch_filter)
        self.counts.records_read = batch_filter.records_read

    def _write_group(self, group: list[CompactionSource], batch_filter: CompactionFilter) -> None:
        cleaned = Segment.create(
            self.filesystem,
            self.directory,
            group[0].base_offset,
            self.settings,
            now_ms=group[0].segment.created_ms,
            suffix=names.CLEANED,
        )
        self.replacements.append(Replacement(group, cleaned))
        writer = CleanedSegmentWriter(cleaned, self.cleaner.io_buffer_size, self._throttle)
        last_filled = max((index for index, source in enumerate(group) if source.size_bytes), default=-1)
        for index, source in enumerate(group):
            for position, batch in self._batches_of(source):
                ends_segment = index == last_filled and position + len(batch) == source.size_bytes
                kept = batch_filter.apply(batch, ends_segment=ends_segment)
                if kept is not None:
                    writer.add(kept)
        writer.close(batch_filter.aborted)
        batch_filter.aborted.clear()
        self.counts.bytes_written += cleaned.size_bytes
        self.counts.records_written += writer.record_count

    def _batches_of(self, source: CompactionSource) -> Iterator[tuple[int, memoryview]]:
        file = self.filesystem.open(source.path, writable=False)
        end = 0
        try:
            watched = WatchedFile(file, self._note_read)
            # A walk only reads, which is all that a watched file can do.
            chunk_bytes = max(self.cleaner.io_buffer_size, SMALLEST_BATCH_BYTES)
            batches = read_batches(watched, 0, source.size_bytes, chunk_bytes)  # type: ignore[arg-type]
            for position, batch in batches:
                end = position + len(batch)
                yield position, batch
            if file.size() < source.size_bytes:
                raise CompactionAbandoned(f"{source.path} was truncated")
        finally:
            file.close()
        if end < source.size_bytes:
            raise CorruptData(f"{source.path}: no whole batch at position {end}")
        self._bytes_done += source.size_bytes
        self._progress(self._bytes_done, self.bytes_to_do)

    def _note_read(self, position: int, size_bytes: int) -> None:
        if self._should_stop():
            raise CompactionAbandoned("asked to stop")
        self.counts.bytes_read += size_bytes
        self._throttle(size_bytes)
        self._progress(self._bytes_done + position, self.bytes_to_do)

    @property
    def bytes_to_do(self) -> int:
        """Mapped, then copied; less where the map is full early."""
        dirty = sum(each.size_bytes for each in self.sources if each.end_offset > self.first_dirty_offset)
        return dirty + sum(each.size_bytes for each in self.sources)

    def abandon(self) -> None:
        """Remove what was written and is not in place yet."""
        self.next_dirty_offset = None
        while self.replacements:
            self.replacements.pop().cleaned.remove_files()

    # The end.

    def finish(self, log: Log, *, now_ms: int) -> int | None:
        """Put the cleaned segments in place; returns the next first dirty offset, or None if it came to nothing."""
        while self.finish_next(log, now_ms=now_ms):
            pass
        return self.next_dirty_offset

    def finish_next(self, log: Log, *, now_ms: int) -> bool:
        """Put one of them in place, for whoever has other things to do between two of them: each syncs a few names.

        Whether more are left. If not, `next_dirty_offset` is that of the log, or None if some came to nothing.
        """
        log.check_usable()
        try:
            if self.next_dirty_offset is None or not self._still_fits(log):
                self.abandon()
                return False
            if self.replacements:
                replacement = self.replacements.pop(0)
                old = [source.segment for source in replacement.sources]
                replace_segments(log, old, [replacement.cleaned], now_ms=now_ms)
        except OSError as error:
            raise log.failed(error) from error
        return bool(self.replacements)

    def _still_fits(self, log: Log) -> bool:
        """Retention takes segments from the front; a truncation that reached us took the follower too."""
        live = set(map(id, log.segments.all()))
        segments = [source.segment for replacement in self.replacements for source in replacement.sources]
        return all(id(segment) in live for segment in (*segments, self.follower))
