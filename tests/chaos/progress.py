"""How far readers have come. A reader that was left behind after the last fault is a bug too, though it saw nothing
wrong."""

from __future__ import annotations

import threading
from collections.abc import Iterable

from confluent_kafka import Message

from strandline.model.partitions import TopicPartition


class Progress:
    """The highest offset that each reader has seen of each partition; those of a group are one reader."""

    def __init__(self) -> None:
        self._offsets: dict[str, dict[TopicPartition, int]] = {}
        self._lock = threading.Lock()

    def note(self, reader: str, messages: Iterable[Message]) -> None:
        with self._lock:
            offsets = self._offsets.setdefault(reader, {})
            for message in messages:
                topic, partition, offset = message.topic(), message.partition(), message.offset()
                if message.error() is None and topic is not None and partition is not None and offset is not None:
                    name = TopicPartition(topic, partition)
                    offsets[name] = max(offset, offsets.get(name, -1))

    def behind(self, reader: str, other: str, topic: str) -> list[str]:
        """A sentence for each partition of which the other has seen more."""
        with self._lock:
            offsets, others = self._offsets.get(reader, {}), self._offsets.get(other, {})
            return [
                f"{reader} came to offset {offsets.get(name, -1)} of {name}, and not to {last}"
                for name, last in others.items()
                if name.topic == topic and offsets.get(name, -1) < last
            ]
