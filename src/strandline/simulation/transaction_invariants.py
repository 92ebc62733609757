"""What must be true of transactions at every moment."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from strandline.simulation.observed import PartitionTruth
from strandline.simulation.transaction_history import Transaction, TransactionHistory


class WholeTransactions:
    """A transaction is committed in all its partitions or in none; as its producer was told; and only if it asked."""

    name = "WholeTransactions"

    def __init__(self, history: TransactionHistory, topics: Collection[str]) -> None:
        self._history = history
        self._topics = topics

    def check(self, truth: PartitionTruth) -> Iterator[str]:
        if truth.name.topic not in self._topics:
            return
        partition = self._history.of_partition(truth.name)
        looked = len(partition.entries)
        open_before = [entry for entries in partition.open.values() for entry in entries]
        yield from partition.follow(truth)
        touched = {entry.transaction: None for entry in (*open_before, *partition.entries[looked:])}
        for transaction in touched:
            if transaction is not None:
                yield from complaints_about(transaction)


def complaints_about(transaction: Transaction) -> Iterator[str]:
    decided = transaction.decided
    if not decided:
        return
    if len(set(decided.values())) > 1:
        yield f"{transaction} is torn: committed or not, {describe(transaction)}"
    if any(decided.values()) and not transaction.may_commit:
        yield f"{transaction} is committed, which nobody has asked for"
    if transaction.outcome is not None and transaction.outcome is not next(iter(decided.values())):
        told = "committed" if transaction.outcome else "aborted"
        yield f"{transaction} was {told}, as its producer was told, and is not: {describe(transaction)}"


def describe(transaction: Transaction) -> str:
    return ", ".join(f"{name} {'yes' if committed else 'no'}" for name, committed in transaction.decided.items())


class LastStableOffset:
    """A leader's last stable offset is where the first open transaction begins, or else its high watermark; and never
    beyond that."""

    name = "LastStableOffset"

    def __init__(self, history: TransactionHistory, topics: Collection[str]) -> None:
        self._history = history
        self._topics = topics

    def check(self, truth: PartitionTruth) -> Iterator[str]:
        if truth.name.topic not in self._topics:
            return
        first_open = self._history.of_partition(truth.name).first_open_offset
        for replica in truth.replicas.values():
            high_watermark, stable = replica.high_watermark, replica.last_stable_offset
            if replica.leads_in is None or replica.is_unread:
                continue
            if stable > high_watermark:
                yield f"leader {replica.broker_id} has the last stable offset {stable}, beyond {high_watermark=}"
            is_known = high_watermark == truth.committed_end
            if is_known and stable != (high_watermark if first_open is None else first_open):
                yield (
                    f"leader {replica.broker_id} has the last stable offset {stable}, with the high watermark"
                    f" {high_watermark} and the first open transaction at {first_open}"
                )


class ZombiesAreFenced:
    """Whoever was replaced writes nothing that it sends after its successor has begun."""

    name = "ZombiesAreFenced"

    def __init__(self, history: TransactionHistory, topics: Collection[str]) -> None:
        self._history = history
        self._topics = topics
        self._looked: dict[PartitionTruth, int] = {}

    def check(self, truth: PartitionTruth) -> Iterator[str]:
        if truth.name.topic not in self._topics:
            return
        looked, self._looked[truth] = self._looked.get(truth, 0), len(truth.committed)
        for batch in truth.committed[looked:]:
            transaction = self._history.sent.get(batch.crc)
            if transaction is None:
                continue
            newer = transaction.owner.newer_given_before(batch.producer_epoch, self._history.first_sent_us[batch.crc])
            if newer is not None:
                yield f"{batch} of {transaction}, epoch {batch.producer_epoch}, was sent after epoch {newer} was given"
