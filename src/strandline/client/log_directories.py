"""What lies in the log directories of brokers: the replicas they hold and how large these are."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import NamedTuple

from strandline.client.cluster import Cluster
from strandline.client.failures import BrokerRefused
from strandline.client.leaders import by_topic
from strandline.model.partitions import TopicPartition
from strandline.wire.messages.describe_log_dirs import (
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
)


class ReplicaSize(NamedTuple):
    partition: TopicPartition
    broker_id: int
    directory: str
    size_bytes: int
    offset_lag: int
    is_future: bool


async def describe_log_directories(
    cluster: Cluster, partitions: Collection[TopicPartition] | None = None
) -> list[ReplicaSize]:
    """Of every broker that can be reached; of these partitions or of all."""
    await cluster.refresh(())
    topics = None
    if partitions is not None:
        topics = [DescribableLogDirTopic(name, indexes) for name, indexes in by_topic(partitions).items()]
    found = await asyncio.gather(*(_describe_at(cluster, node_id, topics) for node_id in cluster.view.nodes))
    return sorted(size for sizes in found for size in sizes)


async def _describe_at(
    cluster: Cluster, node_id: int, topics: list[DescribableLogDirTopic] | None
) -> list[ReplicaSize]:
    response = await cluster.ask_broker(
        node_id, DescribeLogDirsRequest(topics), DescribeLogDirsResponse, lambda answer: [answer.error_code]
    )
    if response.error_code:
        raise BrokerRefused(response.error_code, f"log directories of broker {node_id}")
    return [
        ReplicaSize(
            TopicPartition(topic.name, each.partition_index),
            node_id,
            directory.log_dir,
            each.partition_size,
            each.offset_lag,
            each.is_future_key,
        )
        for directory in response.results
        for topic in directory.topics
        for each in topic.partitions
    ]
