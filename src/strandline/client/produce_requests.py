"""Batches to one leader in one Produce request, and what became of each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from strandline.client.cluster import Cluster
from strandline.client.failures import BrokerRefused, ClientError
from strandline.client.outgoing import NO_OFFSET, OutgoingBatch
from strandline.model.error_codes import ErrorCode
from strandline.model.partitions import TopicPartition
from strandline.wire.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from strandline.wire.primitives import NO_UUID
from strandline.wire.produce import TOPIC_IDS_FROM

NO_ACKS = 0
# From version 12 on a partition joins its transaction by being written to, and each transaction has an epoch (KIP-890).
PARTITIONS_ADDED_UNTIL = 11

# The base offset, or why there is none.
ProduceOutcome = int | ClientError


async def deliver(
    cluster: Cluster, leader_id: int, batches: Sequence[OutgoingBatch]
) -> dict[TopicPartition, ProduceOutcome]:
    request = _request(cluster, batches)
    has_ids = all(topic.topic_id != NO_UUID for topic in request.topic_data)
    version_max = None if has_ids else TOPIC_IDS_FROM - 1
    if request.transactional_id is not None:
        version_max = PARTITIONS_ADDED_UNTIL
    try:
        connection = await cluster.broker(leader_id)
        if request.acks == NO_ACKS:
            connection.send_unanswered(request, version_max=version_max)
            return {batch.partition: NO_OFFSET for batch in batches}
        response = await connection.ask(request, ProduceResponse, version_max=version_max)
    except ClientError as error:
        return {batch.partition: error for batch in batches}
    return _outcomes(cluster, batches, response)


def _request(cluster: Cluster, batches: Sequence[OutgoingBatch]) -> ProduceRequest:
    by_topic: defaultdict[str, list[PartitionProduceData]] = defaultdict(list)
    for batch in batches:
        by_topic[batch.partition.topic].append(PartitionProduceData(batch.partition.partition, batch.sealed))
    topics = [
        TopicProduceData(name, cluster.view.topics[name].topic_id, partitions) for name, partitions in by_topic.items()
    ]
    return ProduceRequest(
        batches[0].transactional_id, cluster.settings.required_acks, cluster.settings.request_timeout_ms, topics
    )


def _outcomes(
    cluster: Cluster, batches: Sequence[OutgoingBatch], response: ProduceResponse
) -> dict[TopicPartition, ProduceOutcome]:
    outcomes: dict[TopicPartition, ProduceOutcome] = {
        batch.partition: BrokerRefused(ErrorCode.UNKNOWN_SERVER_ERROR, f"{batch.partition}", "the broker did not say")
        for batch in batches
    }
    for topic in response.responses:
        name = topic.name or cluster.view.name_of(topic.topic_id) or ""
        for result in topic.partition_responses:
            partition = TopicPartition(name, result.index)
            outcomes[partition] = _outcome(partition, result)
    return outcomes


def _outcome(partition: TopicPartition, result: PartitionProduceResponse) -> ProduceOutcome:
    if result.error_code == ErrorCode.NONE:
        return result.base_offset
    said = result.error_message
    if result.record_errors:
        first = result.record_errors[0]
        said = f"{said or 'records were refused'}: record {first.batch_index}, {first.batch_index_error_message}"
    return BrokerRefused(result.error_code, f"{partition}", said)
