"""Three broker processes on a real ZooKeeper: what was acknowledged outlives leaders, controllers, sessions."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from strandline.cluster.zookeeper_ensemble import ZooKeeperEnsemble
from strandline.testing import Broker

WAIT_S = 60.0
TOPIC = "orders"
SETTINGS = {
    "zookeeper.session.timeout.ms": 2_000,
    "default.replication.factor": 3,
    "offsets.topic.replication.factor": 3,
    "offsets.topic.num.partitions": 3,
    "min.insync.replicas": 2,
    "replica.lag.time.max.ms": 2_000,
}


class Brokers:
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

    def admin(self) -> AdminClient:
        return AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})

    def leader_and_isr(self, admin: AdminClient) -> tuple[int, list[int]]:
        partition = admin.list_topics(TOPIC, timeout=WAIT_S).topics[TOPIC].partitions[0]
        return partition.leader, sorted(partition.isrs)


@pytest.fixture
def brokers(zookeeper: ZooKeeperEnsemble, tmp_path: Path) -> Iterator[Brokers]:
    with ExitStack() as stack:
        three = Brokers(f"{zookeeper.connect}/{tmp_path.name}", tmp_path)
        for broker in three.by_id.values():
            stack.enter_context(broker)
        yield three


def wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WAIT_S
    while not holds():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.05)


def create_topic(admin: AdminClient) -> None:
    admin.create_topics([NewTopic(TOPIC, 1, 3)])[TOPIC].result(WAIT_S)


class Acknowledged:
    """A producer, what was acknowledged, and the longest time in which nothing was."""

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


def test_a_killed_leader_takes_nothing_with_it_that_was_acknowledged(
    brokers: Brokers, capsys: pytest.CaptureFixture[str]
) -> None:
    """And neither does the controller, which is the first broker."""
    admin = brokers.admin()
    create_topic(admin)
    producer = Acknowledged(brokers.bootstrap)
    sent = 0
    for _ in range(3):
        producer.send(range(sent, sent + 300))
        leader, _ = brokers.leader_and_isr(admin)
        brokers.by_id[leader].kill()
        producer.send(range(sent + 300, sent + 600))
        producer.flush()
        sent += 600
        brokers.by_id[leader].start()
        wait_until(lambda: brokers.leader_and_isr(admin)[1] == [1, 2, 3])
    assert producer.values == list(range(sent))
    assert consumed(brokers.bootstrap, sent) == list(range(sent)), "none lost, none doubled, order kept"
    with capsys.disabled():
        print(f"\nlongest time without an acknowledgement over three kills: {producer.longest_gap_s:.1f} s")


def test_a_cluster_outlives_its_zookeeper(brokers: Brokers, zookeeper: ZooKeeperEnsemble) -> None:
    """Away for longer than a session: leaders go on serving, and afterwards all brokers are registered again."""
    admin = brokers.admin()
    create_topic(admin)
    producer = Acknowledged(brokers.bootstrap)
    producer.send(range(10))  # a producer id comes out of the store
    producer.flush()
    (server,) = zookeeper.servers
    server.stop()
    producer.send(range(10, 500))
    producer.flush()
    server.start()
    server.wait_until_ready()
    wait_until(lambda: len(admin.list_topics(timeout=WAIT_S).brokers) == 3)
    leader, _ = brokers.leader_and_isr(admin)
    brokers.by_id[leader].kill()
    producer.send(range(500, 600))
    producer.flush()
    assert consumed(brokers.bootstrap, 600) == list(range(600))
