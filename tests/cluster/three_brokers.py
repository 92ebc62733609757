"""Three broker processes on one ZooKeeper, ready for transactions."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cached_property
from pathlib import Path

from confluent_kafka.admin import AdminClient, NewTopic

from strandline.cluster.zookeeper_ensemble import ZooKeeperEnsemble
from strandline.testing import Broker

WAIT_S = 180.0
SETTINGS = {
    "zookeeper.session.timeout.ms": 2_000,
    "default.replication.factor": 3,
    "offsets.topic.replication.factor": 3,
    "offsets.topic.num.partitions": 3,
    "transaction.state.log.replication.factor": 3,
    "transaction.state.log.num.partitions": 3,
    "transaction.state.log.min.isr": 2,
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": 500,
    "group.min.session.timeout.ms": 1_000,
    "min.insync.replicas": 2,
    "replica.lag.time.max.ms": 2_000,
}


class ThreeBrokers:
    def __init__(self, connect: str, directory: Path) -> None:
        self.by_id = {
            broker_id: Broker(
                SETTINGS | {"zookeeper.connect": connect, "broker.id": broker_id},
                process=True,
                data=directory / str(broker_id),
            )
            for broker_id in (1, 2, 3)
        }

    @property
    def bootstrap(self) -> str:
        return ",".join(broker.bootstrap for broker in self.by_id.values())

    @cached_property
    def admin(self) -> AdminClient:
        """Once they are started."""
        return AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})

    def create_topic(self, name: str, partitions: int) -> None:
        self.admin.create_topics([NewTopic(name, partitions, 3)])[name].result(WAIT_S)

    def leader_of(self, topic: str, partition: int = 0) -> int:
        leader: int = self.admin.list_topics(topic, timeout=WAIT_S).topics[topic].partitions[partition].leader
        return leader

    def wait_until_in_sync(self, *topics: str) -> None:
        def are_in_sync() -> bool:
            found = self.admin.list_topics(timeout=WAIT_S).topics
            return all(len(partition.isrs) == 3 for topic in topics for partition in found[topic].partitions.values())

        wait_until(are_in_sync)


@contextmanager
def three_brokers(zookeeper: ZooKeeperEnsemble, directory: Path) -> Iterator[ThreeBrokers]:
    with ExitStack() as stack:
        three = ThreeBrokers(f"{zookeeper.connect}/{directory.name}", directory)
        for broker in three.by_id.values():
            stack.enter_context(broker)
        yield three


def wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WAIT_S
    while not holds():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.05)
