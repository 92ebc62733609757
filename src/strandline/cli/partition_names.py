"""Partitions as words of a command: `orders/0`, or `orders` for all of a topic; `orders/0=3,1` with brokers."""

from __future__ import annotations

import re
from collections.abc import Sequence

import click

from strandline.client.cluster import Cluster
from strandline.client.failures import ClientError
from strandline.client.view import PartitionView
from strandline.model.partitions import TopicPartition

PARTITION = re.compile(r"(?P<topic>[^/=]+)(?:/(?P<partition>[0-9]{1,9}))?")
Views = dict[TopicPartition, PartitionView]


class BrokerIds(click.ParamType[tuple[int, ...]]):
    name = "1,2,3"

    def convert(
        self, value: str | tuple[int, ...], param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...]:
        if isinstance(value, tuple):
            return value
        ids = [word.strip() for word in value.split(",")]
        if not all(re.fullmatch(r"[0-9]{1,9}", word) for word in ids) or len(set(ids)) < len(ids):
            self.fail(f"{value!r} is no list of brokers: write each id once, with commas, as in 1,2,3", param, ctx)
        return tuple(map(int, ids))


async def choose_partitions(cluster: Cluster, names: Sequence[str]) -> Views:
    """Those named, or all there are where none is."""
    if not names:
        view = await cluster.refresh(None)
        return {
            TopicPartition(topic.name, index): partition
            for topic in view.topics.values()
            for index, partition in topic.partitions.items()
        }
    chosen: Views = {}
    for name in names:
        match = PARTITION.fullmatch(name)
        if match is None:
            raise click.UsageError(f"{name!r} names no partition: write TOPIC/PARTITION, or TOPIC for all of them")
        topic = (await cluster.topics([match["topic"]], fresh=True))[match["topic"]]
        wanted = topic.partitions if match["partition"] is None else [int(match["partition"])]
        for index in wanted:
            if index not in topic.partitions:
                raise ClientError(f"topic {topic.name} has no partition {index}: it has {len(topic.partitions)}")
            chosen[TopicPartition(topic.name, index)] = topic.partitions[index]
    return chosen
