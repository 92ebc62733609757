"""What a partition remembers of each idempotent or transactional producer (SPEC P2, P3; KIP-98, KIP-360).

For each producer id: its epoch, its last five batches, and where its open transaction began. Five, because a
client may have five requests in flight: any of them may come again after a lost reply, and is then answered
with its old offset and not written twice. The rules for a batch that a client brings:

    producer unknown here           any sequence is taken: its records may have been deleted (KIP-360)
    epoch older than the known one  refused: a zombie
    epoch newer                     must begin at sequence 0
    same epoch                      must follow the last sequence; after 2**31 - 1 comes 0
    a transaction is open           must belong to it

A replicated or recovered batch is history and is taken as it comes (KAFKA-6003): its leader has judged it.

A transaction begins with its first batch and ends with a marker, a control batch of its producer. The first
unstable offset is the first offset of the oldest transaction that is either open, or ended by a marker that
is not yet below the high watermark. Readers of committed data stop there.

No IO and no clock; the log tells `map_end_offset`, the offset up to which its batches are reflected here.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from strandline.log.producer_entry import SEQUENCE_MAX, CachedBatch, ProducerEntry
from strandline.model.failures import ErrorCode, Refused, check
from strandline.records.batch import CONTROL, NO_SEQUENCE, TRANSACTIONAL, BatchHead
from strandline.records.control import EndTransactionMarker


class CompletedTransaction(NamedTuple):
    """`last_offset` is the marker's."""

    producer_id: int
    first_offset: int
    last_offset: int
    is_aborted: bool


