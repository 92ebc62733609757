"""How a transaction goes from state to state: each function makes the next record out of the last."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from strandline.model.failures import check
from strandline.model.partitions import TopicPartition
from strandline.transactions.epochs import Producer, current_producer, following_producer, raised
from strandline.transactions.records import NO_PRODUCER_EPOCH, NO_PRODUCER_ID, Transaction
from strandline.transactions.states import EPOCH_BUMPS, TransactionState


def initialized(producer: Producer, *, proof: Producer | None, timeout_ms: int, now_ms: int) -> Transaction:
    """The id belongs to this producer, which proved that it had another pair before."""
    is_rotated = proof is not None and proof.producer_id != producer.producer_id
    return Transaction(
        state=TransactionState.EMPTY,
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        timeout_ms=timeout_ms,
        last_update_ms=now_ms,
        previous_producer_id=proof.producer_id if proof is not None and is_rotated else NO_PRODUCER_ID,
        last_producer_epoch=NO_PRODUCER_EPOCH if proof is None else proof.producer_epoch,
    )


def with_partitions(
    transaction: Transaction, partitions: Iterable[TopicPartition], *, client_version: int, now_ms: int
) -> Transaction:
    """These partitions are part of the transaction, which begins if it has not."""
    is_open = transaction.state is TransactionState.ONGOING
    return replace(
        transaction,
        state=TransactionState.ONGOING,
        partitions=tuple(sorted({*transaction.partitions, *partitions})),
        start_ms=transaction.start_ms if is_open else now_ms,
        last_update_ms=now_ms,
        client_version=client_version,
        previous_producer_id=NO_PRODUCER_ID,
        last_producer_epoch=NO_PRODUCER_EPOCH,
    )


def prepared(
    transaction: Transaction, *, is_commit: bool, producer_epoch: int, client_version: int, now_ms: int
) -> Transaction:
    """The outcome is decided. An abort of what has not begun has a start all the same: now."""
    return replace(
        transaction,
        state=TransactionState.PREPARE_COMMIT if is_commit else TransactionState.PREPARE_ABORT,
        producer_epoch=producer_epoch,
        start_ms=transaction.start_ms if transaction.state is TransactionState.ONGOING else now_ms,
        last_update_ms=now_ms,
        client_version=client_version,
        previous_producer_id=NO_PRODUCER_ID,
        last_producer_epoch=NO_PRODUCER_EPOCH,
    )


def fenced(transaction: Transaction, *, by_another: bool, transaction_version: int, now_ms: int) -> Transaction:
    """Aborted by the coordinator. Where another producer takes over, nobody may hold the pair before the new one."""
    skips_one = by_another and transaction_version >= EPOCH_BUMPS
    return prepared(
        transaction,
        is_commit=False,
        producer_epoch=raised(transaction.producer_epoch, 2 if skips_one else 1),
        client_version=transaction_version,
        now_ms=now_ms,
    )


def completed(transaction: Transaction, *, now_ms: int) -> Transaction:
    """All markers are written."""
    check(transaction.state.is_prepared, "only what is prepared can be completed")
    is_commit = transaction.state is TransactionState.PREPARE_COMMIT
    before, after = current_producer(transaction), following_producer(transaction)
    return replace(
        transaction,
        state=TransactionState.COMPLETE_COMMIT if is_commit else TransactionState.COMPLETE_ABORT,
        producer_id=after.producer_id,
        producer_epoch=after.producer_epoch,
        partitions=(),
        last_update_ms=now_ms,
        previous_producer_id=before.producer_id if before != after else NO_PRODUCER_ID,
        next_producer_id=NO_PRODUCER_ID,
    )
