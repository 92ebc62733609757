"""InitProducerId: a producer comes for a transactional id, or comes back to it (KIP-360). `epochs` has the theory."""

from __future__ import annotations

from strandline.model.coordinators import check_storable
from strandline.model.failures import ErrorCode, Refused
from strandline.transactions.commands import InitProducerId
from strandline.transactions.draft import CoordinatorState, Draft
from strandline.transactions.epochs import (
    Producer,
    current_producer,
    following_producer,
    is_exhausted,
    preceding_producer,
)
from strandline.transactions.records import NO_PRODUCER_EPOCH, NO_PRODUCER_ID, Transaction
from strandline.transactions.replies import InitProducerIdReply
from strandline.transactions.states import TransactionState
from strandline.transactions.transitions import fenced, initialized


def init_producer_id(state: CoordinatorState, draft: Draft, command: InitProducerId) -> InitProducerIdReply:
    _check_request(state, command)
    proof = _proof_of(command)
    transaction = state.transactions.get(command.transactional_id)
    if transaction is None:
        # Whatever the producer says it had: the id may have expired while it was away.
        return _initialize(draft, command, Producer(state.claim_producer_id(), 0), proof=None)
    if proof is not None and proof not in _holders(transaction):
        raise Refused(ErrorCode.PRODUCER_FENCED, f"producer {proof} has been replaced")
    if transaction.state is TransactionState.ONGOING:
        aborted = fenced(
            transaction,
            by_another=proof is None,
            transaction_version=state.transaction_version,
            now_ms=draft.now_ms,
        )
        draft.end(command.transactional_id, aborted)
    if transaction.state is TransactionState.ONGOING or transaction.state.is_prepared:
        return InitProducerIdReply(error_code=ErrorCode.CONCURRENT_TRANSACTIONS)
    if proof is not None and proof == preceding_producer(transaction):
        return _initialize(draft, command, current_producer(transaction), proof)
    return _initialize(draft, command, _successor(state, transaction), proof)


def _check_request(state: CoordinatorState, command: InitProducerId) -> None:
    if not command.transactional_id:
        raise Refused(ErrorCode.INVALID_REQUEST, "a transactional id cannot be empty")
    check_storable(command.transactional_id)
    if not 0 < command.transaction_timeout_ms <= state.settings.transaction_max_timeout_ms:
        raise Refused(
            ErrorCode.INVALID_TRANSACTION_TIMEOUT,
            f"a transaction may take from 1 to {state.settings.transaction_max_timeout_ms} ms,"
            f" not {command.transaction_timeout_ms}",
        )


def _proof_of(command: InitProducerId) -> Producer | None:
    has_id, has_epoch = command.producer_id != NO_PRODUCER_ID, command.producer_epoch != NO_PRODUCER_EPOCH
    if has_id != has_epoch:
        raise Refused(ErrorCode.INVALID_REQUEST, "a producer id and an epoch go together")
    return Producer(command.producer_id, command.producer_epoch) if has_id else None


def _holders(transaction: Transaction) -> tuple[Producer | None, ...]:
    return current_producer(transaction), following_producer(transaction), preceding_producer(transaction)


def _successor(state: CoordinatorState, transaction: Transaction) -> Producer:
    if is_exhausted(transaction.producer_epoch):
        return Producer(state.claim_producer_id(), 0)
    return Producer(transaction.producer_id, transaction.producer_epoch + 1)


def _initialize(
    draft: Draft, command: InitProducerId, producer: Producer, proof: Producer | None
) -> InitProducerIdReply:
    timeout_ms = command.transaction_timeout_ms
    transaction = initialized(producer, proof=proof, timeout_ms=timeout_ms, now_ms=draft.now_ms)
    draft.append(command.transactional_id, transaction)
    return InitProducerIdReply(producer_id=producer.producer_id, producer_epoch=producer.producer_epoch)
