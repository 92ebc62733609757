"""What Kafka's own Java client sees of a real broker (`Client.java`), as Python values."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.interop.broker import Broker
from tests.interop.kafka import Kafka

PROGRAM = str(Path(__file__).with_name("Client.java"))


@dataclass(frozen=True)
class ServedRecord:
    offset: int
    timestamp: int
    timestamp_type: str
    leader_epoch: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]


@dataclass(frozen=True)
class ServedLog:
    first_offset: int
    end_offset: int
    records: list[ServedRecord]


@dataclass(frozen=True)
class Client:
    kafka: Kafka
    broker: Broker

    def create(self, topic: str, **settings: str) -> str:
        """The new topic's id. A setting's dots are written as underscores."""
        given = [f"{name.replace('_', '.')}={value}" for name, value in settings.items()]
        topic_id: str = self._ask("create", topic, *given)[0]["topic_id"]
        return topic_id

    def produce(self, topic: str, count: int, word: str) -> None:
        self._ask("produce", topic, str(count), word)

    def consume(self, *topics: str, isolation: str = "read_uncommitted") -> dict[str, ServedLog]:
        served: dict[str, ServedLog] = {}
        for node in self._ask("consume", ",".join(topics), isolation):
            if "topic" in node:
                log = served[node["topic"]] = ServedLog(node["first"], node["end"], [])
            else:
                log.records.append(_record(node))
        return served

    def offset_for_time(self, topic: str, timestamp: int) -> tuple[int, int]:
        (found,) = self._ask("find", topic, str(timestamp))
        return found["offset"], found["timestamp"]

    def _ask(self, verb: str, topic: str, *arguments: str) -> list[dict[str, Any]]:
        done = self.kafka.run(PROGRAM, verb, self.broker.bootstrap, topic, *arguments)
        assert done.exit_code == 0, f"{verb} {topic}: {done.stderr}\n{self.broker.server.log_tail()}"
        return [json.loads(line) for line in done.stdout.splitlines()]


def _record(node: dict[str, Any]) -> ServedRecord:
    return ServedRecord(
        offset=node["offset"],
        timestamp=node["timestamp"],
        timestamp_type=node["timestamp_type"],
        leader_epoch=node["leader_epoch"],
        key=_bytes(node["key"]),
        value=_bytes(node["value"]),
        headers=tuple((header["key"], _bytes(header["value"])) for header in node["headers"]),
    )


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else bytes.fromhex(text)
