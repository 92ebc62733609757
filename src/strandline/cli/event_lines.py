"""The cluster's journal as lines: by their time, and one for what befell many partitions of an internal topic.

Brokers write when they come to it, so entries lie in the journal in another order than things happened.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from strandline.cli.output import counted

JOURNAL = "__strandline_journal"
INTERNAL_TOPICS = frozenset((JOURNAL, "__consumer_offsets", "__transaction_state"))
TOGETHER_MS = 2_000  # what befalls all partitions of a topic takes no longer
WHAT = {"isr": "other replicas in sync", "epoch": "new epochs begin", "truncation": "followers cut their logs"}
Told = dict[str, Any]


def by_time(entries: Iterable[Told]) -> list[Told]:
    return sorted(entries, key=time_of)


def time_of(told: Told) -> int:
    return int(told.get("time", 0))


def as_json(told: Told) -> str:
    return json.dumps(told, ensure_ascii=False)


def as_text(told: Told) -> str:
    moment = datetime.fromtimestamp(time_of(told) / 1000, UTC)
    at = moment.isoformat(sep=" ", timespec="milliseconds").removesuffix("+00:00")
    return f"{at}  {told.get('kind', '?'):<10}  {told.get('says', '')}"


def collapsed(entries: Iterable[Told]) -> list[Told]:
    """In the order of time, where one entry stands for all partitions of an internal topic that it befell together."""
    lines: list[list[Told]] = []
    latest: dict[tuple[str, str, str], list[Told]] = {}
    for told in entries:
        key = _likeness(told)
        group = latest.get(key) if key is not None else None
        if group is not None and time_of(told) - time_of(group[0]) <= TOGETHER_MS:
            group.append(told)
            continue
        lines.append([told])
        if key is not None:
            latest[key] = lines[-1]
    return [_one(group) for group in lines]


def _likeness(told: Told) -> tuple[str, str, str] | None:
    """What is told once for all partitions; None for what is told as it is."""
    topic = str(told.get("topic"))
    if topic not in INTERNAL_TOPICS or "partition" not in told:
        return None
    kind = str(told.get("kind"))
    cause = "created" if told.get("occasion") == "created" else str(told.get("cause", ""))
    return kind, topic, WHAT.get(kind, cause)


def _one(group: list[Told]) -> Told:
    likeness = _likeness(group[0])
    if likeness is None or len(group) == 1:
        return group[0]
    partitions = {told["partition"] for told in group}
    _, topic, what = likeness
    return {**group[0], "says": f"{counted(len(partitions), 'partition')} of {topic}: {what}"}
