"""Members of a consumer group, all in one process: they join, and then one leaves."""

from __future__ import annotations

import time
from collections.abc import Generator
from typing import Any

from confluent_kafka import Consumer

TIMEOUT_S = 120.0


def join(task: dict[str, Any]) -> Generator[None, None, dict[str, Any]]:
    """Until every partition of the topic has one owner; then again without the first member."""
    members = [_member(task) for _ in range(task["members"])]
    for member in members:
        member.list_topics(task["topic"], timeout=30)
    yield
    begun_s = time.monotonic()
    for member in members:
        member.subscribe([task["topic"]])
    _settle(members, task["partitions"])
    joined_s = time.monotonic() - begun_s
    begun_s = time.monotonic()
    members.pop(0).close()
    _settle(members, task["partitions"])
    left_s = time.monotonic() - begun_s
    yield
    for member in members:
        member.close()
    return {"joined_s": joined_s, "left_s": left_s}


def _member(task: dict[str, Any]) -> Consumer:
    return Consumer(
        {
            "bootstrap.servers": task["bootstrap"],
            "log_level": 0,
            "group.id": task["group"],
            "group.protocol": task["protocol"],
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )


def _settle(members: list[Consumer], partitions: int) -> None:
    """Each has some, and all are taken."""
    deadline_s = time.monotonic() + TIMEOUT_S
    while True:
        for member in members:
            member.poll(0.001)
        owned = [len(member.assignment()) for member in members]
        if all(owned) and sum(owned) == partitions:
            return
        if time.monotonic() > deadline_s:
            raise RuntimeError(f"the group did not settle in {TIMEOUT_S:g} s: {owned}")
