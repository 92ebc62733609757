"""What a load is given: one side, its topics, the clients, and how much to do."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import count

from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec

from benchmarks.compare.pool import Pool, Ran, Task
from benchmarks.compare.side import CompareFailed, Side

TIMEOUT_S = 120.0
LOTS = 200  # topics or partitions in one request of ours
POLL_S = 0.02
_numbers = count(1)


@dataclass(frozen=True, slots=True)
class Scale:
    """A quick run shows that everything works and roughly where we stand; a full one is for the page."""

    is_quick: bool
    rounds: int

    def some(self, full: int, quick: int) -> int:
        return quick if self.is_quick else full


class Bench:
    def __init__(self, side: Side, pool: Pool, scale: Scale) -> None:
        self.side = side
        self.scale = scale
        self.kept: dict[str, str] = {}  # topics that a load fills once, by its own name for them
        self._pool = pool
        self.admin = AdminClient({"bootstrap.servers": side.bootstrap, "log_level": 0})

    def run(self, *tasks: Task) -> Ran:
        return self._pool.run(self.side, tasks)

    def leader_port(self, topic: str) -> int:
        """Of its first partition, for those who send requests as they are. Not every broker hears of it at once."""
        deadline_s = time.monotonic() + TIMEOUT_S
        while time.monotonic() < deadline_s:
            known = self.admin.list_topics(topic, timeout=30)
            partitions = known.topics[topic].partitions
            if 0 in partitions and partitions[0].leader in known.brokers:
                return int(known.brokers[partitions[0].leader].port)
            time.sleep(POLL_S)
        raise CompareFailed(f"{self.side.name} did not give {topic} a leader.")

    @contextmanager
    def topic(self, partitions: int = 1, settings: Mapping[str, str] | None = None) -> Iterator[str]:
        """For one turn. Where the turn failed, its failure is told and not that the topic cannot be deleted either."""
        (name,) = self.create(1, partitions, settings)
        try:
            yield name
        except BaseException:
            with suppress(KafkaException):
                self.delete([name])
            raise
        self.delete([name])

    def keep(self, purpose: str, partitions: int = 1, settings: Mapping[str, str] | None = None) -> str:
        """A topic that stays until the load is over."""
        (self.kept[purpose],) = self.create(1, partitions, settings)
        return self.kept[purpose]

    def create(self, topics: int, partitions: int = 1, settings: Mapping[str, str] | None = None) -> list[str]:
        """Returns when each can be used."""
        replicas = min(3, len(self.side.pids))
        names = [f"load-{next(_numbers)}" for _ in range(topics)]
        for begin in range(0, topics, LOTS):
            lot = [NewTopic(name, partitions, replicas, config=dict(settings or {})) for name in names[begin:][:LOTS]]
            for future in self.admin.create_topics(lot, request_timeout=TIMEOUT_S, operation_timeout=60).values():
                future.result(TIMEOUT_S)
        self._wait_until_usable([TopicPartition(name, number) for name in names for number in range(partitions)])
        return names

    def delete(self, names: Sequence[str]) -> None:
        for begin in range(0, len(names), LOTS):
            lot = list(names[begin : begin + LOTS])
            for future in self.admin.delete_topics(lot, request_timeout=TIMEOUT_S, operation_timeout=60).values():
                future.result(TIMEOUT_S)

    def wait_until_gone(self, names: Sequence[str]) -> None:
        """From all disks, but for what waits to be removed under another name."""
        left = [f"{folder}/{name}-0" for folder in self.side.data for name in names]
        deadline_s = time.monotonic() + TIMEOUT_S
        while left := [path for path in left if os.path.exists(path)]:
            if time.monotonic() > deadline_s:
                raise CompareFailed(f"{self.side.name} did not delete {len(left)} topics.")
            time.sleep(POLL_S)

    def close(self) -> None:
        self.delete(list(self.kept.values()))

    def check_records(self, topic: str, partitions: int, expected: int) -> None:
        """What was acknowledged is there: a broker that drops records would be the fastest."""
        found = sum(self._end_offsets([TopicPartition(topic, number) for number in range(partitions)]))
        if found != expected:
            raise CompareFailed(f"{self.side.name} has {found:,} of {expected:,} records that it acknowledged.")

    def _wait_until_usable(self, partitions: Sequence[TopicPartition]) -> None:
        """Until their leaders answer: Kafka's metadata has a topic before its logs exist.

        librdkafka remembers that a topic was not there, until it is made to ask again.
        """
        deadline_s = time.monotonic() + TIMEOUT_S
        while time.monotonic() < deadline_s:
            try:
                self.admin.list_topics(timeout=30)
                self._end_offsets(partitions)
            except KafkaException:
                time.sleep(POLL_S)
            else:
                return
        raise CompareFailed(f"{self.side.name} did not make {len(partitions)} partitions usable.")

    def _end_offsets(self, partitions: Sequence[TopicPartition]) -> list[int]:
        latest = OffsetSpec.latest()  # type: ignore[no-untyped-call]
        found = []
        for begin in range(0, len(partitions), LOTS):
            asked = dict.fromkeys(partitions[begin : begin + LOTS], latest)
            futures = self.admin.list_offsets(asked, request_timeout=TIMEOUT_S)
            found += [future.result(TIMEOUT_S).offset for future in futures.values()]
        return found
