"""Clients with transactions: one that writes several records at once, or takes them back; and one that copies a topic
into another, so that each record is copied exactly once.

What goes wrong ends the client. Another with the same transactional id takes its place, fences it, and ends what it has
left open; a copier goes on from where its group has committed.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from random import Random
from typing import Any

from confluent_kafka import KafkaException

from strandline.history.recording import Journal, RecordingConsumer, RecordingProducer

TRANSACTION_RECORDS = 5
ABORTED_SHARE = 0.1
BETWEEN_TRANSACTIONS_S = 0.1
CALL_TIMEOUT_S = 20.0
HANGS_AFTER_S = 3 * CALL_TIMEOUT_S
CLOSE_TIMEOUT_S = 0.5
COPY_RECORDS = 200
Settings = Callable[[str], dict[str, Any]]
TRANSACTIONAL = {"enable.idempotence": True, "transaction.timeout.ms": 10_000, "linger.ms": 5}
COPIERS = "copiers"
COPYING = {"group.id": COPIERS, "auto.offset.reset": "earliest", "enable.auto.commit": False}


class TransactionalWriter:
    def __init__(self, settings: Settings, topic: str, partitions: int, stopping: threading.Event) -> None:
        self._settings = settings
        self._topic = topic
        self._partitions = partitions
        self._stopping = stopping
        self._chance = Random(topic)

    def run(self, name: str, journal: Journal) -> None:
        while not self._stopping.is_set():
            producer = RecordingProducer({**self._settings(name), **TRANSACTIONAL, "transactional.id": name}, journal)
            with suppress(KafkaException):
                producer.init_transactions(CALL_TIMEOUT_S)
                self._write(producer)
            close(producer)

    def _write(self, producer: RecordingProducer) -> None:
        while not self._stopping.is_set():
            producer.begin_transaction()
            for number in range(TRANSACTION_RECORDS):
                producer.produce(self._topic, b"in a transaction", partition=number % self._partitions)
            if self._chance.random() < ABORTED_SHARE:
                producer.abort_transaction(CALL_TIMEOUT_S)
            else:
                commit(producer)
            time.sleep(BETWEEN_TRANSACTIONS_S)


class Copier:
    def __init__(self, settings: Settings, source: str, target: str, stopping: threading.Event) -> None:
        self._settings = settings
        self._source = source
        self._target = target
        self._stopping = stopping
        self._moved_s = 0.0

    def run(self, name: str, journal: Journal) -> None:
        while not self._stopping.is_set():
            producer = RecordingProducer({**self._settings(name), **TRANSACTIONAL, "transactional.id": name}, journal)
            consumer = RecordingConsumer({**self._settings(name), **COPYING}, journal, within=producer)
            self._run_while_it_moves(consumer, producer)
            with suppress(KafkaException, RuntimeError):
                consumer.close()
            close(producer)

    def _run_while_it_moves(self, consumer: RecordingConsumer, producer: RecordingProducer) -> None:
        """librdkafka has been seen to wait for a group's coordinator for ever: then the next client takes over."""
        self._moved_s = time.monotonic()
        copying = threading.Thread(target=self._copy, args=(consumer, producer), daemon=True)
        copying.start()
        while copying.is_alive() and time.monotonic() < self._moved_s + HANGS_AFTER_S:
            copying.join(BETWEEN_TRANSACTIONS_S)

    def _copy(self, consumer: RecordingConsumer, producer: RecordingProducer) -> None:
        with suppress(KafkaException, RuntimeError, ValueError):  # also those of a client that was given up
            producer.init_transactions(CALL_TIMEOUT_S)
            consumer.subscribe([self._source])
            while not self._stopping.is_set():
                self._moved_s = time.monotonic()
                self._copy_some(consumer, producer)

    def _copy_some(self, consumer: RecordingConsumer, producer: RecordingProducer) -> None:
        producer.begin_transaction()
        messages = [message for message in consumer.consume(COPY_RECORDS, 0.5) if message.error() is None]
        for message in messages:
            producer.produce(self._target, message.value(), partition=message.partition() or 0)
        if messages:
            positions = [each for each in consumer.position(consumer.assignment()) if each.offset >= 0]
            producer.send_offsets_to_transaction(positions, consumer.consumer_group_metadata(), CALL_TIMEOUT_S)
        commit(producer)


def commit(producer: RecordingProducer) -> None:
    """One that cannot be committed and must be aborted is aborted; then, as after any failure, the client ends."""
    try:
        producer.commit_transaction(CALL_TIMEOUT_S)
    except KafkaException as refused:
        if refused.args[0].txn_requires_abort():
            producer.abort_transaction(CALL_TIMEOUT_S)
        raise


def close(producer: RecordingProducer) -> None:
    """What it has sent and not ended is its successor's to end. One with a fatal error fails once more, and may be in
    such a state that Python complains of confluent-kafka."""
    with suppress(KafkaException, SystemError):
        producer.purge()
    with suppress(KafkaException, SystemError):
        producer.close(CLOSE_TIMEOUT_S)
