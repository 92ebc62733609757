"""SIGKILL again and again, while an idempotent producer writes: every acknowledged record is there, in order, once."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition

from strandline.testing import Broker

KILLS = 10
PARTITIONS = 3
ACKNOWLEDGED_PER_LIFE = 300
UNANSWERED_MAX = 2_000
WAIT_S = 60.0
QUIET = {"log_level": 0, "log.connection.close": False}


class Load:
    """A producer that does not stop. What it was told is in `acknowledged`, by partition, in the order it was told."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self.acknowledged: dict[int, list[int]] = defaultdict(list)
        self.failed: list[KafkaError] = []
        self.sent = 0
        self._topic = topic
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "enable.idempotence": True,
                "acks": "all",
                "linger.ms": 2,
                "batch.num.messages": 50,
                "message.timeout.ms": int(WAIT_S * 1000),
                "reconnect.backoff.max.ms": 100,
                "retry.backoff.ms": 20,
                "retry.backoff.max.ms": 50,
                **QUIET,
            }
        )
        self._stop = threading.Event()

    @property
    def count(self) -> int:
        return sum(map(len, self.acknowledged.values()))

    def _heard(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self.failed.append(error)
        else:
            self.acknowledged[message.partition() or 0].append(int(message.value() or b""))

    def _run(self) -> None:
        while not self._stop.is_set():
            for _ in range(20 if self.sent - self.count < UNANSWERED_MAX else 0):
                partition = self.sent % PARTITIONS
                self._producer.produce(self._topic, b"%d" % self.sent, partition=partition, on_delivery=self._heard)
                self.sent += 1
            self._producer.poll(0.002)

    @contextmanager
    def running(self) -> Iterator[None]:
        thread = threading.Thread(target=self._run)
        thread.start()
        try:
            yield
        finally:
            self._stop.set()
            thread.join()
        assert self._producer.flush(WAIT_S) == 0

    def wait_for_more(self) -> None:
        wanted, deadline = self.count + ACKNOWLEDGED_PER_LIFE, time.monotonic() + WAIT_S
        while self.count < wanted:
            assert time.monotonic() < deadline, "nothing is acknowledged any more"
            time.sleep(0.005)


def read_all(bootstrap: str, topic: str) -> dict[int, list[int]]:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "all", "enable.auto.commit": False, **QUIET})
    found: dict[int, list[int]] = defaultdict(list)
    try:
        partitions = [TopicPartition(topic, index, 0) for index in range(PARTITIONS)]
        ends = {each.partition: consumer.get_watermark_offsets(each, WAIT_S)[1] for each in partitions}
        consumer.assign(partitions)
        while (missing := sum(ends.values()) - sum(map(len, found.values()))) > 0:
            messages = consumer.consume(min(missing, 1_000), WAIT_S)
            assert messages
            for message in messages:
                assert message.error() is None
                found[message.partition() or 0].append(int(message.value() or b""))
    finally:
        consumer.close()
    return found


def test_every_acknowledged_record_is_there_in_order_once() -> None:
    settings = {"num.partitions": PARTITIONS, "log.segment.bytes": 64 * 1024}  # many rolls, so many flushes under way
    with Broker(settings, process=True) as broker:
        load = Load(broker.bootstrap, "ledger")
        with load.running():
            for _ in range(KILLS):
                load.wait_for_more()
                broker.kill()
                broker.start()
            load.wait_for_more()
        assert load.failed == []
        assert load.count == load.sent, "what was sent was acknowledged, sooner or later"
        found = read_all(broker.bootstrap, "ledger")
    assert found == load.acknowledged
    assert found == {index: list(range(index, load.sent, PARTITIONS)) for index in range(PARTITIONS)}
