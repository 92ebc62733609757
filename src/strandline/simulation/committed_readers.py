"""A simulated `read_committed` consumer: shows its reader what is of committed transactions, as every client does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from strandline.model.partitions import TopicPartition
from strandline.simulation.consumers import READ_COMMITTED, Consumer
from strandline.simulation.observed import Batch, Kind
from strandline.wire.messages.fetch import AbortedTransaction, PartitionData

if TYPE_CHECKING:
    from strandline.simulation.transactional_load import TransactionalLoad


class CommittedReader(Consumer):
    isolation_level = READ_COMMITTED

    def __init__(self, load: TransactionalLoad, name: str, partition: TopicPartition) -> None:
        simulation = load.simulation
        super().__init__(load.world, simulation.network, name, simulation.names, partition, load.records)
        self._load = load
        self.is_compacted = load.is_compacted

    def _read(self, batches: Sequence[Batch], data: PartitionData) -> None:
        begin = self.position
        super()._read(batches, data)
        given = list(committed_only(batches, data.aborted_transactions or []))
        for sentence in self._load.history.complaints_about_read(self.partition, begin, self.position, given):
            self._load.complain("ReadCommitted", f"{self.name}, in {self.partition} from {begin} on, {sentence}")


def committed_only(batches: Sequence[Batch], aborted: list[AbortedTransaction]) -> Iterator[Batch]:
    """A client knows from the answer where which producer's aborted transactions begin; markers say where they end."""
    to_come = sorted(aborted, key=lambda each: each.first_offset, reverse=True)
    aborting: set[int] = set()
    for batch in batches:
        while to_come and to_come[-1].first_offset <= batch.last_offset:
            aborting.add(to_come.pop().producer_id)
        if batch.kind is Kind.ABORT_MARKER:
            aborting.discard(batch.producer_id)
        elif batch.kind is Kind.PLAIN or (batch.kind is Kind.TRANSACTIONAL and batch.producer_id not in aborting):
            yield batch
