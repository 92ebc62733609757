"""What replication is doing, seen from outside: replicas in numbers, and records that wait (SPEC T6, R2, R3)."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

from click.testing import CliRunner
from confluent_kafka import Producer
from tests.cluster.orders import (
    TOPIC,
    WAIT_S,
    Acknowledged,
    admin_of,
    create_topic,
    leader_and_isr,
)

from strandline.cli.main import cli
from strandline.cluster.process_cluster import ProcessCluster


def asked(cluster: ProcessCluster, *words: str) -> dict[str, Any]:
    outcome = CliRunner().invoke(cli, [*words, "-b", cluster.bootstrap, "--format", "json"])
    assert outcome.exit_code == 0, outcome.output
    answer: dict[str, Any] = json.loads(outcome.output)
    return answer


def until(question: Callable[[], dict[str, Any]], holds: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    deadline = time.monotonic() + WAIT_S
    while not holds(answer := question()):
        assert time.monotonic() < deadline, answer
        time.sleep(0.1)
    return answer


def test_a_follower_that_hangs_holds_records_back_and_then_leaves(cluster: ProcessCluster) -> None:
    admin = admin_of(cluster)
    create_topic(admin)
    load = Acknowledged(cluster.bootstrap)
    load.send(range(10))
    load.flush()
    leader, _ = leader_and_isr(admin)
    hanging = next(broker_id for broker_id in cluster.brokers if broker_id != leader)
    replicas = asked(cluster, "topic", "describe", TOPIC, "--replicas")["replica_list"]
    shown = {row["replica"]: (row["log_end"], row["lag"], row["state"]) for row in replicas}
    assert shown == dict.fromkeys((1, 2, 3), (10, 0, "in sync"))
    assert asked(cluster, "explain", f"{TOPIC}/0@9")["says"][-1] == "visible       to every consumer"
    assert "has not been written" in asked(cluster, "explain", f"{TOPIC}/0@10")["says"][-1]

    cluster.pause(hanging)
    try:
        # A producer that waits for the leader alone: the record is there, and not committed.
        producer = Producer({"bootstrap.servers": cluster.bootstrap, "acks": 1, "log_level": 0})
        producer.produce(TOPIC, b"late")
        assert producer.flush(WAIT_S) == 0
        waiting = _explained(cluster, hanging)
        assert not waiting["is_committed"]
        assert f"{hanging} ends at 10" in waiting["says"][-1]
        # Then it has fallen behind for too long, or its session is over, and the others go on without it.
        until(lambda: _explained(cluster, hanging), lambda answer: bool(answer["is_committed"]))
    finally:
        cluster.resume(hanging)
    back = until(
        lambda: asked(cluster, "topic", "describe", TOPIC, "--replicas"),
        lambda answer: all(row["in_sync"] and row["log_end"] == 11 for row in answer["replica_list"]),
    )
    assert {row["high_watermark"] for row in back["replica_list"] if row["role"] == "leader"} == {11}


def _explained(cluster: ProcessCluster, hanging: int) -> dict[str, Any]:
    """Asked with little patience, and not of the one that hangs."""
    others = ",".join(each.address for broker_id, each in cluster.brokers.items() if broker_id != hanging)
    words = ["explain", f"{TOPIC}/0@10", "-b", others, "-X", "request.timeout.ms=500", "--format", "json"]
    outcome = CliRunner().invoke(cli, words)
    assert outcome.exit_code == 0, outcome.output
    answer: dict[str, Any] = json.loads(outcome.output)
    return answer
