"""A partition without a broker around it: its leader is broker 1, the others are what the test says they are."""

from __future__ import annotations

from collections.abc import Callable

from strandline.broker.partition import Partition
from strandline.log.log import Log
from strandline.model.partitions import TopicPartition
from strandline.replication.effects import ReplicaEffect
from strandline.replication.events import LeaderAndIsr
from strandline.replication.settings import ReplicationSettings

BROKER_ID = 1
FOLLOWER_ID = 2


class Nobody:
    """Carries out nothing of what a partition wants of others."""

    def __init__(self) -> None:
        self.effects: list[ReplicaEffect] = []

    def carry_out(self, _: Partition, effects: tuple[ReplicaEffect, ...]) -> None:
        self.effects += effects

    def follower_flushed(self, partition: Partition) -> None:
        pass


class PartitionAlone(Partition):
    def __init__(
        self,
        name: TopicPartition,
        topic_id: bytes,
        log: Log,
        min_insync_replicas: int = 1,
        high_watermark: int = 0,
        elapsed_ms: Callable[[], int] = lambda: 0,
    ) -> None:
        self.nobody = Nobody()
        super().__init__(
            name,
            topic_id,
            log,
            BROKER_ID,
            owner=self.nobody,
            live_brokers={BROKER_ID: 1, FOLLOWER_ID: 2},
            settings=ReplicationSettings(min_insync_replicas=min_insync_replicas),
            elapsed_ms=elapsed_ms,
            high_watermark=high_watermark,
        )
        self._decisions = 0

    def lead(
        self,
        leader_epoch: int = 0,
        *,
        replicas: tuple[int, ...] = (BROKER_ID,),
        isr: tuple[int, ...] = (),
        now_ms: int = 0,
    ) -> None:
        self._decisions += 1
        self.decide(LeaderAndIsr(BROKER_ID, leader_epoch, isr or replicas, replicas, self._decisions), now_ms)

    def replicate(self, now_ms: int = 0) -> None:
        """The follower has everything."""
        self.follower_fetched(FOLLOWER_ID, self.log.log_end_offset, now_ms, 0, -1)
