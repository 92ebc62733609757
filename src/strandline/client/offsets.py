"""Offsets of partitions: the first, the next, that of a time."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from strandline.client.cluster import Cluster
from strandline.client.connection import Connection
from strandline.client.failures import BrokerRefused
from strandline.client.leaders import Outcomes, ask_leaders, by_topic, values_of
from strandline.model.partitions import TopicPartition
from strandline.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)

LATEST = -1
EARLIEST = -2
MAX_TIMESTAMP = -3
NONE_FOUND = -1

CONSUMER = -1
DEBUGGER = -2  # a replica id by which Kafka shows the log's end, not the high watermark
READ_UNCOMMITTED = 0
READ_COMMITTED = 1


class FoundOffset(NamedTuple):
    """`offset` is -1 where no record is that young."""

    offset: int
    timestamp: int
    leader_epoch: int


async def list_offsets(
    cluster: Cluster, wanted: Mapping[TopicPartition, int], *, isolation_level: int = READ_UNCOMMITTED
) -> dict[TopicPartition, FoundOffset]:
    """By a time in milliseconds, or one of LATEST, EARLIEST and MAX_TIMESTAMP; or the first error."""
    return values_of(await try_list_offsets(cluster, wanted, isolation_level=isolation_level))


async def try_list_offsets(
    cluster: Cluster,
    wanted: Mapping[TopicPartition, int],
    *,
    isolation_level: int = READ_UNCOMMITTED,
    replica_id: int = CONSUMER,
    timeout_ms: int | None = None,
) -> Outcomes[FoundOffset]:
    """The same, with an outcome for each partition."""

    async def ask(connection: Connection, partitions: list[TopicPartition]) -> Outcomes[FoundOffset]:
        topics = [
            ListOffsetsTopic(
                name,
                [ListOffsetsPartition(index, timestamp=wanted[TopicPartition(name, index)]) for index in indexes],
            )
            for name, indexes in by_topic(partitions).items()
        ]
        request = ListOffsetsRequest(replica_id, isolation_level, topics, connection.settings.request_timeout_ms)
        response = await connection.ask(request, ListOffsetsResponse)
        outcomes: Outcomes[FoundOffset] = {}
        for topic in response.topics:
            for each in topic.partitions:
                partition = TopicPartition(topic.name, each.partition_index)
                outcomes[partition] = (
                    BrokerRefused(each.error_code, f"offsets of {partition}")
                    if each.error_code
                    else FoundOffset(each.offset, each.timestamp, each.leader_epoch)
                )
        return outcomes

    return await ask_leaders(cluster, wanted, ask, timeout_ms)


async def offsets_at(
    cluster: Cluster, partitions: Collection[TopicPartition], timestamp: int, isolation_level: int = READ_UNCOMMITTED
) -> dict[TopicPartition, int]:
    """As `list_offsets`; where no record is that young, the offset that the next one will get."""
    found = await list_offsets(cluster, dict.fromkeys(partitions, timestamp), isolation_level=isolation_level)
    young = [partition for partition, each in found.items() if each.offset == NONE_FOUND]
    ends = await list_offsets(cluster, dict.fromkeys(young, LATEST), isolation_level=isolation_level) if young else {}
    return {partition: ends.get(partition, each).offset for partition, each in found.items()}
