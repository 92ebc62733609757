"""A data partition as transactions see it: values of open transactions, and what became of the others."""

from __future__ import annotations

from typing import NamedTuple

from strandline.model.failures import ErrorCode, Refused
from strandline.transactions.markers import Marker
from strandline.transactions.verification import (
    KnownProducer,
    Token,
    TransactionalBatch,
    Verifications,
    refuse_late_marker,
)


class Value(NamedTuple):
    """Unique; `transaction` says which one the producer meant it for."""

    transaction: str
    number: int


class ProducerOfPartition:
    def __init__(self, producer_epoch: int) -> None:
        self.producer_epoch = producer_epoch
        self.coordinator_epoch = -1
        self.open: list[Value] = []
        self.written: dict[int, Value] = {}  # by sequence, of this epoch

    def enter(self, producer_epoch: int) -> None:
        if producer_epoch != self.producer_epoch:
            self.producer_epoch = producer_epoch
            self.written = {}


class DataPartition:
    def __init__(self) -> None:
        self.producers: dict[int, ProducerOfPartition] = {}
        self.verifications = Verifications()
        self.committed: list[Value] = []
        self.aborted: list[Value] = []

    def known(self, producer_id: int) -> KnownProducer | None:
        producer = self.producers.get(producer_id)
        return None if producer is None else KnownProducer(producer.producer_epoch, bool(producer.open))

    def begin(self, batch: TransactionalBatch, *, bumps_epoch: bool) -> Token | None:
        return self.verifications.begin(batch, self.known(batch.producer_id), bumps_epoch=bumps_epoch, now_ms=0)

    def append(self, batch: TransactionalBatch, value: Value) -> None:
        producer_id, producer_epoch, sequence = batch
        producer = self.producers.get(producer_id)
        if producer is not None and producer.producer_epoch == producer_epoch and sequence in producer.written:
            assert producer.written[sequence] == value
            return  # a repetition
        self.verifications.check(batch, self.known(producer_id))
        producer = self.producers.setdefault(producer_id, ProducerOfPartition(producer_epoch))
        assert producer_epoch >= producer.producer_epoch
        assert not producer.open or producer.producer_epoch == producer_epoch, "a transaction within another"
        producer.enter(producer_epoch)
        if sequence != len(producer.written):
            raise Refused(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, "a batch is missing")
        producer.open.append(value)
        producer.written[sequence] = value
        self.verifications.written(producer_id)

    def mark(self, marker: Marker) -> ErrorCode:
        try:
            self._end(marker)
        except Refused as refusal:
            return refusal.error_code
        return ErrorCode.NONE

    def _end(self, marker: Marker) -> None:
        producer = self.producers.setdefault(marker.producer_id, ProducerOfPartition(marker.producer_epoch))
        if marker.producer_epoch < producer.producer_epoch:
            raise Refused(ErrorCode.INVALID_PRODUCER_EPOCH, "an old epoch")
        if marker.coordinator_epoch < producer.coordinator_epoch:
            raise Refused(ErrorCode.TRANSACTION_COORDINATOR_FENCED, "an old coordinator")
        refuse_late_marker(self.known(marker.producer_id), marker.producer_epoch, marker.transaction_version)
        (self.committed if marker.is_commit else self.aborted).extend(producer.open)
        producer.open = []
        producer.enter(marker.producer_epoch)
        producer.coordinator_epoch = marker.coordinator_epoch
        self.verifications.written(marker.producer_id)

    def new_leader(self) -> None:
        self.verifications.clear()
