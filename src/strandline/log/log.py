"""The log of one partition: append, read, look up, roll, flush, truncate (SPEC L1-L9).

Offsets, from low to high:

    log start offset   the first a reader may ask for; moves up by retention and DeleteRecords, never down
    recovery point     everything below is on the disk for sure; recovery starts here after a crash
    log end offset     the offset the next record will get

The high watermark and the last stable offset belong to replication and are given by the caller where they bound
something.

One thread owns a log. What may block is cut out so that it can run elsewhere: `begin_flush` returns work that syncs
files and touches nothing else, a read returns a file slice that says whether it is in the page cache.

A write that fails leaves memory and file in doubt, and a failed fsync may have dropped the pages it failed on: from the
first `OSError` on, the log refuses everything with `StorageFailed` until it is opened anew (KAFKA-10778).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from crc32c import crc32c

from strandline.log import checkpoints, lookup, names, replay
from strandline.log.aborted_index import AbortedTransaction
from strandline.log.admission import Admission
from strandline.log.deletions import Deletions
from strandline.log.fence import Fence
from strandline.log.filesystem import Buffer, FileSystem
from strandline.log.flush import FlushWork
from strandline.log.leader_epochs import LeaderEpochs
from strandline.log.log_slice import LogSlice
from strandline.log.lookup import TimestampOffset
from strandline.log.pending import Pending
from strandline.log.producer_snapshots import ProducerSnapshots
from strandline.log.producer_state import CompletedTransaction, ProducerState
from strandline.log.segment import Segment
from strandline.log.segments import Segments
from strandline.model.failures import CorruptData, ErrorCode, Refused, StorageFailed, check
from strandline.model.partitions import TopicPartition
from strandline.model.settings import LogSettings
from strandline.records.batch import (
    MAGIC_V2,
    NO_TIMESTAMP,
    set_place,
    split_batches,
)
from strandline.records.control import read_marker
from strandline.records.heads import verified_head_of


class Appended(NamedTuple):
    """Where a batch went. A duplicate went nowhere: the offsets are those of the first time (SPEC P2)."""

    base_offset: int
    last_offset: int
    log_append_time_ms: int = NO_TIMESTAMP
    is_duplicate: bool = False


class Log:
    def __init__(
        self,
        filesystem: FileSystem,
        directory: str,
        partition: TopicPartition,
        settings: LogSettings,
        *,
        segments: Segments,
        log_start_offset: int,
        recovery_point: int,
        log_end_offset: int,
        epochs: LeaderEpochs,
        producers: ProducerState,
        snapshots: ProducerSnapshots,
        producer_id_expiration_ms: int,
        has_new_names: bool,
        now_ms: int,
    ) -> None:
        """Use `recovery.open_log`, which finds all this on the disk."""
        self.filesystem = filesystem
        self.directory = directory
        self.partition = partition
        self.settings = settings
        self.segments = segments
        self.log_start_offset = log_start_offset  # <= log_end_offset
        self.recovery_point = recovery_point  # <= log_end_offset
        self.log_end_offset = log_end_offset
        self.epochs = epochs
        self.producers = producers
        self.snapshots = snapshots
        self.producer_id_expiration_ms = producer_id_expiration_ms
        self.deletions = Deletions(filesystem)
        self.last_flush_ms = now_ms
        self.failure: OSError | None = None
        self.offsets_lowered: Callable[[], None] = _nothing  # the log directory writes its checkpoints here
        self._latest_epoch = -1 if epochs.latest_epoch is None else epochs.latest_epoch
        self._has_new_names = has_new_names  # whether the folder has names that are not synced
        self._unflushed_paths: list[str] = []  # small files of segments that may all lie below the recovery point
        self._running_flushes: list[FlushWork] = []
        self._pending = Pending()
        self._admission = Admission(settings)
        self._fence = Fence(self.failed)
        segments.active.roll_jitter_ms = self.roll_jitter_ms(segments.active.base_offset)
        check(log_start_offset <= log_end_offset, "log start offset beyond log end offset")
        check(recovery_point <= log_end_offset, "recovery point beyond log end offset")

    # Appending.

    def append(
        self, batches: Sequence[Buffer], *, leader_epoch: int, now_ms: int, from_client: bool = True
    ) -> list[Appended | Refused]:
        """As leader: give each batch its offsets and write them all in one go, one outcome for each batch.

        A batch must be writable (`bytearray` or a memoryview of one): its base offset and epoch are set in place.
        """
        self.check_usable()
        outcomes: list[Appended | Refused] = []
        try:
            for batch in batches:
                try:
                    outcomes.append(self._append_one(batch, leader_epoch, now_ms, from_client))
                except Refused as refused:
                    outcomes.append(refused)
            self._write_pending()
        except OSError as error:
            raise self.failed(error) from error
        return outcomes

    def _append_one(self, batch: Buffer, leader_epoch: int, now_ms: int, from_client: bool) -> Appended:
        batch, head = self._admission.admit(batch, now_ms, from_client)
        base_offset = self.log_end_offset
        last_offset = base_offset + head.last_offset_delta
        completed: CompletedTransaction | None = None
        if head.producer_id >= 0:
            duplicate = self.producers.find_duplicate(head) if from_client else None
            if duplicate is not None:
                return Appended(
                    duplicate.first_offset,
                    duplicate.last_offset,
                    duplicate.timestamp if head.is_log_append_time else NO_TIMESTAMP,
                    is_duplicate=True,
                )
        self._make_room(len(batch), base_offset, last_offset, head.max_timestamp, now_ms)
        if head.producer_id >= 0:
            completed = self.producers.accept(
                head,
                base_offset=base_offset,
                from_client=True,
                marker=read_marker(batch) if head.is_control else None,
            )
        set_place(batch, 0, base_offset, head.batch_length, leader_epoch)
        self._take_in(batch, base_offset, last_offset, head.max_timestamp, leader_epoch)
        if completed is not None:
            self._complete(completed)
        return Appended(base_offset, last_offset, head.max_timestamp if head.is_log_append_time else NO_TIMESTAMP)

    def append_replicated(self, data: Buffer, *, now_ms: int) -> int:
        """As follower: take the leader's batches as they are; returns the new log end offset.

        A batch cut short at the end of `data` is left for the next fetch. `CorruptData` means the leader's bytes are
        bad or out of order; what came before them is kept.
        """
        self.check_usable()
        try:
            try:
                for batch in split_batches(data):
                    self._append_replicated_batch(batch, now_ms)
            finally:
                self._write_pending()
        except OSError as error:
            raise self.failed(error) from error
        return self.log_end_offset

    def _append_replicated_batch(self, batch: memoryview, now_ms: int) -> None:
        head = verified_head_of(batch)
        if head.base_offset < self.log_end_offset:
            raise CorruptData(f"batch at offset {head.base_offset} below the log end {self.log_end_offset}")
        self._make_room(len(batch), head.base_offset, head.last_offset, head.max_timestamp, now_ms)
        completed: CompletedTransaction | None = None
        if head.producer_id >= 0:
            completed = self.producers.accept(
                head,
                base_offset=head.base_offset,
                from_client=False,
                marker=read_marker(batch) if head.is_control else None,
            )
        epoch = head.leader_epoch if head.magic >= MAGIC_V2 else -1
        self._take_in(batch, head.base_offset, head.last_offset, head.max_timestamp, epoch)
        if completed is not None:
            self._complete(completed)

    def _make_room(self, size: int, base_offset: int, last_offset: int, max_timestamp: int, now_ms: int) -> None:
        """Roll where a batch does not belong into the active segment: before producers hear of it, or the snapshot
        taken there would know a batch that comes after it."""
        active, pending_bytes = self.segments.active, self._pending.size_bytes
        if pending_bytes and active.size_bytes == 0:
            self._write_pending()  # its first batch starts the clock for the others
            pending_bytes = 0
        if active.should_roll(pending_bytes + size, last_offset, max_timestamp, now_ms):
            self._write_pending()
            self.roll(now_ms, at_offset=self._roll_offset(base_offset, last_offset))

    def _take_in(
        self, batch: Buffer, base_offset: int, last_offset: int, max_timestamp: int, leader_epoch: int
    ) -> None:
        """Queue a batch for the next write."""
        pending = self._pending
        if leader_epoch > self._latest_epoch:
            self._write_pending()
            self.assign_epoch(leader_epoch, base_offset)
        size = len(batch)
        pending.buffers.append(batch)
        pending.notes.append((size, last_offset, max_timestamp))
        pending.size_bytes += size
        self.log_end_offset = last_offset + 1
        self.producers.map_end_offset = last_offset + 1

    def _roll_offset(self, base_offset: int, last_offset: int) -> int:
        """The log end, so that segments join without a gap, unless a leap in offsets would not fit the indexes."""
        leaps = last_offset - self.log_end_offset > 2**31 - 1
        return base_offset if leaps else self.log_end_offset

    def _write_pending(self) -> None:
        pending = self._pending
        if pending.buffers:
            self.segments.active.append(pending.buffers, pending.notes)
            pending.clear()

    def _complete(self, completed: CompletedTransaction) -> None:
        """A marker ended a transaction: index it if aborted, after its bytes are written."""
        self._write_pending()
        replay.note_completed(self.segments.active, self.producers, completed)
        self._has_new_names |= completed.is_aborted  # its index may be a new file

    # Rolling and flushing.

    def roll(self, now_ms: int, *, at_offset: int | None = None) -> Segment:
        """Close the active segment and begin the next, named by the first offset it can hold."""
        self.check_usable()
        base_offset = self.log_end_offset if at_offset is None else at_offset
        active = self.segments.active
        if active.base_offset == base_offset and active.size_bytes == 0:
            return active
        check(base_offset > active.base_offset, "a new segment must begin above the active one")
        with self._fence:
            return self._roll(base_offset, now_ms)

    def _roll(self, base_offset: int, now_ms: int) -> Segment:
        # At most one segment's name may be in doubt after a crash: two would allow a hole between them.
        if self._has_new_names or self._running_flushes:
            self.filesystem.sync_directory(self.directory)
        active = self.segments.active
        active.finish()
        self._unflushed_paths += [active.path(kind) for kind in names.INDEX_SUFFIXES]
        self.producers.map_end_offset = base_offset
        snapshot = self.snapshots.take(self.producers, durable=False)
        if snapshot is not None:
            self._unflushed_paths.append(snapshot)
        segment = Segment.create(
            self.filesystem,
            self.directory,
            base_offset,
            self.settings,
            now_ms=now_ms,
            roll_jitter_ms=self.roll_jitter_ms(base_offset),
        )
        self._has_new_names = True
        self.segments.add(segment)
        return segment

    def roll_jitter_ms(self, base_offset: int) -> int:
        """Spread rolls of many partitions over time; a hash of the names, so that it needs no random numbers."""
        bound = min(self.settings.segment_jitter_ms, self.settings.segment_ms)
        return crc32c(f"{self.partition}/{base_offset}".encode()) % bound if bound else 0

    def flush_is_due(self, now_ms: int) -> bool:
        """SPEC L9: by unflushed records, or by time since the last flush."""
        unflushed = self.log_end_offset - self.recovery_point
        return unflushed >= self.settings.flush_messages or (
            unflushed > 0 and now_ms - self.last_flush_ms >= self.settings.flush_ms
        )

    def begin_flush(self, up_to_offset: int | None = None) -> FlushWork:
        """What must be synced so that everything below `up_to_offset` (the log end by default) is durable."""
        self.check_usable()
        target = self.log_end_offset if up_to_offset is None else up_to_offset
        segments = [
            segment
            for segment in self.segments.from_offset(self.recovery_point)
            if segment.base_offset < target or segment.base_offset == self.recovery_point
        ]
        directory = self.directory if self._has_new_names else None
        self._has_new_names = False
        work = FlushWork(self.filesystem, directory, segments, list(self._unflushed_paths), target)
        self._running_flushes.append(work)
        return work

    def end_flush(self, work: FlushWork, now_ms: int) -> None:
        self._running_flushes.remove(work)
        self._unflushed_paths = [path for path in self._unflushed_paths if path not in work.small_files]
        self.recovery_point = max(self.recovery_point, min(work.up_to_offset, self.log_end_offset))
        self.last_flush_ms = now_ms

    def flush(self, now_ms: int, up_to_offset: int | None = None) -> None:
        work = self.begin_flush(up_to_offset)
        with self._fence:
            work.run()
        self.end_flush(work, now_ms)

    # Reading.

    def read(self, offset: int, max_bytes: int, *, max_offset: int | None = None) -> LogSlice:
        """A file slice from the batch that holds `offset`; `max_offset` (a high watermark, say) ends it (SPEC L6)."""
        self.check_usable()
        log_end_offset = self.log_end_offset
        if not self.log_start_offset <= offset <= log_end_offset:
            raise Refused(
                ErrorCode.OFFSET_OUT_OF_RANGE,
                f"offset {offset} of {self.partition} is not within {self.log_start_offset} and {log_end_offset}",
            )
        limit = log_end_offset if max_offset is None else max_offset
        if offset >= min(limit, log_end_offset):
            return LogSlice(self.segments.active.file, self.segments.active.size_bytes, 0)
        try:
            return lookup.read_slice(self.segments, offset, max_bytes, max_offset=limit, log_end_offset=log_end_offset)
        except OSError as error:
            raise self.failed(error) from error

    def find_by_timestamp(self, timestamp: int) -> TimestampOffset | None:
        self.check_usable()
        with self._fence:
            return lookup.find_by_timestamp(self.segments, timestamp, self.log_start_offset)

    def find_max_timestamp(self) -> TimestampOffset | None:
        self.check_usable()
        with self._fence:
            return lookup.find_max_timestamp(self.segments, self.log_start_offset)

    def aborted_transactions(self, fetch_offset: int, upper_bound_offset: int) -> list[AbortedTransaction]:
        self.check_usable()
        with self._fence:
            return lookup.aborted_transactions(
                self.segments, fetch_offset, upper_bound_offset, self._require_aborted_index
            )

    def _require_aborted_index(self, segment: Segment) -> None:
        now_ms, expiration_ms = self.last_flush_ms, self.producer_id_expiration_ms
        replay.require_aborted(segment, self.segments, self.snapshots, self.log_start_offset, now_ms, expiration_ms)

    @property
    def size_bytes(self) -> int:
        return self.segments.size_bytes

    # Leader epochs.

    def assign_epoch(self, leader_epoch: int, start_offset: int) -> None:
        """Record where a leader epoch begins; also without a record, when a leader is elected (KAFKA-7415)."""
        if self.epochs.assign(leader_epoch, start_offset):
            self.save_epochs()
        self._latest_epoch = max(self._latest_epoch, leader_epoch)

    def save_epochs(self) -> None:
        path = f"{self.directory}/{names.LEADER_EPOCH_CHECKPOINT}"
        with self._fence:
            checkpoints.write_leader_epochs(self.filesystem, path, self.epochs.entries())
        self._latest_epoch = -1 if self.epochs.latest_epoch is None else self.epochs.latest_epoch

    # Truncating and the log start.

    def truncate_to(self, offset: int, *, now_ms: int) -> bool:
        """Drop `offset` and everything above; False where there is nothing to drop."""
        self.check_usable()
        if offset >= self.log_end_offset:
            return False
        if offset < self.segments.first.base_offset:
            self.truncate_fully_and_start_at(offset, now_ms=now_ms)
            return True
        with self._fence:
            self._truncate_to(offset, now_ms)
        return True

    def _truncate_to(self, offset: int, now_ms: int) -> None:
        self._lower_offsets(offset)
        # Epochs before bytes: an epoch that begins beyond the end of the log after a crash would be a lie.
        if self.epochs.truncate_from_end(offset):
            self.save_epochs()
        gone = [segment for segment in self.segments.all() if segment.base_offset > offset]
        kept = self.segments.holding(offset)
        self.segments.replace(gone, ())
        # Highest first, each durably: what is left of them must not continue the records that come in their place.
        for segment in reversed(gone):
            self.deletions.schedule(segment, now_ms + self.settings.file_delete_delay_ms)
        self._require_aborted_index(kept)
        kept.truncate_to(offset)
        kept.aborted.sync()
        kept.file.sync()  # or old records come back, with the epoch of those written in their place (KIP-101)
        self.log_end_offset = offset
        self.snapshots.remove_above(offset)
        replay.rebuild_producers(
            self.segments,
            self.producers,
            self.snapshots,
            self.log_start_offset,
            offset,
            now_ms,
            self.producer_id_expiration_ms,
        )

    def _lower_offsets(self, offset: int) -> None:
        """Checkpoints that promise more than the log will hold must be rewritten before it is cut."""
        for work in self._running_flushes:  # what they sync is not what will be there (KAFKA-10101)
            work.up_to_offset = min(work.up_to_offset, offset)
        if offset < max(self.recovery_point, self.log_start_offset):
            self.recovery_point = min(self.recovery_point, offset)
            self.log_start_offset = min(self.log_start_offset, offset)
            self.offsets_lowered()

    def truncate_fully_and_start_at(self, offset: int, *, now_ms: int) -> None:
        """Empty the log; the next record gets `offset`. A follower whose leader has no older data does this."""
        self.check_usable()
        with self._fence:
            self._lower_offsets(min(offset, self.segments.first.base_offset))
            self.epochs.clear()
            self.save_epochs()
            self.snapshots.remove_all()
            gone = self.segments.all()
            for segment in reversed(gone):
                self.deletions.schedule(segment, now_ms + self.settings.file_delete_delay_ms)
            fresh = Segment.create(
                self.filesystem,
                self.directory,
                offset,
                self.settings,
                now_ms=now_ms,
                roll_jitter_ms=self.roll_jitter_ms(offset),
            )
            self.segments.replace(gone, [fresh])
            self._has_new_names = True
            self.producers.truncate_fully_and_start_at(offset)
        self.log_start_offset = self.log_end_offset = self.recovery_point = offset

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
        if self.epochs.truncate_from_start(offset):
            self.save_epochs()
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
                self.deletions.schedule(segment, now_ms + self.settings.file_delete_delay_ms)
                self.snapshots.remove(segment.base_offset)
            self.log_start_offset = max(self.log_start_offset, self.segments.first.base_offset)
            self.producers.log_start_moved(self.log_start_offset)
            if self.epochs.truncate_from_start(self.log_start_offset):
                self.save_epochs()

    def _flush_small_files(self) -> None:
        """Once the records are gone, a snapshot is all that is known of their producers."""
        if self._unflushed_paths:
            FlushWork(self.filesystem, self.directory, [], self._unflushed_paths, 0).run()
            self._unflushed_paths = []

    # Life.

    def change_settings(self, settings: LogSettings) -> None:
        self.settings = settings
        self._admission = Admission(settings)
        for segment in self.segments.all():
            segment.settings = settings

    def expire_producers(self, now_ms: int) -> None:
        self.producers.expire(now_ms, self.producer_id_expiration_ms)

    def check_usable(self) -> None:
        if self.failure is not None:
            raise StorageFailed(f"{self.partition} is offline: {self.failure}")

    def failed(self, error: OSError) -> StorageFailed:
        """From now on nothing is served: what is in memory and what is on the disk may differ."""
        self.failure = self.failure or error
        return StorageFailed(f"{self.partition}: {error}")

    def close(self, now_ms: int) -> None:
        """A clean stop: producer state saved, everything synced, indexes trimmed. Without it, recovery runs."""
        self.check_usable()
        with self._fence:
            self.snapshots.take(self.producers, durable=True)
            if self.segments.active.is_preallocated:
                self.segments.active.finish()
            if self._has_new_names or self.recovery_point < self.log_end_offset:
                self.flush(now_ms)
            for segment in self.segments.all():
                segment.close()

    def __str__(self) -> str:
        return f"{self.partition} [{self.log_start_offset}, {self.log_end_offset})"


def _nothing() -> None:
    """A log that stands alone has no checkpoints to keep true."""
