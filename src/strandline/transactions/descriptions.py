"""DescribeTransactions and ListTransactions: what a transactional id looks like from outside."""

from __future__ import annotations

from strandline.model.failures import ErrorCode
from strandline.transactions.commands import ANY_DURATION, DescribeTransactions, ListTransactions
from strandline.transactions.draft import CoordinatorState, Draft
from strandline.transactions.records import NO_TIME, Transaction
from strandline.transactions.replies import (
    DescribedTransaction,
    DescribeTransactionsReply,
    ListedTransaction,
    ListTransactionsReply,
)
from strandline.transactions.states import BY_TITLE


def describe_transactions(
    state: CoordinatorState, _draft: Draft, command: DescribeTransactions
) -> DescribeTransactionsReply:
    described = tuple(_described(state, transactional_id) for transactional_id in command.transactional_ids)
    return DescribeTransactionsReply(transactions=described)


def _described(state: CoordinatorState, transactional_id: str) -> DescribedTransaction:
    if not transactional_id:
        return DescribedTransaction(error_code=ErrorCode.INVALID_REQUEST, transactional_id=transactional_id)
    transaction = state.transactions.get(transactional_id)
    if transaction is None:
        return DescribedTransaction(error_code=ErrorCode.TRANSACTIONAL_ID_NOT_FOUND, transactional_id=transactional_id)
    completion = state.completions.get(transactional_id)
    return DescribedTransaction(
        transactional_id=transactional_id,
        state=transaction.state.title,
        timeout_ms=transaction.timeout_ms,
        start_ms=transaction.start_ms,
        producer_id=transaction.producer_id,
        producer_epoch=transaction.producer_epoch,
        # Once prepared: those that have no marker yet.
        partitions=transaction.partitions if completion is None else completion.waiting,
    )


def list_transactions(state: CoordinatorState, draft: Draft, command: ListTransactions) -> ListTransactionsReply:
    return ListTransactionsReply(
        unknown_states=tuple(name for name in command.states if name not in BY_TITLE),
        transactions=tuple(
            ListedTransaction(
                transactional_id=transactional_id, producer_id=transaction.producer_id, state=transaction.state.title
            )
            for transactional_id, transaction in state.transactions.items()
            if _passes(transaction, command, draft.now_ms)
        ),
    )


def _passes(transaction: Transaction, command: ListTransactions, now_ms: int) -> bool:
    if command.states and transaction.state.title not in command.states:
        return False
    if command.producer_ids and transaction.producer_id not in command.producer_ids:
        return False
    if command.longer_than_ms <= ANY_DURATION:
        return True
    return transaction.start_ms != NO_TIME and now_ms - transaction.start_ms > command.longer_than_ms
