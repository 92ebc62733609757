"""AlterPartitionReassignments, v0-v1: replicas move, or a move is cancelled (SPEC T3; KIP-455).

Answered by the controller alone, when the moves are in the store: they have begun then, and ListPartitionReassignments
says when they are done.
"""

from __future__ import annotations

from collections.abc import Mapping

from strandline.broker.controller_loop import ControllerLoop
from strandline.broker.controller_office import NotController
from strandline.broker.dispatch import Handler, Request
from strandline.broker.procedures import by_procedure
from strandline.controller import requests
from strandline.controller.replies import PartitionResult, PartitionsReply
from strandline.model.failures import ErrorCode
from strandline.model.partitions import TopicPartition
from strandline.wire.codec import decode, encode
from strandline.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)


def alter_partition_reassignments_handler(loop: ControllerLoop) -> Handler:
    async def alter(asked: AlterPartitionReassignmentsRequest) -> AlterPartitionReassignmentsResponse:
        targets = {
            TopicPartition(topic.name, each.partition_index): None if each.replicas is None else tuple(each.replicas)
            for topic in asked.topics
            for each in topic.partitions
        }
        try:
            reply = await loop.ask(
                lambda number: requests.AlterReassignmentsRequest(
                    request=number, targets=targets, may_change_factor=asked.allow_replication_factor_change
                )
            )
        except NotController as elsewhere:
            return AlterPartitionReassignmentsResponse(
                error_code=ErrorCode.NOT_CONTROLLER, error_message=str(elsewhere)
            )
        assert isinstance(reply, PartitionsReply)
        results = {result.partition: result for result in reply.results}
        return AlterPartitionReassignmentsResponse(responses=_by_topic(asked, results))

    async def answer(request: Request) -> bytes:
        asked = decode(AlterPartitionReassignmentsRequest, request.api_version, request.body)
        response = await alter(asked)
        response.allow_replication_factor_change = asked.allow_replication_factor_change
        return encode(response, request.api_version)

    return by_procedure(answer)


def _by_topic(
    asked: AlterPartitionReassignmentsRequest, results: Mapping[TopicPartition, PartitionResult]
) -> list[ReassignableTopicResponse]:
    def answer_for(name: TopicPartition) -> ReassignablePartitionResponse:
        result = results[name]
        return ReassignablePartitionResponse(name.partition, result.error_code, result.message or None)

    return [
        ReassignableTopicResponse(
            topic.name, [answer_for(TopicPartition(topic.name, each.partition_index)) for each in topic.partitions]
        )
        for topic in asked.topics
    ]
