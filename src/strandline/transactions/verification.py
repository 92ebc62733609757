"""What the leader of a data partition does before a transactional batch may begin a transaction there (KIP-890).

A batch that begins a transaction the coordinator knows nothing of would hang: no marker ever ends it, and readers of
committed data stand before it for good. It takes no malice, only a batch that was delayed until its transaction was
over. So the first batch of a transaction waits until the coordinator has said that the partition is part of it:

    begin(...)      None: the transaction is open here, append. Else a token, to ask the coordinator with
                    AddPartitionsToTxn: to verify, or to add where the client itself does not (Produce version 12 on)
    verified(...)   the coordinator said yes, to this token
    check(...)      right before the append, and nothing in between
    written(...)    a transactional batch or a marker of this producer is in the log
    clear()         this broker no longer leads the partition

A yes may be older than it looks: the transaction may have ended, and its marker been written, while the answer was on
its way. The marker takes the token with it, so the answer finds nothing to confirm (KAFKA-14884). As long as no
marker has come a yes stays true: the coordinator ends no transaction without a marker for each of its partitions.

While the first batch is being verified later ones may overtake it, and where nothing is known of the producer any
sequence would be taken. So no batch may begin a transaction with a higher sequence than the lowest that was seen.

All of it dies with the leadership. No IO and no clock; the caller says what the log knows of the producer.
"""

from __future__ import annotations

from typing import NamedTuple, NewType

from strandline.model.failures import ErrorCode, Refused
from strandline.transactions.states import EPOCH_BUMPS

Token = NewType("Token", int)


class KnownProducer(NamedTuple):
    """What the partition's log knows of a producer id."""

    producer_epoch: int
    is_in_transaction: bool


class TransactionalBatch(NamedTuple):
    producer_id: int
    producer_epoch: int
    base_sequence: int


class _Verification:
    __slots__ = ("is_verified", "lowest_sequence", "producer_epoch", "since_ms", "token")

    def __init__(self, token: Token, producer_epoch: int, lowest_sequence: int, since_ms: int) -> None:
        self.token = token
        self.producer_epoch = producer_epoch
        self.lowest_sequence = lowest_sequence
        self.since_ms = since_ms
        self.is_verified = False


class Verifications:
    """Of one partition."""

    __slots__ = ("_last_token", "_of_producer")

    def __init__(self) -> None:
        self._of_producer: dict[int, _Verification] = {}
        self._last_token = 0

    def __len__(self) -> int:
        return len(self._of_producer)

    def begin(
        self, batch: TransactionalBatch, known: KnownProducer | None, *, bumps_epoch: bool, now_ms: int
    ) -> Token | None:
        """`bumps_epoch`: the client has a new epoch for each transaction, and so begins each with sequence 0."""
        if _is_open(batch, known):
            return None
        _refuse_old_epoch(batch, known)
        if known is not None and known.is_in_transaction:
            # The marker of the last transaction is still on its way here (KAFKA-18575).
            raise Refused(ErrorCode.CONCURRENT_TRANSACTIONS, f"producer {batch.producer_id}'s last transaction is open")
        verification = self._of_producer.get(batch.producer_id)
        if verification is None or verification.producer_epoch < batch.producer_epoch:
            verification = self._add(batch, 0 if bumps_epoch else batch.base_sequence, now_ms)
        elif verification.producer_epoch > batch.producer_epoch:
            raise _old_epoch(batch, verification.producer_epoch)
        verification.lowest_sequence = min(verification.lowest_sequence, batch.base_sequence)
        return None if verification.is_verified else verification.token

    def _add(self, batch: TransactionalBatch, lowest_sequence: int, now_ms: int) -> _Verification:
        self._last_token += 1
        verification = _Verification(Token(self._last_token), batch.producer_epoch, lowest_sequence, now_ms)
        self._of_producer[batch.producer_id] = verification
        return verification

    def verified(self, producer_id: int, token: Token) -> None:
        verification = self._of_producer.get(producer_id)
        if verification is not None and verification.token == token:
            verification.is_verified = True

    def check(self, batch: TransactionalBatch, known: KnownProducer | None) -> None:
        if _is_open(batch, known):
            return
        # The epoch first: from a wrong epoch a client recovers, from a wrong state it may not (KAFKA-19690).
        _refuse_old_epoch(batch, known)
        verification = self._of_producer.get(batch.producer_id)
        is_verified = verification is not None and verification.is_verified
        if verification is None or not is_verified or verification.producer_epoch != batch.producer_epoch:
            raise Refused(ErrorCode.INVALID_TXN_STATE, f"producer {batch.producer_id} has no transaction here")
        if batch.base_sequence > verification.lowest_sequence:
            raise Refused(
                ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
                f"producer {batch.producer_id} began with sequence {batch.base_sequence}"
                f" before {verification.lowest_sequence}",
            )

    def written(self, producer_id: int) -> None:
        self._of_producer.pop(producer_id, None)

    def clear(self) -> None:
        self._of_producer.clear()

    def expire(self, now_ms: int, expiration_ms: int) -> None:
        """Forget what was never written, along with idle producers (`producer.id.expiration.ms`)."""
        idle = [
            producer_id
            for producer_id, verification in self._of_producer.items()
            if now_ms - verification.since_ms >= expiration_ms
        ]
        for producer_id in idle:
            del self._of_producer[producer_id]


def refuse_late_marker(known: KnownProducer | None, producer_epoch: int, transaction_version: int) -> None:
    """A marker of version 2 has a higher epoch than the records it ends (KIP-1228). One that has not was delayed, and
    would end the next transaction."""
    is_strict = transaction_version >= EPOCH_BUMPS
    if is_strict and known is not None and known.is_in_transaction and producer_epoch <= known.producer_epoch:
        raise Refused(
            ErrorCode.INVALID_PRODUCER_EPOCH,
            f"a marker of epoch {producer_epoch} does not end a transaction of epoch {known.producer_epoch}",
        )


def _is_open(batch: TransactionalBatch, known: KnownProducer | None) -> bool:
    return known is not None and known.is_in_transaction and known.producer_epoch == batch.producer_epoch


def _refuse_old_epoch(batch: TransactionalBatch, known: KnownProducer | None) -> None:
    if known is not None and batch.producer_epoch < known.producer_epoch:
        raise _old_epoch(batch, known.producer_epoch)


def _old_epoch(batch: TransactionalBatch, newer: int) -> Refused:
    return Refused(
        ErrorCode.INVALID_PRODUCER_EPOCH,
        f"epoch {batch.producer_epoch} of producer {batch.producer_id} is older than {newer}",
    )
