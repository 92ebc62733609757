"""Kafka's file of a reassignment, as `kafka-reassign-partitions.sh` reads and writes it.

{"version":1,"partitions":[{"topic":"orders","partition":0,"replicas":[3,1],"log_dirs":["any","any"]}]}
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import click

from strandline.model.partitions import TopicPartition

Assignment = dict[TopicPartition, tuple[int, ...]]
ANY_DIRECTORY = "any"


def assignment_text(assignment: Mapping[TopicPartition, Sequence[int]]) -> str:
    partitions = [
        {
            "topic": name.topic,
            "partition": name.partition,
            "replicas": list(replicas),
            "log_dirs": [ANY_DIRECTORY] * len(replicas),
        }
        for name, replicas in sorted(assignment.items())
    ]
    return json.dumps({"version": 1, "partitions": partitions}, separators=(",", ":")) + "\n"


def parse_assignment(text: str, where: str) -> Assignment:
    try:
        found = json.loads(text)
        if found.get("version", 1) != 1:
            raise click.UsageError(f"{where} is of version {found['version']}, and only 1 is known")
        assignment = dict(map(_entry, found["partitions"]))
    except (ValueError, TypeError, KeyError, AttributeError):
        example = '{"version":1,"partitions":[{"topic":"orders","partition":0,"replicas":[3,1]}]}'
        raise click.UsageError(f"{where} is no reassignment: expected {example}") from None
    if len(assignment) < len(found["partitions"]):
        raise click.UsageError(f"{where} names a partition twice")
    return assignment


def _entry(entry: Any) -> tuple[TopicPartition, tuple[int, ...]]:
    name = TopicPartition(entry["topic"], entry["partition"])
    replicas = tuple(entry["replicas"])
    if not isinstance(name.topic, str) or not all(type(number) is int for number in (name.partition, *replicas)):
        raise ValueError
    if any(directory != ANY_DIRECTORY for directory in entry.get("log_dirs", ())):
        raise click.UsageError(f"{name.topic}/{name.partition}: a log directory cannot be chosen here (docs/gaps.md)")
    return name, replicas
