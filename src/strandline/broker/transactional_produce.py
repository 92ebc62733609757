"""Produce requests within a transaction: their batches wait until the coordinator has said yes (SPEC P3; KIP-890).

A batch whose transaction has begun in its partition goes the way of all others. The first one of a transaction waits,
and with it the connection, so that what follows it does not overtake it; then it is checked once more and appended
alone. Waiting has an end: every question is answered, by an error if need be.

What decides is in the batches, not in the request (CVE-2018-17196): a batch that is not transactional is judged as
such, whatever the request is called.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from struct import Struct
from typing import TYPE_CHECKING

from strandline.broker.host import Host
from strandline.broker.partition import Partition
from strandline.broker.transaction_gate import TransactionGate
from strandline.broker.transaction_questions import Errors, TransactionQuestions
from strandline.model.failures import ErrorCode, Refused
from strandline.records.batch import ATTRIBUTES_POSITION, MAGIC_POSITION, MAGIC_V2, TRANSACTIONAL
from strandline.transactions.commands import AddPartitions
from strandline.transactions.epochs import Producer
from strandline.transactions.settings import TransactionSettings
from strandline.transactions.states import EPOCH_BUMPS
from strandline.transactions.verification import Token, TransactionalBatch
from strandline.transactions.verification_requests import ProducerSupport, producer_error
from strandline.wire.primitives import Buffer

if TYPE_CHECKING:
    from strandline.broker.handlers.produce import Place, Produced, ProduceHandler

logger = logging.getLogger(__name__)

PRODUCER_POSITION = 43
PRODUCER = Struct(">qhi")  # id, epoch, base sequence in the head of a batch
TURNS_FIRST = 3  # in which a marker of our own coordinator is written; only then is time waited for
ABORTABLE_ERROR_FROM = 11
EPOCH_BUMPS_FROM = 12


class ProduceInTransactions:
    """What a Produce handler needs to know of transactions."""

    def __init__(
        self,
        gate: TransactionGate,
        questions: TransactionQuestions,
        settings: Callable[[], TransactionSettings],
        host: Host,
    ) -> None:
        self.gate = gate
        self.questions = questions
        self.host = host
        self._settings = settings

    @property
    def patience_ms(self) -> int:
        return self._settings().add_partitions_to_txn_retry_backoff_max_ms

    def asks_for(self, support: ProducerSupport) -> bool:
        """Whoever no longer adds partitions relies on us to do it."""
        return support is ProducerSupport.EPOCH_BUMPS or self._settings().transaction_partition_verification_enable


class Entry:
    """One partition of a request. `head` where its batch is transactional and must be looked at."""

    __slots__ = ("batch", "head", "partition", "place", "token")

    def __init__(self, partition: Partition, batch: Buffer, place: Place, head: TransactionalBatch | None) -> None:
        self.partition = partition
        self.batch = batch
        self.place = place
        self.head = head
        self.token: Token | None = None

    def refuse(self, refused: Refused) -> None:
        self.place[1].error_code = refused.error_code
        self.place[1].error_message = refused.reason

    @property
    def is_refused(self) -> bool:
        return self.place[1].error_code != ErrorCode.NONE


class TransactionalRequest:
    def __init__(self, transactions: ProduceInTransactions, transactional_id: str, version: int) -> None:
        self._transactions = transactions
        self._gate = transactions.gate
        self._transactional_id = transactional_id
        self._support = produce_support(version)
        self._entries: list[Entry] = []
        self._has_to_wait = False
        self._unanswered = 0

    def add(self, partition: Partition, batch: Buffer, place: Place) -> None:
        entry = Entry(partition, batch, place, self._head_of(batch))
        self._has_to_wait |= entry.head is not None and not self._gate.is_open(partition, entry.head)
        self._entries.append(entry)

    def _head_of(self, batch: Buffer) -> TransactionalBatch | None:
        if batch[MAGIC_POSITION] != MAGIC_V2 or not batch[ATTRIBUTES_POSITION + 1] & TRANSACTIONAL:
            return None
        head = TransactionalBatch(*PRODUCER.unpack_from(batch, PRODUCER_POSITION))
        # Without a producer id the log refuses it.
        return head if head.producer_id >= 0 and self._transactions.asks_for(self._support) else None

    def begin(self, handler: ProduceHandler, produced: Produced) -> bool:
        """Whether it waits: if so it is appended and answered later; if not, the handler has all its batches."""
        if not self._has_to_wait:
            for entry in self._entries:
                handler.add(entry.partition, entry.batch, entry.place)
            return False
        for entry in self._entries:
            entry.batch = memoryview(bytearray(entry.batch))  # the bytes it lies in are used for others meanwhile
        self._knock(handler, produced, self._transactions.patience_ms)
        return True

    def _knock(self, handler: ProduceHandler, produced: Produced, patience_ms: int, attempt: int = 0) -> None:
        """Where the marker of the last transaction is on its way, it is waited for a moment; then the client hears of
        it, and tries again itself."""
        is_early = False
        for entry in self._entries:
            if entry.head is None or entry.is_refused:
                continue
            try:
                entry.token = self._gate.begin(entry.partition, entry.head, self._support)
            except Refused as refused:
                if refused.error_code is ErrorCode.CONCURRENT_TRANSACTIONS and patience_ms > 0:
                    is_early = True
                else:
                    entry.refuse(refused)
        if is_early:
            pause_ms = 0 if attempt < TURNS_FIRST else 2 ** (attempt - TURNS_FIRST)
            again = partial(self._knock, handler, produced, patience_ms - pause_ms, attempt + 1)
            self._transactions.host.call_later(pause_ms, again)
        else:
            self._ask_coordinator(handler, produced)

    def _ask_coordinator(self, handler: ProduceHandler, produced: Produced) -> None:
        questions: dict[Producer, list[Entry]] = {}
        for entry in self._entries:
            if entry.head is not None and entry.token is not None and not entry.is_refused:
                producer = Producer(entry.head.producer_id, entry.head.producer_epoch)
                questions.setdefault(producer, []).append(entry)
        self._unanswered = len(questions) + 1
        for producer, entries in questions.items():
            self._ask(producer, entries, partial(self._answered, handler, produced, entries))
        self._answered(handler, produced, [], {})

    def _ask(self, producer: Producer, entries: list[Entry], answered: Callable[[Errors], object]) -> None:
        adds = self._support is ProducerSupport.EPOCH_BUMPS
        question = AddPartitions(
            transactional_id=self._transactional_id,
            producer_id=producer.producer_id,
            producer_epoch=producer.producer_epoch,
            partitions=tuple(sorted({entry.partition.name for entry in entries})),
            verify_only=not adds,
            client_version=EPOCH_BUMPS if adds else 0,
        )
        self._transactions.questions.ask(question, answered)

    def _answered(self, handler: ProduceHandler, produced: Produced, entries: list[Entry], errors: Errors) -> None:
        for entry in entries:
            error_code = producer_error(errors[entry.partition.name], self._support)
            if error_code is not ErrorCode.NONE:
                entry.refuse(Refused(error_code, "the coordinator does not have the partition in the transaction"))
            elif entry.head is not None and entry.token is not None:
                self._gate.verified(entry.partition, entry.head.producer_id, entry.token)
        self._unanswered -= 1
        if not self._unanswered:
            # Not now: what came before it in the same receive is not appended yet.
            self._transactions.host.call_soon(lambda: self._append(handler, produced))

    def _append(self, handler: ProduceHandler, produced: Produced) -> None:
        """Whatever goes wrong that nobody foresaw, the peer must not wait for ever: its connection ends."""
        try:
            self._append_verified(handler, produced)
        except Exception:
            logger.exception("a transactional Produce failed; its connection is closed")
            produced.request.connection.end("a request failed here")
            produced.request.deliver([])
            return
        handler.finish(produced)

    def _append_verified(self, handler: ProduceHandler, produced: Produced) -> None:
        for entry in self._entries:
            if entry.is_refused:
                continue
            try:
                handler.check_leader(entry.partition, produced.acks)
                if entry.head is not None:
                    self._gate.check(entry.partition, entry.head)
            except Refused as refused:
                entry.refuse(refused)
                continue
            handler.append(entry.partition, [entry.batch], [entry.place], self._transactions.host.now_ms())
            if entry.head is not None and not entry.is_refused:
                self._gate.written(entry.partition, entry.head.producer_id)


def produce_support(version: int) -> ProducerSupport:
    if version >= EPOCH_BUMPS_FROM:
        return ProducerSupport.EPOCH_BUMPS
    return ProducerSupport.ABORTABLE_ERROR if version >= ABORTABLE_ERROR_FROM else ProducerSupport.NO_ABORTABLE_ERROR
