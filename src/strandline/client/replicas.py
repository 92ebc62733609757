"""The replicas of partitions, each as its own broker sees it, and the followers as their leader does.

Only brokers of ours can tell all of it. Of another broker we learn where each replica ends, by asking as a debugger.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import NamedTuple

from strandline.client.cluster import Cluster
from strandline.client.connection import Connection
from strandline.client.failures import ClientError
from strandline.client.leaders import by_topic
from strandline.client.offsets import DEBUGGER, LATEST, READ_UNCOMMITTED
from strandline.client.view import PartitionView
from strandline.model.error_codes import ErrorCode
from strandline.model.partitions import TopicPartition
from strandline.wire.messages.describe_replicas import (
    DescribeReplicasPartition,
    DescribeReplicasRequest,
    DescribeReplicasResponse,
    DescribeReplicasTopic,
    FollowerDescription,
    ReplicaDescription,
)
from strandline.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from strandline.wire.versions import ApiKey

NO_OFFSET = -1


class Replica(NamedTuple):
    """What is known of one replica. `said` is None where its broker does not answer."""

    partition: TopicPartition
    broker_id: int
    said: ReplicaDescription | None
    by_leader: FollowerDescription | None  # what the leader says of it
    why_unknown: str = ""


async def describe_replicas(
    cluster: Cluster, partitions: Mapping[TopicPartition, PartitionView], offset: int = NO_OFFSET
) -> list[Replica]:
    """In the order of the partitions and their replicas. With an offset, where that record lies on each."""
    by_broker: dict[int, list[TopicPartition]] = {}
    for name, view in partitions.items():
        for broker_id in view.replicas:
            by_broker.setdefault(broker_id, []).append(name)
    answers = await asyncio.gather(*(_ask(cluster, broker_id, names, offset) for broker_id, names in by_broker.items()))
    said = dict(zip(by_broker, answers, strict=True))
    return [_replica(name, view, broker_id, said) for name, view in partitions.items() for broker_id in view.replicas]


Answers = dict[TopicPartition, ReplicaDescription] | str  # or why there are none


def _replica(name: TopicPartition, view: PartitionView, broker_id: int, said: dict[int, Answers]) -> Replica:
    answers, by_leader = said[broker_id], None
    of_leader = said.get(view.leader_id)
    if isinstance(of_leader, dict) and name in of_leader:
        by_leader = next((each for each in of_leader[name].followers if each.replica_id == broker_id), None)
    if isinstance(answers, str):
        return Replica(name, broker_id, None, by_leader, answers)
    found = answers.get(name)
    if found is None or found.error_code not in (ErrorCode.NONE, ErrorCode.KAFKA_STORAGE_ERROR):
        return Replica(name, broker_id, None, by_leader, "it has no such replica")
    if found.error_code:
        return Replica(name, broker_id, found, by_leader, "its log directory has failed")
    return Replica(name, broker_id, found, by_leader)


async def _ask(cluster: Cluster, broker_id: int, names: list[TopicPartition], offset: int) -> Answers:
    try:
        connection = await cluster.broker(broker_id)
        if connection.versions.serves(ApiKey.DESCRIBE_REPLICAS):
            return await _ask_ours(connection, names, offset)
        return await _ask_as_debugger(connection, names)
    except ClientError as failure:
        return str(failure)


async def _ask_ours(
    connection: Connection, names: list[TopicPartition], offset: int
) -> dict[TopicPartition, ReplicaDescription]:
    topics = [
        DescribeReplicasTopic(topic, [DescribeReplicasPartition(index, offset) for index in indexes])
        for topic, indexes in by_topic(names).items()
    ]
    response = await connection.ask(DescribeReplicasRequest(topics), DescribeReplicasResponse)
    return {
        TopicPartition(topic.name, each.partition_index): each for topic in response.topics for each in topic.partitions
    }


async def _ask_as_debugger(
    connection: Connection, names: list[TopicPartition]
) -> dict[TopicPartition, ReplicaDescription]:
    topics = [
        ListOffsetsTopic(topic, [ListOffsetsPartition(index, timestamp=LATEST) for index in indexes])
        for topic, indexes in by_topic(names).items()
    ]
    request = ListOffsetsRequest(DEBUGGER, READ_UNCOMMITTED, topics, connection.settings.request_timeout_ms)
    response = await connection.ask(request, ListOffsetsResponse)
    return {
        TopicPartition(topic.name, each.partition_index): ReplicaDescription(
            each.partition_index, each.error_code, log_end_offset=each.offset
        )
        for topic in response.topics
        for each in topic.partitions
    }
