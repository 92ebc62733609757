"""DescribeProducers, v0: the idempotent and transactional producers that partitions remember (KIP-664)."""

from __future__ import annotations

from strandline.broker.dispatch import Handler, Request
from strandline.broker.outcomes import error_of
from strandline.broker.partitions import Partitions
from strandline.log.producer_entry import ProducerEntry
from strandline.model.failures import Refused, StorageFailed
from strandline.model.partitions import check_topic_name
from strandline.wire.codec import decode, encode
from strandline.wire.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicResponse,
)

NO_SEQUENCE = -1
NO_TRANSACTION = -1


def describe_producers_handler(partitions: Partitions) -> Handler:
    def describe(topic: str, index: int) -> PartitionResponse:
        try:
            check_topic_name(topic)
            log = partitions.leader_of(topic, index).log
            log.check_usable()
        except (Refused, StorageFailed) as failure:
            return PartitionResponse(index, *error_of(failure))
        return PartitionResponse(index, active_producers=[_producer(entry) for entry in log.producers.entries()])

    def handle(request: Request) -> bytes:
        asked = decode(DescribeProducersRequest, request.api_version, request.body)
        topics = [
            TopicResponse(topic.name, [describe(topic.name, index) for index in topic.partition_indexes])
            for topic in asked.topics
        ]
        return encode(DescribeProducersResponse(topics=topics), request.api_version)

    return handle


def _producer(entry: ProducerEntry) -> ProducerState:
    last_batch, first_offset = entry.last_batch, entry.current_transaction_first_offset
    return ProducerState(
        entry.producer_id,
        entry.producer_epoch,
        NO_SEQUENCE if last_batch is None else last_batch.last_sequence,
        entry.last_timestamp,
        entry.coordinator_epoch,
        NO_TRANSACTION if first_offset is None else first_offset,
    )
