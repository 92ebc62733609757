"""The clients of a run: recorded producers, a consumer group and a reader of its own, each in a thread.

Producers are idempotent with acks=all and go on at their own pace, whatever the cluster does: partitions in turn, so
that each of them hears something every few milliseconds and a silence is the cluster's. Clients give up a broker that
does not answer after two or three seconds and look for another within one. With librdkafka's defaults (60 s, 10 s) what
would be measured is the client's patience, not the cluster's absence.

A group has an offset in every partition before its members come. librdkafka (2.16) that must ask for the earliest one
and loses the partition before the answer is there asks again, reads the partition for nobody, and shows what it has
read when it is given the partition back, wherever the group is by then (`auto.offset.reset` in
rd_kafka_toppar_handle_Offset: an outdated answer starts a stopped partition again).
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from tests.chaos.progress import Progress
from tests.chaos.stuck_clients import STUCK_S, ClientWatch
from tests.chaos.transactional import COPIERS, Copier, TransactionalWriter

from strandline.history.recording import Journal, RecordingConsumer, RecordingProducer
from strandline.history.recording.silence import TOLD_FROM_US
from strandline.model.partitions import TopicPartition as ModelPartition

WAIT_S = 60.0
MAKING_CLIENTS_S = 10.0
READ_TIMEOUT_S = 120.0
IN_VAIN_S = TOLD_FROM_US / 1_000_000 + 1.0
FLUSH_TIMEOUT_S = 120.0
GROUP, READER, LAST_READER = "kitchen", "reader", "last-reader"
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
    "group.id": GROUP,
    "auto.offset.reset": "earliest",
    "enable.auto.commit": False,
    "session.timeout.ms": 6000,
    "heartbeat.interval.ms": 1000,
}
ALONE = {**CLIENT, "group.id": "nobody", "enable.auto.commit": False}


class Load:
    def __init__(
        self, directory: str, bootstrap: str, topic: str, *, partitions: int = 3, others_topics: Sequence[str] = ()
    ) -> None:
        """`others_topics` are written by somebody who is not recorded."""
        self.topic = topic
        self.copies = f"{topic}-copied"
        self.partitions = partitions
        self._others_topics = tuple(others_topics)
        self._directory = directory
        self._bootstrap = bootstrap
        self._stopping = threading.Event()
        self._reading_on = threading.Event()
        self._producers: list[threading.Thread] = []
        self._consumers: list[threading.Thread] = []
        self._progress = Progress()
        self._watch = ClientWatch(self._replace)
        self.failures: list[BaseException] = []
        self.replaced: list[str] = []  # clients that had locked themselves up, in a sentence each
        self.files: list[str] = []

    @property
    def topics(self) -> tuple[str, ...]:
        return self.topic, self.copies, *self._others_topics

    def create_topics(self, **settings: str) -> None:
        admin = AdminClient(self._settings(CLIENT, "administrator"))
        config = {"min.insync.replicas": "2", **settings}
        created = admin.create_topics([NewTopic(topic, self.partitions, 3, config=config) for topic in self.topics])
        for topic in self.topics:
            created[topic].result(WAIT_S)
        for group in (GROUP, COPIERS):
            self._begin_group(group)

    def _begin_group(self, group: str) -> None:
        first = Consumer(self._settings({**CLIENT, "group.id": group}, "administrator"))
        try:
            first.commit(offsets=self._places((self.topic,)), asynchronous=False)
        finally:
            first.close()

    def start(self, *, producers: int = 2, group_members: int = 2, rate_per_s: float = 300.0) -> None:
        """`rate_per_s` is that of all producers; those with transactions come on top of it."""
        self._watch.start()
        self._start_members([f"member-{number}" for number in range(group_members)])
        for number in range(producers):
            self._begin(f"producer-{number}", self._producers, lambda name: self._produce(name, rate_per_s / producers))
        self._begin(READER, self._consumers, self._read)
        self._begin("writer", self._producers, self._write_transactions)
        self._begin("copier", self._producers, self._copy)

    def _start_members(self, names: list[str]) -> None:
        """Alone: what threads appear while a client is made are taken for its own."""
        for name in names:
            self._begin(name, self._consumers, self._consume_in_group)
        deadline = time.monotonic() + MAKING_CLIENTS_S
        while not all(map(self._watch.has, names)) and not self.failures and time.monotonic() < deadline:
            time.sleep(TICK_S)

    def stop_producing(self) -> None:
        """What was sent is waited for."""
        self._stopping.set()
        self._join(self._producers)

    def stop_reading(self) -> list[str]:
        """After `read_to_end`: readers who have not come so far in time, in a sentence each."""
        deadline = time.monotonic() + WAIT_S
        while (behind := self._behind()) and time.monotonic() < deadline:
            time.sleep(TICK_S)
        self._reading_on.set()
        self._watch.end()
        self._join(self._consumers)
        return behind

    def _join(self, threads: list[threading.Thread]) -> None:
        """librdkafka has been seen to wait for a coordinator long past its own timeout."""
        deadline = time.monotonic() + FLUSH_TIMEOUT_S + WAIT_S
        for thread in threads:
            thread.join(max(0.0, deadline - time.monotonic()))
            if thread.is_alive():
                self.failures.append(TimeoutError(f"{thread.name} does not come to its end"))

    def _behind(self) -> list[str]:
        return [each for who in (GROUP, READER) for each in self._progress.behind(who, LAST_READER, self.topic)]

    def read_to_end(self) -> dict[ModelPartition, int]:
        """By somebody who was not there before, when every transaction is decided. Returns the high watermarks: up to
        these replicas must agree."""
        places = self._places((self.topic, self.copies))
        settings = self._settings({**ALONE, "enable.partition.eof": True}, LAST_READER)
        ends = self._high_watermarks(places)
        with (
            Journal(self._path(LAST_READER), LAST_READER) as journal,
            RecordingConsumer(settings, journal) as consumer,
        ):
            consumer.assign(places)
            unread, deadline = set(ends), time.monotonic() + READ_TIMEOUT_S
            while unread:
                messages = consumer.consume(1000, 0.5)
                self._progress.note(LAST_READER, messages)
                for message in messages:
                    unread -= _read_up(message, ends)
                if time.monotonic() > deadline:
                    raise AssertionError(f"nobody could read {', '.join(map(str, sorted(unread)))} to the end: {ends}")
            self._look_in_vain(consumer, deadline)
            return ends

    def _look_in_vain(self, consumer: RecordingConsumer, deadline: float) -> None:
        """Only who found nothing at last shows that a log has lost its end. News that this is the end come first."""
        while messages := consumer.consume(1000, IN_VAIN_S):
            self._progress.note(LAST_READER, messages)
            if time.monotonic() > deadline:
                raise AssertionError("there was always more to read: nobody has seen that this is the end")

    def ends_of_others(self) -> dict[ModelPartition, int]:
        """The high watermarks of what those who are not recorded have written, when they have stopped."""
        return self._high_watermarks(self._places(self._others_topics))

    def _high_watermarks(self, places: list[TopicPartition]) -> dict[ModelPartition, int]:
        return _high_watermarks(self._settings({**ALONE, "isolation.level": "read_uncommitted"}, LAST_READER), places)

    def _places(self, topics: Sequence[str]) -> list[TopicPartition]:
        return [TopicPartition(topic, index, 0) for topic in topics for index in range(self.partitions)]

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
        if not said.handlers:
            said.propagate = False
            file = logging.FileHandler(f"{self._directory}/{name}.log", delay=True)
            file.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
            said.addHandler(file)
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

    def _write_transactions(self, name: str) -> None:
        with Journal(self._path(name), name) as journal:
            writer = TransactionalWriter(self._transactional, self.topic, self.partitions, self._stopping)
            writer.run(name, journal)

    def _copy(self, name: str) -> None:
        with Journal(self._path(name), name) as journal:
            Copier(self._transactional, self.topic, self.copies, self._stopping).run(name, journal)

    def _transactional(self, name: str) -> dict[str, Any]:
        return self._settings(CLIENT, name)

    def _consume_in_group(self, name: str) -> None:
        settings = self._settings(GROUP_MEMBER, name)
        with (
            Journal(self._path(name), name) as journal,
            self._watch.make(name, lambda: RecordingConsumer(settings, journal)) as consumer,
        ):
            consumer.subscribe([self.topic])
            committed_s = time.monotonic()
            while not self._reading_on.is_set():
                messages = consumer.consume(500, 0.1)
                self._progress.note(GROUP, messages)
                if messages and time.monotonic() > committed_s + COMMIT_EVERY_S:
                    consumer.commit()  # and not a call that waits: librdkafka's may wait for ever in a rebalance
                    committed_s = time.monotonic()
            self._watch.forget(name)

    def _replace(self, name: str) -> None:
        """By another member of the group. Its own thread cannot be ended, nor waited for."""
        self._consumers[:] = [thread for thread in self._consumers if thread.name != name]
        self.replaced.append(f"{name} was replaced: its main thread had stood still for {STUCK_S:g} s")
        self._begin(f"{name}-after-{len(self.replaced)}", self._consumers, self._consume_in_group)

    def _read(self, name: str) -> None:
        settings = self._settings(ALONE, name)
        with Journal(self._path(name), name) as journal, RecordingConsumer(settings, journal) as consumer:
            consumer.assign([TopicPartition(self.topic, index, 0) for index in range(self.partitions)])
            while not self._reading_on.is_set():
                self._progress.note(READER, consumer.consume(500, 0.1))


def _read_up(message: Message, ends: dict[ModelPartition, int]) -> set[ModelPartition]:
    """The partition, if this is its end. The last records may be markers of transactions, which nobody is shown."""
    topic, partition, offset, error = message.topic(), message.partition(), message.offset(), message.error()
    if topic is None or partition is None or offset is None:
        return set()
    name = ModelPartition(topic, partition)
    is_end = offset >= ends[name] if error is not None else offset + 1 >= ends[name]
    return {name} if is_end and (error is None or error.code() == KafkaError._PARTITION_EOF) else set()


def _high_watermarks(settings: dict[str, Any], places: list[TopicPartition]) -> dict[ModelPartition, int]:
    consumer = Consumer(settings)
    try:
        return {ModelPartition(each.topic, each.partition): _end_of(consumer, each) for each in places}
    finally:
        consumer.close()


def _end_of(consumer: Consumer, place: TopicPartition) -> int:
    """A leader that is new does not know it yet, and this call of the client does not ask again (KIP-207)."""
    deadline = time.monotonic() + WAIT_S
    while True:
        try:
            return int(consumer.get_watermark_offsets(place, timeout=WAIT_S)[1])
        except KafkaException:
            if time.monotonic() > deadline:
                raise
            time.sleep(TICK_S)
