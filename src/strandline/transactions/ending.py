"""EndTxn: commit or abort.

Without epoch bumps (before version 5) a repeated EndTxn is told from a new one by the state alone, and one that was
delayed until the next transaction has begun ends that one: KAFKA-14562, which no coordinator can mend for such clients.

With them the epoch tells: a request with the pair before the current one is the last EndTxn again, and one with the
current pair is about the next transaction. What each hears:

                     abort, again   abort, next    commit, again   commit, next
    EMPTY            fenced         empty abort    fenced          no such transaction
    ONGOING          fenced         ends it        fenced          ends it
    PREPARE_ABORT    not complete   not complete   wrong state     not complete
    PREPARE_COMMIT   wrong state    not complete   not complete    not complete
    COMPLETE_ABORT   done           empty abort    wrong state     no such transaction
    COMPLETE_COMMIT  wrong state    empty abort    done            no such transaction
"""

from __future__ import annotations

from dataclasses import replace

from strandline.model.failures import ErrorCode, Refused
from strandline.transactions.commands import EndTransaction
from strandline.transactions.draft import CoordinatorState, Draft
from strandline.transactions.epochs import (
    Producer,
    current_producer,
    following_producer,
    is_exhausted,
    not_current,
    preceding_producer,
    raised,
)
from strandline.transactions.records import Transaction
from strandline.transactions.replies import EndTransactionReply
from strandline.transactions.states import EPOCH_BUMPS, TransactionState
from strandline.transactions.transitions import prepared


def end_transaction(state: CoordinatorState, draft: Draft, command: EndTransaction) -> EndTransactionReply:
    if not command.transactional_id:
        raise Refused(ErrorCode.INVALID_REQUEST, "a transactional id cannot be empty")
    transaction = state.transactions.get(command.transactional_id)
    if transaction is None:
        raise Refused(ErrorCode.INVALID_PRODUCER_ID_MAPPING, "there is no such transactional id")
    if command.bumps_epoch and state.transaction_version >= EPOCH_BUMPS:
        return _end_and_bump(state, draft, command, transaction)
    return _end(draft, command, transaction)


def _end(draft: Draft, command: EndTransaction, transaction: Transaction) -> EndTransactionReply:
    if _producer_of(command) != current_producer(transaction):
        raise not_current(transaction, _producer_of(command))
    if transaction.state is TransactionState.ONGOING:
        ended = prepared(
            transaction,
            is_commit=command.is_commit,
            producer_epoch=transaction.producer_epoch,
            client_version=0,
            now_ms=draft.now_ms,
        )
        draft.end(command.transactional_id, ended)
        return _answered(ended)
    return _answered_again(command, transaction)


def _end_and_bump(
    state: CoordinatorState, draft: Draft, command: EndTransaction, transaction: Transaction
) -> EndTransactionReply:
    producer = _producer_of(command)
    if transaction.state is not TransactionState.EMPTY and producer == preceding_producer(transaction):
        return _answered_again(command, transaction)
    if producer not in (current_producer(transaction), following_producer(transaction)):
        raise not_current(transaction, producer)
    if transaction.state.is_prepared:
        raise _not_complete()
    if command.is_commit and transaction.state is not TransactionState.ONGOING:
        raise _wrong_state(command, transaction)
    ended = prepared(
        transaction,
        is_commit=command.is_commit,
        producer_epoch=raised(transaction.producer_epoch),
        client_version=state.transaction_version,
        now_ms=draft.now_ms,
    )
    if is_exhausted(transaction.producer_epoch):
        ended = replace(ended, next_producer_id=state.claim_producer_id())
    draft.end(command.transactional_id, ended)
    return _answered(ended)


def _answered_again(command: EndTransaction, transaction: Transaction) -> EndTransactionReply:
    """To a request that has been served, if it is the same."""
    is_ended = transaction.state.is_prepared or transaction.state.is_complete
    if not is_ended or transaction.state.is_commit != command.is_commit:
        raise _wrong_state(command, transaction)
    if transaction.state.is_prepared:
        raise _not_complete()
    return _answered(transaction)


def _answered(transaction: Transaction) -> EndTransactionReply:
    producer_id, producer_epoch = following_producer(transaction)
    return EndTransactionReply(producer_id=producer_id, producer_epoch=producer_epoch)


def _producer_of(command: EndTransaction) -> Producer:
    return Producer(command.producer_id, command.producer_epoch)


def _not_complete() -> Refused:
    return Refused(ErrorCode.CONCURRENT_TRANSACTIONS, "the last transaction is not complete")


def _wrong_state(command: EndTransaction, transaction: Transaction) -> Refused:
    wanted = "committed" if command.is_commit else "aborted"
    return Refused(ErrorCode.INVALID_TXN_STATE, f"a transaction in state {transaction.state.title} cannot be {wanted}")
