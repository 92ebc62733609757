"""Which partitions of which topics: what a member of a consumer group has, is to have, or must give up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from uuid import UUID

from strandline.groups.records import TopicPartitions

Assignment = Mapping[UUID, frozenset[int]]  # no topic is without partitions
IdPartition = tuple[UUID, int]
NOTHING: Assignment = {}


def assignment_of(partitions: Iterable[IdPartition]) -> Assignment:
    found: dict[UUID, set[int]] = {}
    for topic_id, partition in partitions:
        found.setdefault(topic_id, set()).add(partition)
    return {topic_id: frozenset(found[topic_id]) for topic_id in sorted(found)}


def partitions_of(assignment: Assignment) -> frozenset[IdPartition]:
    return frozenset((topic_id, partition) for topic_id, held in assignment.items() for partition in held)


def to_stored(assignment: Assignment) -> tuple[TopicPartitions, ...]:
    return tuple(
        TopicPartitions(topic_id=topic_id, partitions=tuple(sorted(assignment[topic_id])))
        for topic_id in sorted(assignment)
    )


def from_stored(stored: tuple[TopicPartitions, ...]) -> Assignment:
    return assignment_of((entry.topic_id, partition) for entry in stored for partition in entry.partitions)
