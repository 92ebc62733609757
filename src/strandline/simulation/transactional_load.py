"""A load that writes in transactions: what must hold of them, who reads what was written, and what producers heard."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from strandline.broker.cluster_image import CONSUMER_OFFSETS
from strandline.model.partitions import TopicPartition
from strandline.simulation.consumers import Consumer
from strandline.simulation.load import Load
from strandline.simulation.transaction_history import Transaction, TransactionalId, TransactionHistory
from strandline.simulation.transaction_invariants import LastStableOffset, WholeTransactions, ZombiesAreFenced

if TYPE_CHECKING:
    from strandline.simulation.simulation import Simulation


class TransactionalLoad(Load):
    topic: str  # that is written to, and by nobody else
    partitions_written: int
    is_compacted = False

    def __init__(self, simulation: Simulation) -> None:
        super().__init__(simulation)
        self.records = simulation.history
        self.history = TransactionHistory()
        self.own_partitions = [TopicPartition(self.topic, index) for index in range(self.partitions_written)]
        self._write_to(self.own_partitions)
        self._readers: list[Consumer] = []

    def _write_to(self, partitions: Sequence[TopicPartition]) -> None:
        self.partitions = partitions
        topics = {partition.topic for partition in partitions}
        self.invariants = [
            WholeTransactions(self.history, topics),
            LastStableOffset(self.history, topics),
            ZombiesAreFenced(self.history, topics),
        ]

    # What producers did and heard.

    def begin(self, owner: TransactionalId, name: str, producer_epoch: int, *, has_epoch_alone: bool) -> Transaction:
        transaction = Transaction(
            owner,
            name,
            producer_epoch,
            offset=len(owner.transactions),
            begun_after=self.history.markers.count,
            has_epoch_alone=has_epoch_alone,
        )
        owner.transactions.append(transaction)
        return transaction

    def ended(self, transaction: Transaction) -> None:
        self.history.committed_count += bool(transaction.outcome)
        self.world.tell(f"{transaction} is {'committed' if transaction.outcome else 'aborted'}")

    def offsets_leadership(self, broker: str) -> int | None:
        return self.simulation.observer.leadership(broker, TopicPartition(CONSUMER_OFFSETS, 0))

    def saw_offset(self, who: str, owner: TransactionalId, at_least: int, offset: int) -> None:
        transaction = owner.transactions[offset] if offset >= 0 else None
        if offset < at_least:
            committed = owner.transactions[at_least]
            self.complain("OffsetsInTransactions", f"{who} finds {offset} for {owner.group}, after {committed}")
        if transaction is not None and (not transaction.may_commit or transaction.outcome is False):
            self.complain("OffsetsInTransactions", f"{who} finds {offset}, of {transaction}, which was not committed")

    # The end.

    def heal(self) -> None:
        for reader in self._readers:
            reader.pace.hurry()

    def is_settled(self) -> bool:
        """No transaction hangs, and whoever reads has read all."""
        ends = {truth.name: truth.committed_end for truth in self.simulation.observer.living}
        return not any(partition.open for partition in self.history.partitions.values()) and all(
            reader.position >= ends[reader.partition] for reader in self._readers
        )
