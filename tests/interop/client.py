"""What Kafka's own Java client sees of a real broker (`Client.java`), as Python values."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

from tests.interop.broker import Broker
from tests.interop.kafka import Kafka
from tests.interop.process import Child

from strandline.model.ids import decode_id

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

    def create(self, *topics: str, settings: Mapping[str, str] | None = None) -> dict[str, UUID]:
        """The new topics' ids."""
        created = self._ask("create", ",".join(topics), *_given(settings or {}))
        return {node["topic"]: decode_id(node["topic_id"]) for node in created}

    def configure(self, topic: str, settings: Mapping[str, str]) -> None:
        self._ask("configure", topic, *_given(settings))

    @contextmanager
    def streaming(self, topic: str, log_file: Path, until_acked: int) -> Iterator[None]:
        """A producer that goes on and on, in a process of its own; begun once so many records are acknowledged."""
        command = self.kafka.command(PROGRAM, "stream", self.broker.bootstrap, topic)
        with Child(command, log_file, ready_line=f"acked {until_acked}") as producer:
            yield
            producer.kill()

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


def _given(settings: Mapping[str, str]) -> list[str]:
    return [f"{name}={value}" for name, value in settings.items()]


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
