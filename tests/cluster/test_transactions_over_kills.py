"""Transactions in a cluster whose brokers and clients are killed: nothing is lost, doubled, torn or left hanging
(SPEC P3; Kafka's own `transactions_test`).

The copy job is short here. `STRANDLINE_COPY_RECORDS=100000` makes it as long as Kafka's (`make copy`).
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from random import Random
from typing import Self

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from tests.cluster.three_brokers import WAIT_S, ThreeBrokers, three_brokers, wait_until

from strandline.cluster.zookeeper_ensemble import ZooKeeperEnsemble

RECORDS = int(os.environ.get("STRANDLINE_COPY_RECORDS", "5000"))
PARTITIONS = 2
STEPS = 6  # at each, a copier is killed; at every second one a broker too
RECORDS_PER_TRANSACTION = max(50, RECORDS // 130)
COPIER = Path(__file__).with_name("copier.py")
QUIET = {"log_level": 0, "log.connection.close": False}


@pytest.fixture(scope="module")
def brokers(zookeeper: ZooKeeperEnsemble, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ThreeBrokers]:
    with three_brokers(zookeeper, tmp_path_factory.mktemp("transactions")) as brokers:
        yield brokers


def consumer_of(bootstrap: str, isolation: str) -> Consumer:
    return Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "readers",
            "isolation.level": isolation,
            "enable.auto.commit": False,
            **QUIET,
        }
    )


class Reader:
    """Reads a topic from its beginning in a thread, as the copies come."""

    def __init__(self, bootstrap: str, topic: str, isolation: str, partitions: int = PARTITIONS) -> None:
        self.values: dict[int, list[int]] = {partition: [] for partition in range(partitions)}
        self._topic = topic
        self._consumer = consumer_of(bootstrap, isolation)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)

    @property
    def count(self) -> int:
        return sum(map(len, self.values.values()))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        self._consumer.close()

    def _run(self) -> None:
        self._consumer.assign([TopicPartition(self._topic, partition, 0) for partition in self.values])
        while not self._stop.is_set():
            for message in self._consumer.consume(500, 0.1):
                value, partition = message.value(), message.partition()
                if message.error() is None and value is not None and partition is not None:
                    self.values[partition].append(int(value))


class Copiers:
    """Two processes, each begun again whenever it ends."""

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap
        self._processes = [self._start(number) for number in range(2)]
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._look_after)

    def _start(self, number: int) -> subprocess.Popen[bytes]:
        names = [self._bootstrap, f"copier-{number}", "input", "output", str(RECORDS_PER_TRANSACTION)]
        return subprocess.Popen([sys.executable, str(COPIER), *names], stderr=subprocess.DEVNULL)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        for process in self._processes:
            process.kill()
            process.wait()

    def kill(self, number: int) -> None:
        self._processes[number].kill()

    def _look_after(self) -> None:
        while not self._stop.wait(0.05):
            for number, process in enumerate(self._processes):
                if process.poll() is not None:
                    self._processes[number] = self._start(number)


def fill(producer: Producer, topic: str, values: range) -> None:
    for value in values:
        producer.produce(topic, str(value).encode(), partition=value % PARTITIONS)
        producer.poll(0)
    assert producer.flush(WAIT_S) == 0


def test_a_copy_is_exact_whoever_is_killed(brokers: ThreeBrokers) -> None:
    """S13: input = output, no duplicate, order kept; a reader at the same time sees the same."""
    random = Random(5)
    brokers.create_topic("input", PARTITIONS)
    brokers.create_topic("output", PARTITIONS)
    expected = {partition: list(range(partition, RECORDS, PARTITIONS)) for partition in range(PARTITIONS)}
    settings = {"bootstrap.servers": brokers.bootstrap, "enable.idempotence": True, "linger.ms": 5, **QUIET}
    filler = Producer(settings)
    with ExitStack() as stack:
        committed = stack.enter_context(Reader(brokers.bootstrap, "output", "read_committed"))
        everything = stack.enter_context(Reader(brokers.bootstrap, "output", "read_uncommitted"))
        copiers = stack.enter_context(Copiers(brokers.bootstrap))
        for step in range(STEPS):
            filled, following = RECORDS * step // STEPS, RECORDS * (step + 1) // STEPS
            fill(filler, "input", range(filled, following))
            wait_until(lambda filled=filled: committed.count > filled)  # type: ignore[misc]
            copiers.kill(step % 2)
            if step % 2:
                broker_id = random.choice([1, 2, 3])
                brokers.by_id[broker_id].kill()
                brokers.by_id[broker_id].start()
                brokers.wait_until_in_sync("output", "__transaction_state", "__consumer_offsets")
            wait_until(lambda following=following: committed.count >= following)  # type: ignore[misc]
        wait_until(lambda: everything.count >= RECORDS)
    assert committed.values == expected
    for partition, values in expected.items():
        assert set(everything.values[partition]) == set(values)
    assert read_again(brokers.bootstrap, "output") == expected


def read_again(bootstrap: str, topic: str) -> dict[int, list[int]]:
    """Up to the last stable offset, which no transaction holds back."""
    with Reader(bootstrap, topic, "read_committed") as reader:
        wait_until(lambda: reader.count >= RECORDS)
    return reader.values


def transactional_producer(bootstrap: str, transactional_id: str) -> Producer:
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "transactional.id": transactional_id,
            "retry.backoff.ms": 20,
            "retry.backoff.max.ms": 100,
            **QUIET,
        }
    )
    producer.init_transactions(WAIT_S)
    return producer


def test_a_transaction_outlives_its_coordinator(brokers: ThreeBrokers) -> None:
    """Row 59: killed between the first record and the end; the next one knows every partition of the transaction."""
    brokers.create_topic("orders", 3)
    producer = transactional_producer(brokers.bootstrap, "t")
    for number, commits in enumerate([True, False]):
        write_everywhere(producer, number)
        coordinator = brokers.leader_of("__transaction_state", partition=hash_of("t"))
        brokers.by_id[coordinator].kill()
        end(producer, commits=commits)
        brokers.by_id[coordinator].start()
        brokers.wait_until_in_sync("orders", "__transaction_state")
    write_everywhere(producer, 2)
    end(producer, commits=True)
    with Reader(brokers.bootstrap, "orders", "read_committed", partitions=3) as reader:
        wait_until(lambda: reader.count >= 6)
    assert reader.values == {partition: [0, 2] for partition in range(3)}


def write_everywhere(producer: Producer, number: int) -> None:
    producer.begin_transaction()
    for partition in range(3):
        producer.produce("orders", str(number).encode(), partition=partition)
    assert producer.flush(WAIT_S) == 0


def hash_of(transactional_id: str) -> int:
    return sum(ord(letter) for letter in transactional_id) % 3  # Java's, of a single letter


def end(producer: Producer, *, commits: bool) -> None:
    """Again, as long as the producer says that it may be tried again."""
    while True:
        try:
            producer.commit_transaction(WAIT_S) if commits else producer.abort_transaction(WAIT_S)
            return
        except KafkaException as failure:
            if not failure.args[0].retriable():
                raise
