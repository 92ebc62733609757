"""AddPartitionsToTxn and AddOffsetsToTxn: which partitions a transaction writes to. They must be known before the first
record is there, or nobody would end it: a hanging transaction."""

from __future__ import annotations

from collections.abc import Iterable

from strandline.model.coordinators import check_storable
from strandline.model.failures import ErrorCode, Refused
from strandline.model.partitions import TopicPartition
from strandline.transactions.commands import OFFSETS_TOPIC, AddOffsets, AddPartitions
from strandline.transactions.draft import CoordinatorState, Draft
from strandline.transactions.epochs import Producer, refuse_unless_current
from strandline.transactions.records import Transaction
from strandline.transactions.replies import AddOffsetsReply, AddPartitionsReply, PartitionResult
from strandline.transactions.states import TransactionState
from strandline.transactions.transitions import with_partitions


def add_partitions(state: CoordinatorState, draft: Draft, command: AddPartitions) -> AddPartitionsReply:
    transaction = _transaction_of(state, command)
    if command.verify_only:
        return _verify(transaction, command)
    client_version = min(command.client_version, state.transaction_version)
    _add(draft, command.transactional_id, transaction, command.partitions, client_version)
    return command.answered()


def add_offsets(state: CoordinatorState, draft: Draft, command: AddOffsets) -> AddOffsetsReply:
    transaction = _transaction_of(state, command)
    partition = TopicPartition(OFFSETS_TOPIC, command.offsets_partition)
    _add(draft, command.transactional_id, transaction, (partition,), client_version=0)
    return AddOffsetsReply()


def _transaction_of(state: CoordinatorState, command: AddPartitions | AddOffsets) -> Transaction:
    if not command.transactional_id:
        raise Refused(ErrorCode.INVALID_REQUEST, "a transactional id cannot be empty")
    producer = Producer(command.producer_id, command.producer_epoch)
    return refuse_unless_current(state.transactions.get(command.transactional_id), producer)


def _add(
    draft: Draft,
    transactional_id: str,
    transaction: Transaction,
    partitions: Iterable[TopicPartition],
    client_version: int,
) -> None:
    added = frozenset(partitions)
    if transaction.state is TransactionState.ONGOING and added.issubset(transaction.partitions):
        return
    check_storable(*(partition.topic for partition in added))
    following = with_partitions(transaction, added, client_version=client_version, now_ms=draft.now_ms)
    draft.append(transactional_id, following)


def _verify(transaction: Transaction, command: AddPartitions) -> AddPartitionsReply:
    """Where a partition is not part of it the client can only abort."""
    known = frozenset(transaction.partitions)
    return AddPartitionsReply(
        transactional_id=command.transactional_id,
        results=tuple(
            PartitionResult(
                error_code=ErrorCode.NONE if partition in known else ErrorCode.TRANSACTION_ABORTABLE,
                partition=partition,
            )
            for partition in command.partitions
        ),
    )
