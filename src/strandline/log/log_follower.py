"""What a follower does to its log: takes its leader's batches as they are, and truncates where the two differ."""

from __future__ import annotations

from strandline.log import lookup, replay
from strandline.log.filesystem import Buffer
from strandline.log.log_writer import LogWriter
from strandline.log.producer_state import CompletedTransaction
from strandline.log.segment import Segment
from strandline.model.failures import CorruptData, check
from strandline.records.batch import MAGIC_V2, BatchHead, split_batches
from strandline.records.control import read_marker
from strandline.records.heads import verified_head_of
from strandline.records.placing import Note
from strandline.records.taking import Origin, take_batches


class LogFollower(LogWriter):
    __slots__ = ()

    # Taking.

    def append_replicated(self, data: Buffer, *, now_ms: int) -> int:
        """As follower: take the leader's batches as they are; returns the new log end offset."""
        self.take_replicated(data, now_ms=now_ms)
        return self.log_end_offset

    def take_replicated(self, data: Buffer, *, now_ms: int) -> int:
        """The same; returns how many bytes were taken.

        A batch cut short at the end of `data` is left for the next fetch. `CorruptData` means the leader's bytes are
        bad or out of order; what came before them is kept.
        """
        self.check_usable()
        view = memoryview(data)
        try:
            try:
                position = self._take_plain(view, 0, now_ms)
                while (batch := next(split_batches(view[position:]), None)) is not None:
                    self._append_replicated_batch(batch, now_ms)
                    position = self._take_plain(view, position + len(batch), now_ms)
            except CorruptData:
                self._write_pending()
                raise
            self._write_pending()
            if self.log_end_offset - self.recovery_point >= self.settings.flush_messages:
                self.flush_wanted(self.log_end_offset)
        except OSError as error:
            raise self.failed(error) from error
        return position

    def _take_plain(self, data: memoryview, position: int, now_ms: int) -> int:
        """The short way, up to the first batch that has anything particular about it: where that is."""
        active, pending = self.segments.active, self._pending
        if self._saved_epoch < 0 or active.size_bytes == 0 or position == len(data):
            return position  # it opens an epoch, or a segment
        bytes_left, last_offset_max, max_timestamp_max = active.room(now_ms)
        room = bytes_left - pending.size_bytes, last_offset_max, max_timestamp_max
        notes, origins, end = take_batches(data, position, self.log_end_offset, self._saved_epoch, room)
        if origins:
            del notes[self._accept_origins(notes, origins) :]
            end = position + sum([size for size, _, _ in notes])
        if notes:
            pending.buffers.append(data[position:end])
            pending.notes += notes
            pending.size_bytes += end - position
            self.log_end_offset = self.producers.map_end_offset = notes[-1][1] + 1
        return end

    def _accept_origins(self, notes: list[Note], origins: list[Origin | None]) -> int:
        """How many of them are what should come next from their producers."""
        accept_next = self.producers.accept_next
        for count, ((_, last_offset, max_timestamp), origin) in enumerate(zip(notes, origins, strict=True)):
            if origin is not None and not accept_next(*origin, last_offset, max_timestamp):
                return count
        return len(notes)

    def _append_replicated_batch(self, batch: memoryview, now_ms: int) -> None:
        head = verified_head_of(batch)
        marker = read_marker(batch) if head.is_control and head.producer_id >= 0 else None  # before anything is changed
        if head.base_offset < self.log_end_offset <= head.last_offset and self.is_empty:
            self._begin_inside(head, now_ms)
        if head.base_offset < self.log_end_offset:
            raise CorruptData(f"batch at offset {head.base_offset} below the log end {self.log_end_offset}")
        self._make_room(len(batch), head.base_offset, head.last_offset, head.max_timestamp, now_ms)
        completed: CompletedTransaction | None = None
        if head.producer_id >= 0:
            completed = self.producers.accept(head, base_offset=head.base_offset, from_client=False, marker=marker)
        epoch = head.leader_epoch if head.magic >= MAGIC_V2 else -1
        self._take_in(batch, head.base_offset, head.last_offset, head.max_timestamp, epoch)
        if completed is not None:
            self._complete(completed)

    @property
    def is_empty(self) -> bool:
        """Whether no record can be read."""
        return self.log_start_offset == self.log_end_offset and self.segments.active.size_bytes == 0

    def _begin_inside(self, head: BatchHead, now_ms: int) -> None:
        """The leader's log start lies inside a batch: take all of it and hide what comes before (KAFKA-6975)."""
        log_start_offset = self.log_start_offset
        self.truncate_fully_and_start_at(head.base_offset, now_ms=now_ms)
        self.log_start_offset = log_start_offset  # which the batch will reach

    # Truncating.

    def truncate_to(self, offset: int, *, now_ms: int) -> bool:
        """Drop `offset` and everything above; False where there is no record to drop.

        Batches go whole: within one, the log ends where it began. Kafka's ends at `offset` until it is restarted. An
        epoch that begins at the end, of an election after which nothing was written, goes too: a new leader may never
        have heard of it, and would send its follower back to here for ever.
        """
        self.check_usable()
        check(offset >= 0, f"offsets are not negative: {offset}")
        if offset >= self.log_end_offset:
            if self.epochs.truncate_from_end(offset):
                self.save_epochs()
            return False
        if offset < self.segments.first.base_offset:
            self.truncate_fully_and_start_at(offset, now_ms=now_ms)
            return True
        with self._fence:
            self._truncate_to(offset, now_ms)
        return True

    def _truncate_to(self, offset: int, now_ms: int) -> None:
        kept = self.segments.holding(offset)
        offset = lookup.batch_start(kept, offset)
        self.truncating(kept.base_offset)
        self._lower_offsets(offset)
        # Epochs before bytes: an epoch that begins beyond the end of the log after a crash would be a lie.
        if self.epochs.truncate_from_end(offset):
            self.save_epochs()
        gone = [segment for segment in self.segments.all() if segment.base_offset > kept.base_offset]
        self.segments.replace(gone, ())
        # Highest first, each durably: what is left of them must not continue the records that come in their place.
        for segment in reversed(gone):
            self.deletions.schedule(segment, now_ms, self.settings.file_delete_delay_ms)
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
        check(offset >= 0, f"offsets are not negative: {offset}")
        with self._fence:
            first_offset = min(offset, self.segments.first.base_offset)
            self.truncating(first_offset)
            self._lower_offsets(first_offset)
            self.epochs.clear()
            self.save_epochs()
            self.snapshots.remove_all()
            gone = self.segments.all()
            for segment in reversed(gone):
                self.deletions.schedule(segment, now_ms, self.settings.file_delete_delay_ms)
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

    def _require_aborted_index(self, segment: Segment) -> None:
        replay.require_aborted(segment, self.segments, self.snapshots, self.log_start_offset)
