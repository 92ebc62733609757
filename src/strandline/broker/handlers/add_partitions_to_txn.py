"""AddPartitionsToTxn, v0-v5: partitions become part of a transaction (SPEC P3). Clients send up to v3; from v4 on
brokers ask for many transactions at once, to verify that partitions are part of them or to add them (KIP-890).

A client's topics must exist; where one does not, nothing of the request is added.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import groupby

from strandline.broker.cluster_image import INTERNAL_TOPICS, ClusterImage
from strandline.broker.dispatch import Body, Handler, Instead, Request
from strandline.broker.gathering import Gathering
from strandline.broker.group_requests import Response
from strandline.broker.transaction_coordinator import TransactionCoordinator
from strandline.model.failures import ErrorCode
from strandline.model.partitions import TopicPartition
from strandline.transactions.commands import AddPartitions
from strandline.transactions.replies import AddPartitionsReply, PartitionResult
from strandline.transactions.states import EPOCH_BUMPS
from strandline.wire.codec import decode, encode
from strandline.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTopicResult,
)

FENCING_FROM = 2
BATCHED_FROM = 4


def add_partitions_to_txn_handler(coordinator: TransactionCoordinator, image: ClusterImage) -> Handler:
    def handle(request: Request) -> Body | Instead:
        version = request.api_version
        asked = decode(AddPartitionsToTxnRequest, version, request.body)
        response = Response(request)
        is_batched = version >= BATCHED_FROM
        commands = _commands_of_broker(asked) if is_batched else [_command_of_client(asked, version)]

        def answer(replies: Sequence[AddPartitionsReply]) -> None:
            if is_batched:
                body = AddPartitionsToTxnResponse(results_by_transaction=[_result(reply) for reply in replies])
            else:
                body = AddPartitionsToTxnResponse(results_by_topic_v3_and_below=_topics(replies[0].results))
            response.put(encode(body, version))

        gathering = Gathering(len(commands), answer)
        for place, command in enumerate(commands):
            refused = _unknown(image, command) if not is_batched else None
            if refused is not None:
                gathering.put(place, refused)
            else:
                coordinator.ask(command.transactional_id, command, partial(gathering.put, place))
        return response.now_or_later()

    return handle


def _command_of_client(asked: AddPartitionsToTxnRequest, version: int) -> AddPartitions:
    return AddPartitions(
        transactional_id=asked.v3_and_below_transactional_id,
        producer_id=asked.v3_and_below_producer_id,
        producer_epoch=asked.v3_and_below_producer_epoch,
        partitions=_partitions(asked.v3_and_below_topics),
        knows_fencing=version >= FENCING_FROM,
    )


def _commands_of_broker(asked: AddPartitionsToTxnRequest) -> list[AddPartitions]:
    return [
        AddPartitions(
            transactional_id=each.transactional_id,
            producer_id=each.producer_id,
            producer_epoch=each.producer_epoch,
            partitions=_partitions(each.topics),
            verify_only=each.verify_only,
            client_version=0 if each.verify_only else EPOCH_BUMPS,
        )
        for each in asked.transactions
    ]


def _partitions(topics: Sequence[AddPartitionsToTxnTopic]) -> tuple[TopicPartition, ...]:
    return tuple(TopicPartition(topic.name, index) for topic in topics for index in topic.partitions)


def _unknown(image: ClusterImage, command: AddPartitions) -> AddPartitionsReply | None:
    """None where the client may write to all of them."""

    def error_of(name: TopicPartition) -> ErrorCode:
        topic = image.topics.get(name.topic)
        if name.topic in INTERNAL_TOPICS:
            return ErrorCode.TOPIC_AUTHORIZATION_FAILED
        if topic is None or name.partition not in topic.partitions:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return ErrorCode.OPERATION_NOT_ATTEMPTED

    errors = [(name, error_of(name)) for name in command.partitions]
    if all(error_code is ErrorCode.OPERATION_NOT_ATTEMPTED for _, error_code in errors):
        return None
    results = tuple(PartitionResult(error_code=error_code, partition=name) for name, error_code in errors)
    return AddPartitionsReply(transactional_id=command.transactional_id, results=results)


def _result(reply: AddPartitionsReply) -> AddPartitionsToTxnResult:
    return AddPartitionsToTxnResult(reply.transactional_id, _topics(reply.results))


def _topics(results: Sequence[PartitionResult]) -> list[AddPartitionsToTxnTopicResult]:
    return [
        AddPartitionsToTxnTopicResult(
            topic,
            [AddPartitionsToTxnPartitionResult(each.partition.partition, each.error_code) for each in of_topic],
        )
        for topic, of_topic in groupby(results, key=lambda result: result.partition.topic)
    ]