class ProducerState:
    __slots__ = ("_entries", "_ongoing", "_quiet_from", "_unreplicated", "first_unstable_offset", "map_end_offset")

    def __init__(self) -> None:
        self._entries: dict[int, ProducerEntry] = {}
        self._ongoing: dict[int, int] = {}  # first offset to producer id; offsets only grow, so it is sorted
        self._unreplicated: deque[CompletedTransaction] = deque()  # in the order of their markers
        self._quiet_from = 0
        self.first_unstable_offset: int | None = None
        self.map_end_offset = 0

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def is_empty(self) -> bool:
        return not self._entries and not self._unreplicated

    @property
    def quiet_offsets(self) -> range:
        """Offsets at which no batch has a producer id, as far as can be told without a look: one would be known here,
        unless it has been forgotten since."""
        return range(0) if self._entries else range(self._quiet_from, self.map_end_offset)

    def entries(self) -> Collection[ProducerEntry]:
        return self._entries.values()

    def entry_of(self, producer_id: int) -> ProducerEntry | None:
        return self._entries.get(producer_id)

    def find_duplicate(self, head: BatchHead) -> CachedBatch | None:
        """The batch that this one repeats, if it is among the last five of its producer."""
        entry = self._entries.get(head.producer_id)
        if entry is None or entry.producer_epoch != head.producer_epoch or head.base_sequence == NO_SEQUENCE:
            return None
        first_sequence = head.base_sequence
        for batch in entry.batches:
            if batch.first_sequence == first_sequence and batch.last_sequence == head.last_sequence:
                return batch
        return None

    def accept_next(
        self,
        producer_id: int,
        producer_epoch: int,
        sequence: int,
        base_offset: int,
        last_offset: int,
        timestamp: int,
    ) -> bool:
        """Accept a batch that is exactly what should come next, outside of any transaction; False if it is not."""
        entry = self._entries.get(producer_id)
        if (
            entry is None
            or entry.producer_epoch != producer_epoch
            or entry.current_transaction_first_offset is not None
            or not entry.batches
        ):
            return False
        if sequence != (entry.batches[-1].last_sequence + 1) & SEQUENCE_MAX:
            return False
        for batch in entry.batches:
            if batch.first_sequence == sequence:
                return False  # it may be a repetition all the same, where sequences have begun anew
        last_sequence = (sequence + last_offset - base_offset) & SEQUENCE_MAX
        entry.add_batch(producer_epoch, CachedBatch(sequence, last_sequence, base_offset, last_offset, timestamp))
        return True

    def accept(
        self,
        head: BatchHead,
        *,
        base_offset: int,
        from_client: bool,
        marker: EndTransactionMarker | None = None,
        timestamp: int | None = None,
    ) -> CompletedTransaction | None:
        """Take a batch that has a producer id into account, or refuse it and change nothing.

        `base_offset` is where it goes; `timestamp` its maximum, where that is not the head's (LogAppendTime).
        `from_client` also holds for what this broker's coordinators write: markers, and batches without
        sequences, for which the sequence rules do not hold.
        """
        attributes, sequence = head.attributes, head.base_sequence
        if timestamp is None:
            timestamp = head.max_timestamp
        entry = self._entries.get(head.producer_id)
        if attributes & CONTROL:
            if marker is None:
                return None  # compaction has emptied it: the whole transaction is gone
            return self._accept_marker(head, entry, base_offset, from_client, marker, timestamp)
        if entry is None:
            entry = self._add(head.producer_id, head.producer_epoch)
        elif from_client:
            refuse_unless_next(entry, head.producer_epoch, sequence, attributes & TRANSACTIONAL != 0)
        elif entry.has_begun_anew(sequence):
            entry.batches.clear()  # it was forgotten in between: what it sent before then is repeated by nobody
        last_offset = base_offset + head.last_offset_delta
        batch = CachedBatch(sequence, head.last_sequence, base_offset, last_offset, timestamp)
        entry.add_batch(head.producer_epoch, batch)
        if attributes & TRANSACTIONAL and entry.current_transaction_first_offset is None:
            self._begin(entry, base_offset)
        return None

    def _accept_marker(
        self,
        head: BatchHead,
        entry: ProducerEntry | None,
        offset: int,
        from_client: bool,
        marker: EndTransactionMarker,
        timestamp: int,
    ) -> CompletedTransaction | None:
        if entry is None:
            entry = self._add(head.producer_id, head.producer_epoch)
        elif from_client:
            refuse_fenced_marker(entry, head.producer_epoch, marker.coordinator_epoch)
        first_offset = entry.current_transaction_first_offset
        entry.end_transaction(head.producer_epoch, marker.coordinator_epoch, timestamp)
        if first_offset is None:
            return None  # an empty transaction holds no reader up and needs no place in the aborted index
        return CompletedTransaction(head.producer_id, first_offset, offset, not marker.is_commit)

    def _add(self, producer_id: int, producer_epoch: int) -> ProducerEntry:
        check(producer_id >= 0, "only batches with a producer id change producer state")
        entry = self._entries[producer_id] = ProducerEntry(producer_id, producer_epoch)
        return entry

    def _begin(self, entry: ProducerEntry, first_offset: int) -> None:
        check(first_offset > next(reversed(self._ongoing), -1), "transactions begin in the order of offsets")
        entry.current_transaction_first_offset = first_offset
        self._ongoing[first_offset] = entry.producer_id
        if self.first_unstable_offset is None:
            self.first_unstable_offset = first_offset

    @property
    def first_undecided_offset(self) -> int | None:
        """The first offset of the oldest open transaction."""
        return next(iter(self._ongoing), None)

    def last_stable_offset_of(self, completed: CompletedTransaction) -> int:
        """For the aborted index: where readers of committed data stand once this marker counts."""
        ongoing = self._ongoing.items()
        others = (first for first, producer_id in ongoing if producer_id != completed.producer_id)
        return next(others, completed.last_offset + 1)

    def complete(self, completed: CompletedTransaction) -> None:
        """Once the aborted index has it. It stays unstable until the high watermark passes its marker."""
        check(completed.first_offset in self._ongoing, f"{completed} is open")
        del self._ongoing[completed.first_offset]
        self._unreplicated.append(completed)

    @property
    def unreplicated(self) -> Sequence[CompletedTransaction]:
        """Those that have ended, with markers above the high watermark. No snapshot has them."""
        return tuple(self._unreplicated)

    @unreplicated.setter
    def unreplicated(self, completed: Iterable[CompletedTransaction]) -> None:
        self._unreplicated = deque(completed)
        self._find_first_unstable()

    def high_watermark_moved(self, high_watermark: int) -> None:
        unreplicated = self._unreplicated
        if not unreplicated or unreplicated[0].last_offset >= high_watermark:
            return
        while unreplicated and unreplicated[0].last_offset < high_watermark:
            unreplicated.popleft()
        self._find_first_unstable()

    def log_start_moved(self, log_start_offset: int) -> None:
        """Deleted records take no producer with them, so that its next sequence can still be judged."""
        self.high_watermark_moved(log_start_offset)
        self.map_end_offset = max(self.map_end_offset, log_start_offset)

    def _find_first_unstable(self) -> None:
        candidates = [completed.first_offset for completed in self._unreplicated]
        candidates.extend(first for first in (self.first_undecided_offset,) if first is not None)
        self.first_unstable_offset = min(candidates, default=None)

    def expire(self, now_ms: int, expiration_ms: int) -> int:
        """Forget idle producers; returns how many. Markers count as activity (KAFKA-9144)."""
        idle = [entry.producer_id for entry in self._entries.values() if entry.is_expired(now_ms, expiration_ms)]
        for producer_id in idle:
            del self._entries[producer_id]
        if idle:
            self._quiet_from = self.map_end_offset
        return len(idle)

    def truncate_fully_and_start_at(self, offset: int) -> None:
        self._entries.clear()
        self._ongoing.clear()
        self._unreplicated.clear()
        self.first_unstable_offset = None
        self.map_end_offset = self._quiet_from = offset

    def load(self, entries: Iterable[ProducerEntry], end_offset: int, now_ms: int, expiration_ms: int) -> None:
        """Begin anew from what a snapshot at `end_offset` holds, without those that have expired since."""
        self.truncate_fully_and_start_at(end_offset)
        for entry in entries:
            if not entry.is_expired(now_ms, expiration_ms):
                self._entries[entry.producer_id] = entry
        open_entries = (
            (entry.current_transaction_first_offset, entry.producer_id)
            for entry in self._entries.values()
            if entry.current_transaction_first_offset is not None
        )
        self._ongoing.update(sorted(open_entries))
        self._find_first_unstable()


