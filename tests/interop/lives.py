"""Two lives of a real broker on one data directory, written while the tests run.

The first ends by kill -9 in the middle of a producer's stream, the second by a clean stop. Each leaves a copy, and
what Kafka's own client was served just before. The workload is that of the golden folders: all codecs, headers, nulls,
idempotent producers, transactions of every end, LogAppendTime, and a topic that Kafka's cleaner has cleaned.
"""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from tests.golden.make import QUICK_CLEANER, await_cleaning, segment_bytes_property
from tests.interop.broker import Broker, format_directory, kraft_broker
from tests.interop.client import Client, ServedLog
from tests.interop.kafka import Kafka

WORKLOAD = str(Path(__file__).parents[1] / "golden" / "Workload.java")
TOPICS = ("orders", "payments", "clicks", "accounts")
STREAM = "stream"
STREAMED_BEFORE_DEATH = 300


@dataclass(frozen=True)
class Life:
    data: Path  # as the broker left it
    served: dict[str, ServedLog]
    committed: dict[str, ServedLog]
    is_killed: bool

    def streamed(self) -> int:
        """How many records of the endless stream had been acknowledged when the broker was killed."""
        acknowledged = re.findall(r"acked (\d+)\n", (self.data.parent / "stream.log").read_text())
        return max(map(int, acknowledged)) + 1

    def copy(self, to: Path) -> Path:
        return Path(shutil.copytree(self.data, to))


def live_twice(kafka: Kafka, work: Path) -> dict[str, Life]:
    data = work / "data"
    format_directory(kafka, data, work)
    with kraft_broker(kafka, data, work, QUICK_CLEANER) as broker:
        _run_workload(kafka, broker, "create", segment_bytes_property(kafka))
        _run_workload(kafka, broker, "first")
        client = Client(kafka, broker)
        client.create(STREAM, settings={segment_bytes_property(kafka): "20000"})
        await_cleaning(data, "accounts")
        killed = _life(client, work / "killed", is_killed=True)
        with client.streaming(STREAM, work / "stream.log", STREAMED_BEFORE_DEATH):
            broker.server.kill()
    shutil.copytree(data, killed.data)
    with kraft_broker(kafka, data, work, QUICK_CLEANER) as broker:
        _run_workload(kafka, broker, "second")
        _run_workload(kafka, broker, "open")
        await_cleaning(data, "accounts")
        stopped = _life(Client(kafka, broker), work / "stopped", is_killed=False)
    shutil.copytree(data, stopped.data)
    return {"killed": killed, "stopped": stopped}


def _life(client: Client, copy: Path, *, is_killed: bool) -> Life:
    return Life(copy, client.consume(*TOPICS), client.consume(*TOPICS, isolation="read_committed"), is_killed)


def _run_workload(kafka: Kafka, broker: Broker, *step: str) -> None:
    done = kafka.run(WORKLOAD, broker.bootstrap, *step)
    assert done.exit_code == 0, done.stderr
