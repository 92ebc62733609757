"""What a producing client does: as fast as it can, or at a given rate."""

from __future__ import annotations

import time
from collections.abc import Generator
from struct import Struct
from typing import Any

from confluent_kafka import Producer

from benchmarks.compare.statistics import RequestCount
from benchmarks.compare.values import POOL, values_of

QUEUE_KIB_MAX = 2_097_151
TICK_S = 0.001
SENT_AT = Struct("<d")  # the first bytes of a value, read by the clock that all processes of a machine share
FLUSH_TIMEOUT_S = 300.0


def produce(task: dict[str, Any]) -> Generator[None, None, dict[str, Any]]:
    """All records are queued by calls that take a thousand at once, and librdkafka does the rest in C."""
    count = RequestCount()
    producer = _producer(task, count)
    messages = [{"value": value} for value in values_of(task["record_bytes"])]
    partitions, records = task["partitions"], task["records"]
    producer.list_topics(task["topic"], timeout=30)
    before = count.now(producer.poll)
    yield
    queued = 0
    while queued < records:
        batch = messages[: records - queued]
        partition = partitions[(queued // POOL) % len(partitions)]
        queued += producer.produce_batch(task["topic"], batch, partition=partition)
    _flush(producer)
    yield
    return {"requests": count.now(producer.poll) - before, "records": records}


def produce_at_a_rate(task: dict[str, Any]) -> Generator[None, None, dict[str, Any]]:
    """Every value begins with the moment at which it was handed over."""
    count = RequestCount()
    producer = _producer(task, count)
    filling = values_of(task["record_bytes"] - SENT_AT.size)[0]
    producer.list_topics(task["topic"], timeout=30)
    before = count.now(producer.poll)
    yield
    sent, began_s = 0, time.monotonic()
    while sent < task["records"]:
        due = min(task["records"], int((time.monotonic() - began_s) * task["records_per_s"]) + 1)
        for _ in range(due - sent):
            value = SENT_AT.pack(time.monotonic()) + filling
            producer.produce(task["topic"], value, partition=0)
        sent = due
        producer.poll(TICK_S)
    _flush(producer)
    yield
    return {"requests": count.now(producer.poll) - before, "records": sent}


def _producer(task: dict[str, Any], count: RequestCount) -> Producer:
    return Producer(
        {
            "bootstrap.servers": task["bootstrap"],
            "log_level": 0,
            "acks": task.get("acks", 1),
            "batch.size": task.get("batch_bytes", 16_384),
            "batch.num.messages": 1_000_000,
            "linger.ms": task.get("linger_ms", 5),
            "compression.type": task.get("codec", "none"),
            # Room for all that a turn sends, so that the client is never the one who waits.
            "queue.buffering.max.messages": 10_000_000,
            "queue.buffering.max.kbytes": QUEUE_KIB_MAX,
            "delivery.report.only.error": True,
            **count.settings,
        }
    )


def _flush(producer: Producer) -> None:
    """Whether all have arrived is looked up afterwards (`bench.check_records`): a callback each would cost more."""
    left = producer.flush(FLUSH_TIMEOUT_S)
    if left:
        raise RuntimeError(f"{left} records were not acknowledged in {FLUSH_TIMEOUT_S:g} s")
