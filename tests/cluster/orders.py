"""One topic with three replicas, who leads it, a producer that keeps account, and a reader of all of it."""

from __future__ import annotations

import time
from collections.abc import Callable

from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from strandline.cluster.process_cluster import ProcessCluster

WAIT_S = 60.0
TOPIC = "orders"


def admin_of(cluster: ProcessCluster) -> AdminClient:
    return AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 0})


def leader_and_isr(admin: AdminClient) -> tuple[int, list[int]]:
    partition = admin.list_topics(TOPIC, timeout=WAIT_S).topics[TOPIC].partitions[0]
    return partition.leader, sorted(partition.isrs)


def wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WAIT_S
    while not holds():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.05)


def create_topic(admin: AdminClient) -> None:
    admin.create_topics([NewTopic(TOPIC, 1, 3)])[TOPIC].result(WAIT_S)


class Acknowledged:
    """A producer, what was acknowledged, and the longest time in which nothing was while it waited for something."""

    def __init__(self, bootstrap: str) -> None:
        self.values: list[int] = []
        self.failures: list[KafkaError] = []
        self.longest_gap_s = 0.0
        self._last_s = time.monotonic()
        self._producer = Producer(
            {"bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": 1, "log_level": 0}
        )

    def send(self, values: range) -> None:
        for value in values:
            if value == len(self.values):  # nothing is under way: only from now on is somebody waiting
                self._last_s = time.monotonic()
            self._producer.produce(TOPIC, str(value).encode(), on_delivery=self._delivered)
            self._producer.poll(0.002)

    def flush(self) -> None:
        assert self._producer.flush(WAIT_S) == 0
        assert self.failures == []

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self.failures.append(error)
            return
        now_s = time.monotonic()
        self.longest_gap_s = max(self.longest_gap_s, now_s - self._last_s)
        self._last_s = now_s
        value = message.value()
        assert isinstance(value, bytes)
        self.values.append(int(value))


def consumed(bootstrap: str, count: int) -> list[int]:
    consumer = Consumer(
        {"bootstrap.servers": bootstrap, "group.id": "readers", "auto.offset.reset": "earliest", "log_level": 0}
    )
    consumer.assign([TopicPartition(TOPIC, 0, 0)])
    values: list[int] = []
    deadline = time.monotonic() + WAIT_S
    while len(values) < count and time.monotonic() < deadline:
        message = consumer.poll(0.1)
        if message is not None and message.error() is None:
            value = message.value()
            assert isinstance(value, bytes)
            values.append(int(value))
    consumer.close()
    return values
