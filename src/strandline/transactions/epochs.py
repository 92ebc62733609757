"""Who may speak for a transactional id.

The coordinator gives an id's producer a **producer id** and an **epoch**. Every request names both, and so does every
batch and marker in the partitions. Only the newest pair counts; the holder of any other is a zombie and is refused. A
pair is replaced

    by InitProducerId      always: another producer may have come. One that proves its pair (KIP-360) is the same
                           producer, which goes on after an error
    by EndTxn              with transaction version 2 (KIP-890): so a request or a batch of this transaction that was
                           delayed on its way cannot touch the next one
    when time is up        the transaction is aborted with a new epoch, so that its producer cannot go on writing to it
    when another comes     while the transaction is open: it is aborted, with an epoch that nobody holds

The answer that carries a new pair can get lost, and its request comes again with the pair before. So the pair before
is recognised, but only where it is certain that the same producer holds both: after an EndTxn and a timeout, which
raise the epoch by one, and after an InitProducerId that proved its pair. Where another producer takes over, the open
transaction's epoch is raised by two, and the one between is nobody's: whoever had the first is a zombie from then on.

An epoch is an int16. Clients are given those up to 32766, so that there is always one left to fence the last. When
they are used up the id gets a new producer id: by InitProducerId at once; by EndTxn only once the markers are
written, for they must still have the old producer id. Until then the record keeps the next one. A record with epoch
32767 and no next producer id can only come from fencing.
"""

from __future__ import annotations

from typing import NamedTuple

from strandline.model.failures import ErrorCode, Refused
from strandline.transactions.records import NO_PRODUCER_EPOCH, NO_PRODUCER_ID, Transaction
from strandline.transactions.states import EPOCH_BUMPS, TransactionState

EPOCH_MAX = 2**15 - 1
LAST_GIVEN_EPOCH = EPOCH_MAX - 1


class Producer(NamedTuple):
    """A pair of producer id and epoch."""

    producer_id: int
    producer_epoch: int

    def __str__(self) -> str:
        return f"{self.producer_id}/{self.producer_epoch}"


def is_exhausted(producer_epoch: int) -> bool:
    return producer_epoch >= LAST_GIVEN_EPOCH


def raised(producer_epoch: int, by: int = 1) -> int:
    return min(producer_epoch + by, EPOCH_MAX)


def current_producer(transaction: Transaction) -> Producer:
    return Producer(transaction.producer_id, transaction.producer_epoch)


def following_producer(transaction: Transaction) -> Producer:
    """Whoever holds the id once this transaction is complete."""
    if transaction.next_producer_id != NO_PRODUCER_ID:
        return Producer(transaction.next_producer_id, 0)
    return current_producer(transaction)


def preceding_producer(transaction: Transaction) -> Producer | None:
    """The pair before, if the holder of the current one is known to be the same, and may not have heard of it."""
    last_epoch = _preceding_epoch(transaction)
    if last_epoch == NO_PRODUCER_EPOCH:
        return None
    is_rotated = _is_rotated(transaction)
    return Producer(transaction.previous_producer_id if is_rotated else transaction.producer_id, last_epoch)


def _is_rotated(transaction: Transaction) -> bool:
    """Newer versions of Kafka write the previous producer id where it is the current one, too (KAFKA-20310)."""
    return transaction.previous_producer_id not in (NO_PRODUCER_ID, transaction.producer_id)


def _preceding_epoch(transaction: Transaction) -> int:
    if transaction.state is TransactionState.EMPTY:
        return transaction.last_producer_epoch
    if transaction.state is TransactionState.ONGOING or transaction.client_version < EPOCH_BUMPS:
        return NO_PRODUCER_EPOCH
    if _is_rotated(transaction):
        return LAST_GIVEN_EPOCH
    is_fenced = transaction.producer_epoch == EPOCH_MAX and transaction.next_producer_id == NO_PRODUCER_ID
    return NO_PRODUCER_EPOCH if is_fenced else transaction.producer_epoch - 1


def refuse_unless_current(transaction: Transaction | None, producer: Producer) -> Transaction:
    """The transaction, where this producer may add to it now."""
    if transaction is None:
        raise Refused(ErrorCode.INVALID_PRODUCER_ID_MAPPING, "there is no such transactional id")
    # The answer to EndTxn may have told of a producer id that counts only from its completion on (KAFKA-18660).
    if producer not in (current_producer(transaction), following_producer(transaction)):
        raise not_current(transaction, producer)
    if transaction.state.is_prepared:
        raise Refused(ErrorCode.CONCURRENT_TRANSACTIONS, "the last transaction is not complete")
    return transaction


def not_current(transaction: Transaction, producer: Producer) -> Refused:
    current = current_producer(transaction)
    if producer.producer_id != current.producer_id:
        return Refused(ErrorCode.INVALID_PRODUCER_ID_MAPPING, f"producer {producer} is not {current}")
    return Refused(ErrorCode.PRODUCER_FENCED, f"producer {producer} has been replaced by {current}")
