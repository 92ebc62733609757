"""One producer as a partition knows it: its epoch, its last five batches, its open transaction."""

from __future__ import annotations

from typing import NamedTuple

from strandline.records.batch import NO_TIMESTAMP

BATCHES_REMEMBERED = 5
SEQUENCE_MAX = 2**31 - 1  # also the mask: after it comes 0
NO_COORDINATOR_EPOCH = -1


class CachedBatch(NamedTuple):
    """Enough of a written batch to recognise its repetition and answer it. Its timestamp is its maximum."""

    first_sequence: int
    last_sequence: int
    first_offset: int
    last_offset: int
    timestamp: int


class ProducerEntry:
    """`batches` are of the current epoch, oldest first; `last_timestamp` is the last batch's or marker's."""

    __slots__ = (
        "batches",
        "coordinator_epoch",
        "current_transaction_first_offset",
        "last_timestamp",
        "producer_epoch",
        "producer_id",
    )

    def __init__(
        self,
        producer_id: int,
        producer_epoch: int,
        *,
        coordinator_epoch: int = NO_COORDINATOR_EPOCH,
        last_timestamp: int = NO_TIMESTAMP,
        current_transaction_first_offset: int | None = None,
        last_batch: CachedBatch | None = None,
    ) -> None:
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.coordinator_epoch = coordinator_epoch
        self.last_timestamp = last_timestamp
        self.current_transaction_first_offset = current_transaction_first_offset
        self.batches = [] if last_batch is None else [last_batch]

    @property
    def last_batch(self) -> CachedBatch | None:
        return self.batches[-1] if self.batches else None

    def has_begun_anew(self, sequence: int) -> bool:
        """Whether a batch in the log with this sequence does not continue the one before it. Compaction leaves gaps
        between sequences, but never sends them back."""
        last = self.last_batch
        if last is None or sequence == (last.last_sequence + 1) & SEQUENCE_MAX:
            return False
        return 0 <= sequence <= last.last_sequence

    def add_batch(self, producer_epoch: int, batch: CachedBatch) -> None:
        if producer_epoch != self.producer_epoch:
            self._change_epoch(producer_epoch)
        batches = self.batches
        if len(batches) == BATCHES_REMEMBERED:
            del batches[0]
        batches.append(batch)
        self.last_timestamp = batch.timestamp

    def end_transaction(self, producer_epoch: int, coordinator_epoch: int, timestamp: int) -> None:
        if producer_epoch != self.producer_epoch:
            self._change_epoch(producer_epoch)
        self.coordinator_epoch = coordinator_epoch
        self.last_timestamp = timestamp
        self.current_transaction_first_offset = None

    def _change_epoch(self, producer_epoch: int) -> None:
        self.producer_epoch = producer_epoch
        self.batches.clear()

    def is_expired(self, now_ms: int, expiration_ms: int) -> bool:
        return self.current_transaction_first_offset is None and now_ms - self.last_timestamp >= expiration_ms
