"""The brokers of a run, one or three: what it needs of them, and how one of them is killed."""

from __future__ import annotations

import time
from contextlib import ExitStack, suppress
from pathlib import Path
from random import Random
from typing import Protocol, Self

from confluent_kafka.admin import AdminClient, NewTopic

from strandline.cluster.ports import PortInUse
from strandline.cluster.process_cluster import ProcessCluster
from strandline.testing import Broker

WAIT_S = 120.0
SETTINGS = {
    "zookeeper.session.timeout.ms": "4000",
    "replica.lag.time.max.ms": "2000",
    "min.insync.replicas": "2",
    "offsets.topic.num.partitions": "3",
    "transaction.state.log.num.partitions": "3",
}


class Brokers(Protocol):
    @property
    def bootstrap(self) -> str: ...

    def create_topic(self, name: str, partitions: int) -> None: ...

    def kill_one(self, chance: Random) -> None:
        """Which is started again, and is in sync when this returns."""


class OneBroker:
    def __init__(self) -> None:
        self._broker = Broker(process=True)

    def __enter__(self) -> Self:
        self._broker.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._broker.close()

    @property
    def bootstrap(self) -> str:
        return self._broker.bootstrap

    def create_topic(self, name: str, partitions: int) -> None:
        self._broker.create_topic(name, partitions)

    def kill_one(self, chance: Random) -> None:  # noqa: ARG002
        self._broker.kill()
        self._broker.start()


class ThreeBrokers:
    """And a ZooKeeper; every partition has three replicas."""

    def __init__(self, directory: Path) -> None:
        self._cluster = ProcessCluster.create(directory, brokers=3, settings=SETTINGS)
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        self._stack.enter_context(self._cluster)
        self._admin = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def bootstrap(self) -> str:
        return self._cluster.bootstrap

    def create_topic(self, name: str, partitions: int) -> None:
        self._admin.create_topics([NewTopic(name, partitions, 3)])[name].result(WAIT_S)

    def kill_one(self, chance: Random) -> None:
        broker_id = chance.choice(list(self._cluster.brokers))
        deadline = time.monotonic() + WAIT_S
        self._cluster.kill(broker_id)
        while not self._start(broker_id) or not self._is_in_sync():
            assert time.monotonic() < deadline, f"broker {broker_id} was not in sync again within {WAIT_S:g} s"
            time.sleep(0.05)

    def _start(self, broker_id: int) -> bool:
        """Whether it runs: in the meantime a client may have been given its port to call from."""
        with suppress(PortInUse):
            if not self._cluster.brokers[broker_id].is_running:
                self._cluster.start(broker_id)
            return True
        return False

    def _is_in_sync(self) -> bool:
        topics = self._admin.list_topics(timeout=WAIT_S).topics.values()
        return all(len(each.isrs) == 3 for topic in topics for each in topic.partitions.values())
