"""How far a group is behind, partition by partition."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from strandline.client.cluster import Cluster
from strandline.client.failures import ClientError
from strandline.client.group_offsets import committed_offsets
from strandline.client.groups import GroupView
from strandline.client.offsets import EARLIEST, LATEST, try_list_offsets
from strandline.model.partitions import TopicPartition


async def lag_rows(cluster: Cluster, group: GroupView) -> list[dict[str, Any]]:
    """Of every partition that the group has committed in or reads now."""
    committed = await committed_offsets(cluster, group.group_id)
    owners = {partition: member for member in group.members for partition in member.partitions}
    partitions = sorted(committed.keys() | owners.keys())
    starts, ends = await offsets_now(cluster, partitions, EARLIEST), await offsets_now(cluster, partitions, LATEST)
    rows = []
    for partition in partitions:
        at = committed.get(partition)
        owner = owners.get(partition)
        rows.append(
            {
                "topic": partition.topic,
                "partition": partition.partition,
                "committed": None if at is None else at.offset,
                "start": starts[partition],
                "end": ends[partition],
                "lag": lag_of(None if at is None else at.offset, starts[partition], ends[partition]),
                "member": None if owner is None else owner.member_id,
                "instance": None if owner is None else owner.instance_id,
                "client": None if owner is None else owner.client_id,
                "host": None if owner is None else owner.host,
                "metadata": None if at is None else at.metadata,
            }
        )
    return rows


async def offsets_now(cluster: Cluster, partitions: list[TopicPartition], at: int) -> dict[TopicPartition, int | None]:
    """None where the topic is gone, or nobody leads the partition."""
    found: dict[TopicPartition, int | None] = dict.fromkeys(partitions)
    view = await cluster.refresh({partition.topic for partition in partitions})
    there = [each for each in partitions if each.topic in view.topics and not view.topics[each.topic].error_code]
    outcomes = await try_list_offsets(cluster, dict.fromkeys(there, at), timeout_ms=0)
    for partition, outcome in outcomes.items():
        found[partition] = None if isinstance(outcome, ClientError) else outcome.offset
    return found


def total_lag(lags: Iterable[int | None]) -> int | None:
    """Of the partitions in which it is known; None where it is known in none, as where nothing was ever committed."""
    known = [lag for lag in lags if lag is not None]
    return sum(known) if known else None


def lag_of(committed: int | None, start: int | None, end: int | None) -> int | None:
    """What is still to be read. What was deleted before it was read does not count: nobody can read it any more."""
    if committed is None or end is None:
        return None
    return max(0, end - max(committed, start or 0))
