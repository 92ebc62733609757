"""Kafka's Java clients of both series against our broker: every codec, acknowledgement and group protocol (SPEC P1)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.interop.kafka import Kafka

from strandline.testing import Broker

pytestmark = pytest.mark.interop

PROGRAM = str(Path(__file__).with_name("Members.java"))
RECORDS = 3_000
ASSIGNORS = "org.apache.kafka.clients.consumer"


@pytest.fixture(scope="session")
def broker() -> Iterator[Broker]:
    with Broker(process=True, num_partitions=6) as broker:
        yield broker


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    return re.sub(r"\W+", "-", request.node.name).strip("-")


def run(kafka: Kafka, *arguments: str) -> list[dict[str, Any]]:
    done = kafka.run(PROGRAM, *arguments)
    assert done.exit_code == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def produce(kafka: Kafka, broker: Broker, topic: str, *settings: str) -> None:
    (told,) = run(kafka, "produce", broker.bootstrap, topic, str(RECORDS), *settings)
    assert told["acknowledged"] == RECORDS


def consume(kafka: Kafka, broker: Broker, topic: str, members: int, *settings: str) -> list[dict[str, Any]]:
    group = (f"group.id=group-{topic}", "auto.offset.reset=earliest")
    found = run(kafka, "consume", broker.bootstrap, topic, str(RECORDS), str(members), *group, *settings)
    assert {member["seen"] for member in found} == {RECORDS}
    return found


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_every_codec(kafka: Kafka, broker: Broker, topic: str, codec: str) -> None:
    produce(kafka, broker, topic, f"compression.type={codec}")
    consume(kafka, broker, topic, 1)


@pytest.mark.parametrize("acks", ["0", "1", "all"])
def test_every_acknowledgement(kafka: Kafka, broker: Broker, topic: str, acks: str) -> None:
    produce(kafka, broker, topic, f"acks={acks}", f"enable.idempotence={'true' if acks == 'all' else 'false'}")
    consume(kafka, broker, topic, 1)


@pytest.mark.parametrize(
    "settings",
    [
        (f"partition.assignment.strategy={ASSIGNORS}.RangeAssignor",),
        (f"partition.assignment.strategy={ASSIGNORS}.RoundRobinAssignor",),
        (f"partition.assignment.strategy={ASSIGNORS}.StickyAssignor",),
        (f"partition.assignment.strategy={ASSIGNORS}.CooperativeStickyAssignor",),
        ("static=true",),
        ("group.protocol=consumer",),
        ("group.protocol=consumer", "group.remote.assignor=range"),
    ],
    ids=["range", "round robin", "sticky", "cooperative", "static", "consumer", "consumer, range"],
)
def test_three_members_share_six_partitions(
    kafka: Kafka, broker: Broker, topic: str, settings: tuple[str, ...]
) -> None:
    produce(kafka, broker, topic)
    members = consume(kafka, broker, topic, 3, *settings)
    assert sum(member["partitions"] for member in members) == 6
    assert all(member["partitions"] == 2 for member in members)
    (later,) = run(
        kafka,
        "consume",
        broker.bootstrap,
        topic,
        "0",
        "1",
        f"group.id=group-{topic}",
        "auto.offset.reset=none",
        *settings,
    )
    assert later["records"] == 0  # the members committed all of it