def refuse_unless_next(entry: ProducerEntry, producer_epoch: int, sequence: int, is_transactional: bool) -> None:
    """Whether a client may write this batch now."""
    if producer_epoch == entry.producer_epoch:
        batches = entry.batches
        last_sequence = batches[-1].last_sequence if batches else NO_SEQUENCE
        if sequence != (last_sequence + 1) & SEQUENCE_MAX and sequence != NO_SEQUENCE:
            raise Refused(
                ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
                f"producer {entry.producer_id} sent sequence {sequence} after {last_sequence}",
            )
    elif producer_epoch < entry.producer_epoch:
        raise _old_epoch(entry, producer_epoch)
    elif sequence not in (0, NO_SEQUENCE):
        raise Refused(
            ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
            f"producer {entry.producer_id} began its epoch {producer_epoch} with sequence {sequence}",
        )
    if not is_transactional and entry.current_transaction_first_offset is not None:
        raise Refused(
            ErrorCode.INVALID_TXN_STATE,
            f"producer {entry.producer_id} wrote outside its transaction, open since offset"
            f" {entry.current_transaction_first_offset}",
        )


def refuse_fenced_marker(entry: ProducerEntry, producer_epoch: int, coordinator_epoch: int) -> None:
    if producer_epoch < entry.producer_epoch:
        raise _old_epoch(entry, producer_epoch)
    if coordinator_epoch < entry.coordinator_epoch:
        raise Refused(
            ErrorCode.TRANSACTION_COORDINATOR_FENCED,
            f"coordinator epoch {coordinator_epoch} for producer {entry.producer_id} is older than"
            f" {entry.coordinator_epoch}",
        )


def _old_epoch(entry: ProducerEntry, producer_epoch: int) -> Refused:
    return Refused(
        ErrorCode.INVALID_PRODUCER_EPOCH,
        f"epoch {producer_epoch} of producer {entry.producer_id} is older than {entry.producer_epoch}",
    )
