"""ListPartitionReassignments, v0: which replicas are on the move, as the controller knows (KIP-455)."""

from __future__ import annotations

from strandline.broker.controller_loop import ControllerLoop
from strandline.broker.dispatch import Handler, Request
from strandline.model.failures import ErrorCode
from strandline.model.partitions import TopicPartition
from strandline.wire.codec import decode, encode
from strandline.wire.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)


def list_partition_reassignments_handler(loop: ControllerLoop) -> Handler:
    def handle(request: Request) -> bytes:
        asked = decode(ListPartitionReassignmentsRequest, request.api_version, request.body)
        return encode(listed(asked), request.api_version)

    def listed(asked: ListPartitionReassignmentsRequest) -> ListPartitionReassignmentsResponse:
        controller = loop.controller
        if controller is None:
            why = "another broker is the controller"
            return ListPartitionReassignmentsResponse(error_code=ErrorCode.NOT_CONTROLLER, error_message=why)
        topics: dict[str, OngoingTopicReassignment] = {}
        for name, moving in sorted(controller.moving_partitions(_partitions(asked)).items()):
            topic = topics.setdefault(name.topic, OngoingTopicReassignment(name.topic))
            topic.partitions.append(
                OngoingPartitionReassignment(
                    name.partition, list(moving.replicas), list(moving.adding), list(moving.removing)
                )
            )
        return ListPartitionReassignmentsResponse(topics=list(topics.values()))

    return handle


def _partitions(asked: ListPartitionReassignmentsRequest) -> tuple[TopicPartition, ...] | None:
    if asked.topics is None:
        return None
    return tuple(TopicPartition(topic.name, index) for topic in asked.topics for index in topic.partition_indexes)
