"""Partitions as rows: who leads and holds them, what is wrong with them, which offsets they have."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from strandline.cli.reports import Column
from strandline.client.cluster import Cluster
from strandline.client.configs import Resource, ResourceType, describe_many_configs
from strandline.client.failures import ClientError
from strandline.client.offsets import (
    CONSUMER,
    DEBUGGER,
    EARLIEST,
    LATEST,
    READ_COMMITTED,
    READ_UNCOMMITTED,
    try_list_offsets,
)
from strandline.client.view import PartitionView, TopicView
from strandline.model.partitions import TopicPartition
from strandline.wire.versions import ApiKey

MIN_IN_SYNC = "min.insync.replicas"
PARTITION_COLUMNS = (
    Column("topic"),
    Column("partition", is_number=True),
    Column("leader", is_number=True),
    Column("leader_epoch", "epoch", is_number=True, is_wide=True),
    Column("replicas"),
    Column("in_sync", "in sync"),
    Column("offline", is_wide=True),
    Column("problem"),
)

OFFLINE = "no leader"
UNDER_MIN = "under min.insync.replicas"
AT_MIN = "at min.insync.replicas"
UNDER_REPLICATED = "under-replicated"
PROBLEMS = (OFFLINE, UNDER_MIN, UNDER_REPLICATED)  # the worst first


def partition_row(topic: str, view: PartitionView, min_in_sync: int) -> dict[str, Any]:
    problems = list(states_of(view, min_in_sync))
    return {
        "topic": topic,
        "partition": view.index,
        "leader": view.leader_id if view.has_leader else None,
        "leader_epoch": view.leader_epoch,
        "replicas": list(view.replicas),
        "in_sync": list(view.in_sync),
        "offline": list(view.offline),
        "problem": next((problem for problem in PROBLEMS if problem in problems), ""),
    }


def states_of(view: PartitionView, min_in_sync: int) -> Iterator[str]:
    if not view.has_leader:
        yield OFFLINE
    if len(view.in_sync) < min_in_sync:
        yield UNDER_MIN
    if len(view.in_sync) == min_in_sync and len(view.replicas) > min_in_sync:
        yield AT_MIN
    if view.is_under_replicated:
        yield UNDER_REPLICATED


async def min_in_sync_of(cluster: Cluster, topics: Collection[TopicView]) -> dict[str, int]:
    """`min.insync.replicas` of each topic; 1 where the broker does not tell."""
    found = dict.fromkeys((topic.name for topic in topics), 1)
    connection = await cluster.any_broker()
    if not found or not connection.versions.serves(ApiKey.DESCRIBE_CONFIGS):
        return found
    resources = [Resource(ResourceType.TOPIC, name) for name in found]
    for resource, configs in (await describe_many_configs(cluster, resources, [MIN_IN_SYNC])).items():
        for config in configs:
            if config.name == MIN_IN_SYNC and config.value is not None:
                found[resource.name] = int(config.value)
    return found


async def offsets_of(cluster: Cluster, partitions: Collection[TopicPartition]) -> dict[TopicPartition, dict[str, Any]]:
    """Start, last stable offset, high watermark and end of each; None where nobody can say it now."""
    questions = {
        "start": (EARLIEST, READ_UNCOMMITTED, CONSUMER),
        "stable": (LATEST, READ_COMMITTED, CONSUMER),
        "high_watermark": (LATEST, READ_UNCOMMITTED, CONSUMER),
        "end": (LATEST, READ_UNCOMMITTED, DEBUGGER),
    }
    found: dict[TopicPartition, dict[str, Any]] = {partition: {} for partition in partitions}
    for name, (timestamp, isolation_level, replica_id) in questions.items():
        outcomes = await try_list_offsets(
            cluster,
            dict.fromkeys(partitions, timestamp),
            isolation_level=isolation_level,
            replica_id=replica_id,
            timeout_ms=0,
        )
        for partition, outcome in outcomes.items():
            found[partition][name] = None if isinstance(outcome, ClientError) else outcome.offset
    return found


def record_count(offsets: dict[str, Any]) -> int | None:
    """At most so many: compaction and markers leave gaps."""
    if offsets["start"] is None or offsets["high_watermark"] is None:
        return None
    return int(offsets["high_watermark"] - offsets["start"])
