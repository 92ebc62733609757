"""What a consuming client does: read what is there, or what comes."""

from __future__ import annotations

import time
from collections.abc import Generator
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, OFFSET_END, Consumer, TopicPartition

from benchmarks.compare.percentiles import percentiles_ms
from benchmarks.compare.producing import SENT_AT
from benchmarks.compare.statistics import RequestCount

AT_ONCE = 10_000
SILENCE_S = 60.0


def consume(task: dict[str, Any]) -> Generator[None, None, dict[str, Any]]:
    """Partitions from their beginning on, until so many records have come."""
    count = RequestCount()
    consumer = _consumer(task, count)
    consumer.list_topics(task["topic"], timeout=30)
    before = count.now(consumer.poll)
    yield
    consumer.assign([TopicPartition(task["topic"], number, OFFSET_BEGINNING) for number in task["partitions"]])
    received, heard_s = 0, time.monotonic()
    while received < task["records"]:
        messages = consumer.consume(AT_ONCE, 0.1)
        received += len(messages)
        heard_s = _listen(messages, heard_s, received)
    yield
    # What is still under way is part of what was asked: the last word counts it.
    requests = count.now(consumer.poll) - before
    consumer.close()
    return {"requests": requests, "records": received}


def tail(task: dict[str, Any]) -> Generator[None, None, dict[str, Any]]:
    """New records as they come, and how long each has been on its way."""
    count = RequestCount()
    consumer = _consumer(task, count)
    consumer.assign([TopicPartition(task["topic"], 0, OFFSET_END)])
    _wait_until_at_the_end(consumer, task)
    before = count.now(lambda seconds: consumer.poll(seconds))
    yield
    took_s: list[float] = []
    heard_s = time.monotonic()
    while len(took_s) < task["records"]:
        messages = consumer.consume(AT_ONCE if task.get("together") else 1, 0.05)
        now_s = time.monotonic()
        for message in messages:
            value = message.value()
            assert isinstance(value, bytes)
            took_s.append(now_s - SENT_AT.unpack_from(value)[0])
        heard_s = _listen(messages, heard_s, len(took_s))
    yield
    requests = count.now(consumer.poll) - before
    consumer.close()
    return {"requests": requests, "records": len(took_s), **percentiles_ms(took_s)}


def _consumer(task: dict[str, Any], count: RequestCount) -> Consumer:
    return Consumer(
        {
            "bootstrap.servers": task["bootstrap"],
            "log_level": 0,
            "group.id": "compare",
            "enable.auto.commit": False,
            "auto.offset.reset": "error",
            **count.settings,
        }
    )


def _wait_until_at_the_end(consumer: Consumer, task: dict[str, Any]) -> None:
    """The end is asked for when the first fetch is: then nothing that comes later is missed."""
    partition = TopicPartition(task["topic"], 0)
    _, end = consumer.get_watermark_offsets(partition, timeout=30)
    consumer.assign([TopicPartition(task["topic"], 0, end)])
    consumer.poll(0.2)


def _listen(messages: list[Any], heard_s: float, received: int) -> float:
    for message in messages:
        if message.error() is not None:
            raise RuntimeError(str(message.error()))
    if messages:
        return time.monotonic()
    if time.monotonic() - heard_s > SILENCE_S:
        raise RuntimeError(f"no record came for {SILENCE_S:g} s after {received}")
    return heard_s
