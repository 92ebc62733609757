"""What transactional producers did and were told, and what became of their transactions in the partitions.

The truth is in the committed batches. Going along a partition, a transactional batch opens its producer's transaction
there, and the next marker of that producer decides all that is open: from this a small model says which batches are to
be read by `read_committed`, and how far.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field

from strandline.model.partitions import TopicPartition
from strandline.simulation.observed import Batch, Kind, PartitionTruth


@dataclass(eq=False, slots=True)
class TransactionalId:
    """With all that was ever done under it, by whichever producer."""

    name: str
    group: str
    transactions: list[Transaction] = field(default_factory=list)
    given: list[tuple[int, int]] = field(default_factory=list)  # by InitProducerId: when it was heard, which epoch

    def newer_given_before(self, producer_epoch: int, at_us: int) -> int | None:
        """An epoch that fences this one, and was heard of by then."""
        return next((epoch for us, epoch in self.given if epoch > producer_epoch and us < at_us), None)


@dataclass(eq=False, slots=True)
class Transaction:
    owner: TransactionalId
    name: str
    producer_epoch: int
    offset: int  # that is committed for its group, where `has_offset`; each is greater than those before
    begun_after: int = 0  # so many markers, in all partitions
    has_epoch_alone: bool = False  # no transaction comes after it in its epoch
    has_offset: bool = False
    may_commit: bool = False  # its commit was asked for
    outcome: bool | None = None  # as its producer was told: committed or not
    decided: dict[TopicPartition, bool] = field(default_factory=dict)  # by markers

    def __str__(self) -> str:
        return self.name


@dataclass(slots=True)
class Entry:
    """A committed batch that is no marker."""

    batch: Batch
    transaction: Transaction | None
    is_committed: bool | None  # None while nothing decides it


@dataclass(slots=True)
class Markers:
    """Of all partitions, as far as they are committed."""

    count: int = 0


class PartitionTransactions:
    """One partition's part in all transactions, as far as it is committed."""

    def __init__(self, name: TopicPartition, sent: dict[int, Transaction], markers: Markers) -> None:
        self.name = name
        self._markers = markers
        self.entries: list[Entry] = []
        self.open: dict[int, list[Entry]] = {}  # by producer id
        self._epochs: dict[int, int] = {}
        self._ended: dict[int, tuple[int, int]] = {}  # by producer id: the epoch and the number of the last marker
        self._sent = sent
        self._looked = 0

    def follow(self, truth: PartitionTruth) -> Iterator[str]:
        """What is wrong with what is new."""
        looked, self._looked = self._looked, len(truth.committed)
        for batch in truth.committed[looked:]:
            if batch.kind is Kind.PLAIN:
                self.entries.append(Entry(batch, None, True))
            else:
                yield from self._check_epoch(batch)
                if batch.kind is Kind.TRANSACTIONAL:
                    yield from self._add(batch)
                else:
                    self._decide(batch, is_committed=batch.kind is Kind.COMMIT_MARKER)

    def _check_epoch(self, batch: Batch) -> Iterator[str]:
        known = self._epochs.get(batch.producer_id, -1)
        self._epochs[batch.producer_id] = max(known, batch.producer_epoch)
        if batch.producer_epoch < known:
            yield f"producer {batch.producer_id} goes back from epoch {known} to {batch.producer_epoch} with {batch}"

    def _add(self, batch: Batch) -> Iterator[str]:
        transaction = self._sent.get(batch.crc)
        entry = Entry(batch, transaction, None)
        self.entries.append(entry)
        self.open.setdefault(batch.producer_id, []).append(entry)
        if transaction is None:
            yield f"nobody sent {batch}"
        elif self.name in transaction.decided:
            yield f"{batch} of {transaction} comes after the marker that ended it"
        elif transaction.has_epoch_alone:
            epoch, number = self._ended.get(batch.producer_id, (-1, 0))
            if batch.producer_epoch <= epoch and transaction.begun_after < number:
                yield f"{batch} of {transaction} comes after the marker that ended it with nothing here"

    def _decide(self, marker: Batch, *, is_committed: bool) -> None:
        self._markers.count += 1
        self._ended[marker.producer_id] = marker.producer_epoch, self._markers.count
        for entry in self.open.pop(marker.producer_id, ()):
            entry.is_committed = is_committed
            if entry.transaction is not None:
                entry.transaction.decided[self.name] = is_committed

    @property
    def first_open_offset(self) -> int | None:
        return min((entries[0].batch.base_offset for entries in self.open.values()), default=None)

    def between(self, begin: int, end: int) -> list[Entry]:
        """Those that begin there."""
        first = bisect_left(self.entries, begin, key=lambda entry: entry.batch.base_offset)
        last = bisect_left(self.entries, end, key=lambda entry: entry.batch.base_offset)
        return self.entries[first:last]


class TransactionHistory:
    def __init__(self) -> None:
        self.sent: dict[int, Transaction] = {}  # by the CRC of each batch
        self.first_sent_us: dict[int, int] = {}
        self.partitions: dict[TopicPartition, PartitionTransactions] = {}
        self.committed_count = 0
        self.markers = Markers()

    def of_partition(self, name: TopicPartition) -> PartitionTransactions:
        if name not in self.partitions:
            self.partitions[name] = PartitionTransactions(name, self.sent, self.markers)
        return self.partitions[name]

    def complaints_about_read(self, name: TopicPartition, begin: int, end: int, given: list[Batch]) -> Iterator[str]:
        """Of a `read_committed` consumer that asked for `begin`, goes on at `end`, and was given these."""
        entries = self.of_partition(name).between(begin, end)
        undecided = next((entry for entry in entries if entry.is_committed is None), None)
        if undecided is not None:
            yield f"read beyond {undecided.batch} of {undecided.transaction}, which nothing has decided"
        expected = {entry.batch: entry for entry in entries if entry.is_committed}
        for batch in given:
            if batch.base_offset >= begin and batch not in expected:
                yield f"was given {batch}, which is not of a committed transaction"
        for batch, entry in expected.items():
            if batch not in given:
                yield f"was not given {batch} of {entry.transaction}, which is committed"
