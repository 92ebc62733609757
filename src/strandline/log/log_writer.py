"""The leader's side of a log: append, roll (SPEC L3, P2).

Batches of several requests go out in one write. What is particular about a batch is found by `Admission.admit`; a batch
with nothing particular about it, as nearly all, takes a short way of a few comparisons.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from strandline.log import names, replay
from strandline.log.filesystem import Buffer
from strandline.log.log_state import LogState
from strandline.log.producer_state import CompletedTransaction
from strandline.log.segment import Segment
from strandline.model.failures import CorruptData, ErrorCode, Refused, check
from strandline.records.batch import NO_TIMESTAMP, set_place
from strandline.records.control import EndTransactionMarker, read_marker
from strandline.records.placing import Identity, Note, place_batches


class Appended(NamedTuple):
    """Where a batch went. A duplicate went nowhere: the offsets are those of the first time (SPEC P2)."""

    base_offset: int
    last_offset: int
    log_append_time_ms: int = NO_TIMESTAMP
    is_duplicate: bool = False


new_tuple = tuple.__new__  # half the price of calling the class


class LogWriter(LogState):
    """A log that a leader appends to."""

    __slots__ = ()

    def append(
        self, batches: Sequence[Buffer], *, leader_epoch: int, now_ms: int, from_client: bool = True
    ) -> list[Appended | Refused]:
        """As leader: give each batch its offsets and write them all in one go, one outcome for each batch.

        A batch must be writable (`bytearray` or a memoryview of one): its base offset and epoch are set in place.
        """
        if self.failure is not None or self.is_closed:
            self.check_usable()
        outcomes: list[Appended | Refused] = []
        try:
            self._append_plain(batches, leader_epoch, now_ms, outcomes)
            while len(outcomes) < len(batches):
                batch = batches[len(outcomes)]
                outcomes.append(self._append_particular(batch, leader_epoch, now_ms, from_client))
                self._append_plain(batches, leader_epoch, now_ms, outcomes)
            self._write_pending()
            if self.log_end_offset - self.recovery_point >= self.settings.flush_messages:
                self.flush_wanted(self.log_end_offset)
        except OSError as error:
            raise self.failed(error) from error
        except BaseException:
            # The caller's mistake, such as a batch that cannot be written to: those before it have their offsets.
            with self._fence:
                self._write_pending()
            raise
        return outcomes

    def _append_plain(
        self, batches: Sequence[Buffer], leader_epoch: int, now_ms: int, outcomes: list[Appended | Refused]
    ) -> None:
        """The short way, for those without an outcome, up to the first that has anything particular about it."""
        active, pending = self.segments.active, self._pending
        if leader_epoch != self._saved_epoch or active.size_bytes == 0:
            return  # it opens an epoch, or a segment
        limits = self._admission.plain_limits(now_ms, active.room(now_ms), pending.size_bytes)
        if limits is None:
            return
        start, base_offset = len(outcomes), self.log_end_offset
        notes, identities = place_batches(batches, start, base_offset, leader_epoch, limits)
        if identities:
            del notes[self._accept(notes, identities, base_offset) :]
        for note in notes:
            size, last_offset, _ = note
            pending.size_bytes += size
            outcomes.append(new_tuple(Appended, (base_offset, last_offset, NO_TIMESTAMP, False)))
            base_offset = last_offset + 1
        pending.buffers += batches[start : start + len(notes)]
        pending.notes += notes
        self.log_end_offset = self.producers.map_end_offset = base_offset

    def _accept(self, notes: list[Note], identities: list[Identity | None], base_offset: int) -> int:
        """How many of them are what should come next from their producers."""
        accept_next = self.producers.accept_next
        for count, ((_, last_offset, max_timestamp), identity) in enumerate(zip(notes, identities, strict=True)):
            if identity is not None and not accept_next(*identity, base_offset, last_offset, max_timestamp):
                return count
            base_offset = last_offset + 1
        return len(notes)

    def _append_particular(
        self, batch: Buffer, leader_epoch: int, now_ms: int, from_client: bool
    ) -> Appended | Refused:
        try:
            return self._admit(batch, leader_epoch, now_ms, from_client)
        except Refused as refused:
            return refused

    def _admit(self, batch: Buffer, leader_epoch: int, now_ms: int, from_client: bool) -> Appended:
        batch, head = self._admission.admit(batch, now_ms, from_client)
        marker = _marker_in(batch) if head.is_control and head.producer_id >= 0 else None
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
        set_place(batch, 0, base_offset, head.batch_length, leader_epoch)
        if head.producer_id >= 0:
            completed = self.producers.accept(head, base_offset=base_offset, from_client=True, marker=marker)
        self._take_in(batch, base_offset, last_offset, head.max_timestamp, leader_epoch)
        if completed is not None:
            self._complete(completed)
        return Appended(base_offset, last_offset, head.max_timestamp if head.is_log_append_time else NO_TIMESTAMP)

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
        if leader_epoch > self._saved_epoch:
            self._write_pending()
            if leader_epoch >= 0:
                self.assign_epoch(leader_epoch, base_offset)
            self.save_epochs()
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
            try:
                self.segments.active.append(pending.buffers, pending.notes)
            finally:
                pending.clear()  # whatever went wrong, nothing is written twice

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
        self.flush_wanted(base_offset)
        return segment


def _marker_in(batch: Buffer) -> EndTransactionMarker | None:
    try:
        return read_marker(batch)
    except CorruptData as error:
        raise Refused(ErrorCode.INVALID_RECORD, str(error)) from None
