"""What each partition that this broker leads remembers of transactions that are about to begin there (KIP-890).

The rules are those of `transactions.verification`; here they are asked with what the partition's log knows. Whoever
writes a transactional batch goes through `begin`, where that gives a token asks the coordinator, and calls `check`
right before the append; whoever has written a batch or a marker says so.
"""

from __future__ import annotations

from strandline.broker.host import Host
from strandline.broker.partition import Partition
from strandline.model.failures import Refused
from strandline.transactions.verification import (
    KnownProducer,
    Token,
    TransactionalBatch,
    Verifications,
    refuse_late_marker,
)
from strandline.transactions.verification_requests import ProducerSupport, producer_error

EXPIRY_CHECK_MS = 600_000


class TransactionGate:
    def __init__(self, host: Host) -> None:
        self._host = host
        self._of_partition: dict[Partition, Verifications] = {}
        self._is_watching = False

    def resigned(self, partition: Partition) -> None:
        """Others may have ended what was about to begin. Whoever leads on in another epoch forgets nothing."""
        self._of_partition.pop(partition, None)

    def is_open(self, partition: Partition, batch: TransactionalBatch) -> bool:
        """Whether its transaction has begun here already."""
        known = known_producer(partition, batch.producer_id)
        return known is not None and known.is_in_transaction and known.producer_epoch == batch.producer_epoch

    def begin(self, partition: Partition, batch: TransactionalBatch, support: ProducerSupport) -> Token | None:
        """None: nobody need be asked. Refused in words that the client's version knows."""
        verifications = self._of_partition.get(partition)
        if verifications is None:
            verifications = self._of_partition[partition] = Verifications()
        known = known_producer(partition, batch.producer_id)
        bumps_epoch = support is ProducerSupport.EPOCH_BUMPS
        try:
            token = verifications.begin(batch, known, bumps_epoch=bumps_epoch, now_ms=self._host.elapsed_ms())
        except Refused as refused:
            raise Refused(producer_error(refused.error_code, support), refused.reason) from None
        if token is not None and not self._is_watching:
            self._is_watching = True
            self._host.call_later(EXPIRY_CHECK_MS, self._expire)
        return token

    def verified(self, partition: Partition, producer_id: int, token: Token) -> None:
        if partition in self._of_partition:
            self._of_partition[partition].verified(producer_id, token)

    def check(self, partition: Partition, batch: TransactionalBatch) -> None:
        """Right before the append."""
        verifications = self._of_partition.get(partition) or NOTHING_VERIFIED
        verifications.check(batch, known_producer(partition, batch.producer_id))

    def check_marker(self, partition: Partition, producer_id: int, epoch: int, transaction_version: int) -> None:
        refuse_late_marker(known_producer(partition, producer_id), epoch, transaction_version)

    def written(self, partition: Partition, producer_id: int) -> None:
        """A transactional batch or a marker of this producer is in the log."""
        if partition in self._of_partition:
            self._of_partition[partition].written(producer_id)

    def _expire(self) -> None:
        self._is_watching = False
        now_ms = self._host.elapsed_ms()
        for partition, verifications in list(self._of_partition.items()):
            verifications.expire(now_ms, partition.log.producer_id_expiration_ms)
            if not len(verifications):
                del self._of_partition[partition]
        if self._of_partition:
            self._is_watching = True
            self._host.call_later(EXPIRY_CHECK_MS, self._expire)


NOTHING_VERIFIED = Verifications()


def known_producer(partition: Partition, producer_id: int) -> KnownProducer | None:
    entry = partition.log.producers.entry_of(producer_id)
    if entry is None:
        return None
    return KnownProducer(entry.producer_epoch, entry.current_transaction_first_offset is not None)
