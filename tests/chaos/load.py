"""The clients of a run: recorded producers, a consumer group and a reader of its own, each in a thread.

Producers are idempotent with acks=all and go on at their own pace, whatever the cluster does: partitions in turn, so
that each of them hears something every few milliseconds and a silence is the cluster's. Clients give up a broker that
does not answer after two or three seconds and look for another within one. With librdkafka's defaults (60 s, 10 s) what
would be measured is the client's patience, not the cluster's absence.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable
from typing import Any

from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from strandline.history.recording import Journal, RecordingConsumer, RecordingProducer

WAIT_S = 60.0
FLUSH_TIMEOUT_S = 120.0
VALUE_BYTES = 100
TICK_S = 0.01
COMMIT_EVERY_S = 0.5
CLIENT: dict[str, Any] = {
    "log_level": 6,
    "reconnect.backoff.ms": 50,
    "reconnect.backoff.max.ms": 1000,
    "socket.timeout.ms": 3000,
    "topic.metadata.refresh.interval.ms": 1000,
}
PRODUCER = {**CLIENT, "enable.idempotence": True, "acks": "all", "linger.ms": 5, "request.timeout.ms": 2000}
GROUP_MEMBER = {
    **CLIENT,
    "group.id": "kitchen",
    "auto.offset.reset": "earliest",
    "enable.auto.commit": False,
    "session.timeout.ms": 6000,
    "heartbeat.interval.ms": 1000,
}
READER = {**CLIENT, "group.id": "nobody", "enable.auto.commit": False}


class Load:
    def __init__(self, directory: str, bootstrap: str, topic: str, *, partitions: int = 3) -> None:
        self.topic = topic
        self.partitions = partitions
        self._directory = directory
        self._bootstrap = bootstrap
        self._stopping = threading.Event()
        self._reading_on = threading.Event()
        self._producers: list[threading.Thread] = []
        self._consumers: list[threading.Thread] = []
        self.failures: list[BaseException] = []
        self.files: list[str] = []

    def create_topic(self, **settings: str) -> None:
        admin = AdminClient(self._settings(CLIENT, "administrator"))
        wanted = NewTopic(self.topic, self.partitions, 3, config={"min.insync.replicas": "2", **settings})
        admin.create_topics([wanted])[self.topic].result(WAIT_S)

    def start(self, *, producers: int = 2, group_members: int = 2, readers: int = 1, rate_per_s: float = 300.0) -> None:
        """`rate_per_s` is that of all producers."""
        for number in range(producers):
            self._begin(f"producer-{number}", self._producers, lambda name: self._produce(name, rate_per_s / producers))
        for number in range(group_members):
            self._begin(f"member-{number}", self._consumers, self._consume_in_group)
        for number in range(readers):
            self._begin(f"reader-{number}", self._consumers, self._read)

    def stop(self) -> None:
        """The producers first, and what they have sent is waited for; then the consumers."""
        self._stopping.set()
        for thread in self._producers:
            thread.join()
        self._reading_on.set()
        for thread in self._consumers:
            thread.join()

    def read_to_end(self) -> dict[int, int]:
        """By somebody who was not there before. Returns the ends of the partitions, up to which it has read."""
        with (
            Journal(self._path("last-reader"), "last-reader") as journal,
            RecordingConsumer(self._settings(READER, "last-reader"), journal) as consumer,
        ):
            places = [TopicPartition(self.topic, index, 0) for index in range(self.partitions)]
            ends = {each.partition: _end_of(consumer, each) for each in places}
            consumer.assign(places)
            positions = dict.fromkeys(ends, 0)
            deadline = time.monotonic() + WAIT_S
            while positions != ends and time.monotonic() < deadline:
                for message in consumer.consume(1000, 0.5):
                    partition, offset = message.partition(), message.offset()
                    if message.error() is None and partition is not None and offset is not None:
                        positions[partition] = offset + 1
                        deadline = time.monotonic() + WAIT_S
            if positions != ends:
                raise AssertionError(f"of partitions that end at {ends}, nobody could read past {positions}")
            return ends

    # The threads.

    def _begin(self, name: str, threads: list[threading.Thread], work: Callable[[str], None]) -> None:
        def run() -> None:
            try:
                work(name)
            except BaseException as failure:
                self.failures.append(failure)

        thread = threading.Thread(target=run, name=name, daemon=True)
        threads.append(thread)
        thread.start()

    def _path(self, name: str) -> str:
        path = os.path.join(self._directory, f"{name}.jsonl")
        self.files.append(path)
        return path

    def _settings(self, kind: dict[str, Any], name: str) -> dict[str, Any]:
        """What a client itself has to say goes into a file beside its history."""
        said = logging.getLogger(f"chaos.{self._directory}.{name}")
        said.propagate = False
        said.addHandler(logging.FileHandler(f"{self._directory}/{name}.log", delay=True))
        return {**kind, "bootstrap.servers": self._bootstrap, "client.id": name, "logger": said}

    def _produce(self, name: str, rate_per_s: float) -> None:
        settings = self._settings(PRODUCER, name)
        with Journal(self._path(name), name) as journal:
            producer = RecordingProducer(settings, journal)
            sent, began_s = 0, time.monotonic()
            while not self._stopping.is_set():
                due = int((time.monotonic() - began_s) * rate_per_s)
                for number in range(sent, due):
                    sent += self._send(producer, number)
                producer.poll(TICK_S)
            producer.close(FLUSH_TIMEOUT_S)

    def _send(self, producer: RecordingProducer, number: int) -> bool:
        try:
            producer.produce(self.topic, b"%0*d" % (VALUE_BYTES, number), partition=number % self.partitions)
        except BufferError:  # it has all under way that it can hold
            return False
        return True

    def _consume_in_group(self, name: str) -> None:
        settings = self._settings(GROUP_MEMBER, name)
        with Journal(self._path(name), name) as journal, RecordingConsumer(settings, journal) as consumer:
            consumer.subscribe([self.topic])
            committed_s = time.monotonic()
            while not self._reading_on.is_set():
                messages = consumer.consume(500, 0.1)
                if messages and time.monotonic() > committed_s + COMMIT_EVERY_S:
                    consumer.commit()  # and not a call that waits: librdkafka's may wait for ever in a rebalance
                    committed_s = time.monotonic()

    def _read(self, name: str) -> None:
        settings = self._settings(READER, name)
        with Journal(self._path(name), name) as journal, RecordingConsumer(settings, journal) as consumer:
            consumer.assign([TopicPartition(self.topic, index, 0) for index in range(self.partitions)])
            while not self._reading_on.is_set():
                consumer.consume(500, 0.1)


def _end_of(consumer: RecordingConsumer, place: TopicPartition) -> int:
    """A leader that is new does not know it yet, and this call of the client does not ask again (KIP-207)."""
    deadline = time.monotonic() + WAIT_S
    while True:
        try:
            return int(consumer.get_watermark_offsets(place, timeout=WAIT_S)[1])
        except KafkaException:
            if time.monotonic() > deadline:
                raise
            time.sleep(TICK_S)
