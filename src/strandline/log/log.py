"""The log of one partition: append, read, look up, roll, flush, truncate (SPEC L1-L9).

In four layers: `LogState` has the offsets and what they mean, `LogWriter` appends as a leader does, `LogFollower` takes
a leader's batches and truncates, and this one reads, flushes and lets go of what is old.

One thread owns a log. What may block is cut out so that it can run elsewhere: `begin_flush` returns work that syncs
files and touches nothing else, a read returns a slice of a file, and `page_cache` says whether it is in memory.
"""

from __future__ import annotations

from collections.abc import Sequence

from strandline.log import lookup, replay
from strandline.log.aborted_index import AbortedTransaction
from strandline.log.admission import Admission
from strandline.log.flush import FlushWork
from strandline.log.log_follower import LogFollower
from strandline.log.log_slice import LogSlice
from strandline.log.lookup import FoundBatch, TimestampOffset
from strandline.log.segment import Segment
from strandline.model.failures import CorruptData, ErrorCode, Refused
from strandline.model.settings import LogSettings


class Log(LogFollower):
    """The log of one partition. `recovery.open_log` opens one; `LogDirectory` keeps many, with their checkpoints."""

    __slots__ = ()

    def remember_unreplicated(self, high_watermark: int) -> None:
        """Right after it was opened. Who reads what is committed waits for the markers of transactions to be, and the
        snapshot of a clean stop only tells of open ones (Kafka forgets the others)."""
        high_watermark = max(high_watermark, self.log_start_offset)
        if self.producers.is_empty or high_watermark >= self.log_end_offset:
            return
        self.producers.unreplicated = replay.completed_from(
            self.segments, self.snapshots, self.log_start_offset, high_watermark, self.log_end_offset
        )
        for segment in self.segments.all():
            segment.forget()  # as after any opening: the snapshot may lie some segments below

    # Its beginning.

    def advance_log_start(self, offset: int, *, high_watermark: int) -> bool:
        """Hide everything below `offset` (DeleteRecords, SPEC C4); the files go with the next retention run."""
        self.check_usable()
        if offset > high_watermark:
            raise Refused(
                ErrorCode.OFFSET_OUT_OF_RANGE,
                f"offset {offset} is beyond the high watermark {high_watermark}",
            )
        if offset <= self.log_start_offset:
            return False
        self.log_start_offset = offset
        self.producers.log_start_moved(offset)
        self._saves_epochs_late |= self.epochs.truncate_from_start(offset)
        return True

    def remove_segments(self, segments: Sequence[Segment], *, now_ms: int) -> None:
        """Take segments out of the log and let their files go (SPEC C5). The active segment is rolled first."""
        self.check_usable()
        with self._fence:
            if self.segments.active in segments:
                self.roll(now_ms)
            self._flush_small_files()
            self.segments.replace(segments, ())
            for segment in segments:  # oldest first, also after a crash: a hole would be worse than no deletion
                self.deletions.schedule(segment, now_ms, self.settings.file_delete_delay_ms)
                self.snapshots.remove(segment.base_offset)
            self.log_start_offset = max(self.log_start_offset, self.segments.first.base_offset)
            self.producers.log_start_moved(self.log_start_offset)
            self._saves_epochs_late |= self.epochs.truncate_from_start(self.log_start_offset)

    @property
    def has_unflushed_files(self) -> bool:
        """Which are synced before a segment goes. Who may not wait for that flushes before, in a thread."""
        return bool(self._unflushed_paths)

    def _flush_small_files(self) -> None:
        """Once the records are gone, a snapshot is all that is known of their producers."""
        if self._unflushed_paths:
            FlushWork(self.filesystem, self.directory, [], self._unflushed_paths, 0).run()
            self._unflushed_paths = []

    # Flushing.

    def flush_is_due(self, now_ms: int) -> bool:
        """SPEC L9: by unflushed records, or by time since the last flush; nobody knows it if the clock was set back."""
        unflushed = self.log_end_offset - self.recovery_point
        return unflushed >= self.settings.flush_messages or (
            unflushed > 0 and not 0 <= now_ms - self.last_flush_ms < self.settings.flush_ms
        )

    @property
    def must_flush(self) -> bool:
        """Whether it has more records that are not on the disk than `flush.messages` allows."""
        unflushed = self.log_end_offset - self.recovery_point
        return unflushed >= self.settings.flush_messages and self.failure is None and not self.is_closed

    def begin_flush(self, up_to_offset: int | None = None) -> FlushWork:
        """What must be synced so that everything below `up_to_offset` (the log end by default) is durable."""
        self.check_usable()
        target = self.log_end_offset if up_to_offset is None else up_to_offset
        segments = [
            segment
            for segment in self.segments.from_offset(self.recovery_point)
            if segment.base_offset < target or segment.base_offset == self.recovery_point
        ]
        # Names that a flush which still runs has promised are not there yet for one that may end before it.
        directory = self.directory if self._has_new_names or self._running_flushes else None
        self._has_new_names = False
        work = FlushWork(self.filesystem, directory, segments, list(self._unflushed_paths), target)
        self._running_flushes.append(work)
        return work

    def end_flush(self, work: FlushWork, now_ms: int) -> None:
        """`work.run()` has returned: the recovery point moves up to what it promised."""
        self._running_flushes.remove(work)
        for path in work.small_files:
            if path in self._unflushed_paths:
                self._unflushed_paths.remove(path)  # once: what was made since, under the same name, is there twice
        self.recovery_point = max(self.recovery_point, min(work.up_to_offset, self.log_end_offset))
        self.last_flush_ms = now_ms

    def flush(self, now_ms: int, up_to_offset: int | None = None) -> None:
        """All three steps at once, for callers that may wait for the disk."""
        work = self.begin_flush(up_to_offset)
        with self._fence:
            work.run()
        self.end_flush(work, now_ms)

    # Reading.

    def read(self, offset: int, max_bytes: int, *, max_offset: int | None = None) -> LogSlice:
        """A file slice from the batch that holds `offset`; `max_offset` (a high watermark, say) ends it (SPEC L6)."""
        if self.failure is not None or self.is_closed:
            self.check_usable()
        log_end_offset = self.log_end_offset
        if not self.log_start_offset <= offset <= log_end_offset:
            raise Refused(
                ErrorCode.OFFSET_OUT_OF_RANGE,
                f"offset {offset} of {self.partition} is not within {self.log_start_offset} and {log_end_offset}",
            )
        limit = log_end_offset if max_offset is None else max_offset
        try:
            if offset >= limit or offset >= log_end_offset:
                return LogSlice(self.segments.active.file, self.segments.active.size_bytes, 0)
            return lookup.read_slice(self.segments, offset, max_bytes, max_offset=limit, log_end_offset=log_end_offset)
        except OSError as error:
            raise self.failed_to_read(error) from error
        except CorruptData as damage:
            raise self.corrupt(damage) from damage

    def find_batch(self, offset: int) -> FoundBatch | None:
        """Where the record with this offset lies, if it is here."""
        self.check_usable()
        if not self.log_start_offset <= offset < self.log_end_offset:
            return None
        with self._read_fence:
            return lookup.find_batch(self.segments, offset)

    def find_by_timestamp(self, timestamp: int) -> TimestampOffset | None:
        """The first record at or after `timestamp`, found exactly, also inside compressed batches (SPEC L5)."""
        self.check_usable()
        with self._read_fence:
            return lookup.find_by_timestamp(self.segments, timestamp, self.log_start_offset)

    def find_max_timestamp(self) -> TimestampOffset | None:
        self.check_usable()
        with self._read_fence:
            return lookup.find_max_timestamp(self.segments, self.log_start_offset)

    def aborted_transactions(self, fetch_offset: int, upper_bound_offset: int) -> list[AbortedTransaction]:
        self.check_usable()
        with self._read_fence:
            return lookup.aborted_transactions(
                self.segments, fetch_offset, upper_bound_offset, self._require_aborted_index
            )

    def aborted_transactions_in(self, offset: int, found: LogSlice, max_offset: int) -> list[AbortedTransaction]:
        """Those that a reader of committed records must leave out of a slice that was read from `offset` on: not all up
        to `max_offset`, of which there may be very many."""
        self.check_usable()
        with self._read_fence:
            return lookup.aborted_transactions_in(
                self.segments, offset, found, max_offset, self.log_end_offset, self._require_aborted_index
            )

    @property
    def size_bytes(self) -> int:
        return self.segments.size_bytes

    # Life.

    def change_settings(self, settings: LogSettings) -> None:
        self.settings = settings
        self._admission = Admission(settings)
        for segment in self.segments.all():
            segment.settings = settings

    def expire_producers(self, now_ms: int) -> None:
        self.producers.expire(now_ms, self.producer_id_expiration_ms)

    def begin_close(self) -> FlushWork | None:
        """What `close` would have to wait for, as the beginning of a flush; None if there is nothing."""
        self.check_usable()
        with self._fence:
            self._make_final(durable=False)
        return self.begin_flush() if self._has_unflushed() else None

    def close(self, now_ms: int) -> None:
        """A clean stop: producer state saved, everything synced, indexes trimmed. Without it, recovery runs."""
        self.check_usable()
        with self._fence:
            self._make_final(durable=True)
            if self._saves_epochs_late:
                self.save_epochs()
            if self._has_unflushed():
                self.flush(now_ms)
            for segment in self.segments.all():
                segment.close()
        self.is_closed = True

    def _has_unflushed(self) -> bool:
        """A log that never had a record loses nothing by losing its files: it would be begun again just so."""
        has_names = bool(self._has_new_names or self._unflushed_paths)
        return self.log_end_offset > 0 and (has_names or self.recovery_point < self.log_end_offset)

    def _make_final(self, *, durable: bool) -> None:
        snapshot = self.snapshots.take(self.producers, durable=durable)
        if snapshot is not None and not durable:
            self._unflushed_paths.append(snapshot)
            self._has_new_names = True
        if self.segments.active.is_preallocated:
            self.segments.active.finish()
