"""Moves as rows, and how far they are."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from strandline.cli.progress import reaching
from strandline.cli.reports import Column
from strandline.client.cluster import Cluster
from strandline.client.log_directories import describe_log_directories
from strandline.client.reassignments import Move, list_moves
from strandline.model.partitions import TopicPartition

LOOK_S = 0.5
PLAN_COLUMNS = (
    Column("topic"),
    Column("partition", is_number=True),
    Column("before"),
    Column("after"),
    Column("adding", is_wide=True),
    Column("removing", is_wide=True),
    Column("status"),
)


def plan_row(name: TopicPartition, before: Sequence[int], after: Sequence[int]) -> dict[str, Any]:
    return {
        "topic": name.topic,
        "partition": name.partition,
        "before": list(before),
        "after": list(after),
        "adding": [broker for broker in after if broker not in before],
        "removing": [broker for broker in before if broker not in after],
    }


async def copied_bytes(cluster: Cluster, moves: Mapping[TopicPartition, Move]) -> dict[TopicPartition, tuple[int, int]]:
    """For each move how much the new replicas have, and how much they need: each what the largest of the others has."""
    sizes: dict[TopicPartition, dict[int, int]] = {}
    for replica in await describe_log_directories(cluster, moves):
        sizes.setdefault(replica.partition, {})[replica.broker_id] = replica.size_bytes
    found = {}
    for name, move in moves.items():
        of_brokers = sizes.get(name, {})
        whole = max((of_brokers.get(broker, 0) for broker in move.origin), default=0)
        there = sum(min(whole, of_brokers.get(broker, 0)) for broker in move.adding)
        found[name] = (there, whole * len(move.adding))
    return found


async def wait_until_moved(cluster: Cluster, names: Collection[TopicPartition]) -> None:
    """With a bar on a terminal. Whoever interrupts it interrupts the waiting and not the moves."""
    wholes: dict[TopicPartition, int] = {}
    with reaching("moving replicas") as show:
        while moves := await list_moves(cluster, names):
            copied = await copied_bytes(cluster, moves)
            wholes |= {name: whole for name, (_, whole) in copied.items()}
            missing = sum(whole - there for there, whole in copied.values())
            show(sum(wholes.values()) - missing, sum(wholes.values()))
            await asyncio.sleep(LOOK_S)
