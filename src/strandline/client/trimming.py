"""Records to delete, of each partition those below an offset (SPEC C4)."""

from __future__ import annotations

from collections.abc import Mapping

from strandline.client.cluster import Cluster
from strandline.client.connection import Connection
from strandline.client.failures import BrokerRefused
from strandline.client.leaders import Outcomes, ask_leaders, by_topic, values_of
from strandline.model.partitions import TopicPartition
from strandline.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)

TO_HIGH_WATERMARK = -1


async def delete_records(cluster: Cluster, before: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
    """Gives the offsets at which the partitions begin now. TO_HIGH_WATERMARK deletes all there is."""

    async def ask(connection: Connection, partitions: list[TopicPartition]) -> Outcomes[int]:
        topics = [
            DeleteRecordsTopic(
                name, [DeleteRecordsPartition(index, before[TopicPartition(name, index)]) for index in indexes]
            )
            for name, indexes in by_topic(partitions).items()
        ]
        request = DeleteRecordsRequest(topics, connection.settings.request_timeout_ms)
        response = await connection.ask(request, DeleteRecordsResponse)
        outcomes: Outcomes[int] = {}
        for topic in response.topics:
            for each in topic.partitions:
                partition = TopicPartition(topic.name, each.partition_index)
                outcomes[partition] = (
                    BrokerRefused(each.error_code, f"deleting records of {partition}")
                    if each.error_code
                    else each.low_watermark
                )
        return outcomes

    return values_of(await ask_leaders(cluster, before, ask))
