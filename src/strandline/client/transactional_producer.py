"""A producer whose records belong to one transaction, which somebody else will end (`transactions.end_transaction`).

There is one transaction in its life. After a failure nothing more is sent: the transaction can only be aborted.
"""

from __future__ import annotations

from strandline.client.cluster import Cluster
from strandline.client.failures import ClientError
from strandline.client.outgoing import OutgoingBatch, PartitionQueue, ProducerIdentity
from strandline.client.producer import Producer
from strandline.client.transactions import add_partitions, begin_as
from strandline.model.partitions import TopicPartition


class TransactionalProducer(Producer):
    def __init__(self, cluster: Cluster, transactional_id: str) -> None:
        super().__init__(cluster)
        self.transactional_id = transactional_id
        self.partitions: set[TopicPartition] = set()  # of the transaction

    @property
    def identity(self) -> ProducerIdentity:
        return self._identity

    async def begin(self) -> None:
        """Before the first record."""
        self._identity = await begin_as(self.cluster, self.transactional_id)

    async def _prepare(self, partitions: list[TopicPartition]) -> None:
        if self.failure is not None:
            raise self.failure
        new = [partition for partition in partitions if partition not in self.partitions]
        if new:
            await add_partitions(self.cluster, self._identity, new)
            self.partitions.update(new)

    def _give_up(self, queue: PartitionQueue, batch: OutgoingBatch, error: ClientError) -> None:
        """Without a new identity, which would begin another transaction."""
        identity = self._identity
        super()._give_up(queue, batch, error)
        self._identity = identity
