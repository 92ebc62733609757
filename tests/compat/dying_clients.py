"""Recorded clients whose process is killed when a commit of theirs has come to be, before it has heard of that.

python -m tests.compat.dying_clients HOW BOOTSTRAP TOPIC FOLDER
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from confluent_kafka import Consumer, Message, TopicPartition

from strandline.history.recording import Journal, RecordingConsumer, RecordingProducer

COMMIT_RECORDS = 10
CALL_S = 30.0
MEMBER: dict[str, Any] = {
    "auto.offset.reset": "earliest",
    "enable.auto.commit": False,
    "group.instance.id": "one",  # who has it takes the place of who had it, and waits for no session to end
}


class DiesAfter:
    """A client of the library. One of its calls is the last thing that the process does."""

    def __init__(self, client: Any, last: str) -> None:
        self._client, self._last = client, last

    def __getattr__(self, name: str) -> Any:
        return self._die_after if name == self._last else getattr(self._client, name)

    def _die_after(self, *arguments: Any, **named: Any) -> None:
        getattr(self._client, self._last)(*arguments, **named)
        die()


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class Dying:
    def __init__(self, bootstrap: str, topic: str, folder: str) -> None:
        self._topic = topic
        self._there: dict[str, Any] = {"bootstrap.servers": bootstrap}
        self._journal = Journal(f"{folder}/carl.jsonl", "carl")

    def _member(self, within: RecordingProducer | None = None) -> RecordingConsumer:
        consumer = RecordingConsumer({**self._there, **MEMBER, "group.id": self._topic}, self._journal, within=within)
        consumer.subscribe([self._topic])
        return consumer

    def waits_for_its_commit(self) -> None:
        consumer = self._member()
        _read(consumer)
        consumer.commit(asynchronous=False)
        _read(consumer)
        consumer._consumer = DiesAfter(consumer._consumer, "commit")  # type: ignore[assignment]
        consumer.commit(asynchronous=False)

    def goes_on_meanwhile(self) -> None:
        consumer = self._member()
        _read(consumer)
        consumer.commit(asynchronous=False)
        _read(consumer)
        consumer.commit()
        other = Consumer({**self._there, "group.id": self._topic})
        while other.committed([TopicPartition(self._topic, 0)], CALL_S)[0].offset < 2 * COMMIT_RECORDS:
            pass
        die()

    def commits_in_a_transaction(self) -> None:
        producer = RecordingProducer({**self._there, "transactional.id": self._topic}, self._journal)
        consumer = self._member(within=producer)
        producer.init_transactions(CALL_S)
        while True:
            producer.begin_transaction()
            messages = _read(consumer)
            for message in messages:
                producer.produce(f"{self._topic}-copied", message.value(), partition=0)
            positions = consumer.position(consumer.assignment())
            producer.send_offsets_to_transaction(positions, consumer.consumer_group_metadata(), CALL_S)
            if any(each.offset > COMMIT_RECORDS for each in positions):
                producer._producer = DiesAfter(producer._producer, "commit_transaction")  # type: ignore[assignment]
            producer.commit_transaction(CALL_S)


def _read(consumer: RecordingConsumer) -> list[Message]:
    messages: list[Message] = []
    while len(messages) < COMMIT_RECORDS:
        messages += consumer.consume(COMMIT_RECORDS - len(messages), 0.5)
    return messages


WAYS: dict[str, Callable[[Dying], None]] = {
    "waits": Dying.waits_for_its_commit,
    "goes on": Dying.goes_on_meanwhile,
    "in a transaction": Dying.commits_in_a_transaction,
}

if __name__ == "__main__":
    WAYS[sys.argv[1]](Dying(*sys.argv[2:]))
