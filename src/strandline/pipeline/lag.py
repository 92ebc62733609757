"""How far behind a reader is, in records and in seconds: the age of the oldest record that it has not read."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import NamedTuple

from strandline.client.cluster import Cluster
from strandline.client.failures import ClientError
from strandline.client.fetching import Fetcher
from strandline.client.offsets import EARLIEST, LATEST, offsets_at
from strandline.model.partitions import TopicPartition

LOOK_MS = 1000
PARTITIONS_MAX = 64  # whose first unread record is looked at


class Lag(NamedTuple):
    records: int
    seconds: float | None  # None where it is not known


async def lag_behind(cluster: Cluster, positions: Mapping[TopicPartition, int]) -> Lag:
    firsts = await offsets_at(cluster, positions, EARLIEST)
    ends = await offsets_at(cluster, positions, LATEST)
    unread = {each: max(at, firsts[each]) for each, at in positions.items() if max(at, firsts[each]) < ends[each]}
    records = sum(ends[each] - at for each, at in unread.items())
    if not unread:
        return Lag(0, 0.0)
    oldest_ms = await _oldest_ms(cluster, dict(list(unread.items())[:PARTITIONS_MAX]))
    return Lag(records, None if oldest_ms is None else max(0.0, time.time() - oldest_ms / 1000))


async def _oldest_ms(cluster: Cluster, unread: dict[TopicPartition, int]) -> int | None:
    """Of the first record that each partition brings; None if none comes in time."""
    found: dict[TopicPartition, int] = {}
    deadline_s = time.monotonic() + LOOK_MS / 1000
    try:
        with Fetcher(cluster, unread) as fetcher:
            while len(found) < len(unread) and time.monotonic() < deadline_s:
                for fetched in await fetcher.poll(LOOK_MS):
                    first = next(iter(fetched.read()), None)
                    if first is not None:
                        found.setdefault(fetched.partition, first.timestamp)
    except ClientError:
        return None
    return min(found.values(), default=None)
