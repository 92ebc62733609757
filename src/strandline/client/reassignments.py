"""Replicas on the move: to begin, to watch and to cancel (KIP-455). The controller is asked, and answers at once."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from strandline.client.cluster import Cluster
from strandline.client.failures import BrokerRefused
from strandline.client.leaders import by_topic
from strandline.model.partitions import TopicPartition
from strandline.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignableTopic,
)
from strandline.wire.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    ListPartitionReassignmentsTopics,
)

Refusals = dict[TopicPartition, BrokerRefused | None]


class Move(NamedTuple):
    """Under way: `replicas` has the target first, then what will go."""

    replicas: tuple[int, ...]
    adding: tuple[int, ...]
    removing: tuple[int, ...]

    @property
    def origin(self) -> tuple[int, ...]:
        return tuple(broker_id for broker_id in self.replicas if broker_id not in self.adding)

    @property
    def target(self) -> tuple[int, ...]:
        return tuple(broker_id for broker_id in self.replicas if broker_id not in self.removing)


async def reassign(cluster: Cluster, targets: Mapping[TopicPartition, Sequence[int] | None]) -> Refusals:
    """Where each partition shall be; None cancels its move. For each what was wrong with that, if anything."""
    topics = [
        ReassignableTopic(name, [_reassignable(index, targets[TopicPartition(name, index)]) for index in indexes])
        for name, indexes in by_topic(targets).items()
    ]
    response = await cluster.ask_controller(
        AlterPartitionReassignmentsRequest(cluster.settings.request_timeout_ms, topics=topics),
        AlterPartitionReassignmentsResponse,
        lambda answer: [answer.error_code],
    )
    if response.error_code:
        raise BrokerRefused(response.error_code, "moving replicas", response.error_message)
    return {
        TopicPartition(topic.name, each.partition_index): (
            BrokerRefused(each.error_code, f"{topic.name}/{each.partition_index}", each.error_message)
            if each.error_code
            else None
        )
        for topic in response.responses
        for each in topic.partitions
    }


def _reassignable(index: int, target: Sequence[int] | None) -> ReassignablePartition:
    return ReassignablePartition(index, None if target is None else list(target))


async def list_moves(
    cluster: Cluster, partitions: Collection[TopicPartition] | None = None
) -> dict[TopicPartition, Move]:
    """Of these partitions, or all that are on the move."""
    topics = None
    if partitions is not None:
        topics = [ListPartitionReassignmentsTopics(name, indexes) for name, indexes in by_topic(partitions).items()]
    response = await cluster.ask_controller(
        ListPartitionReassignmentsRequest(cluster.settings.request_timeout_ms, topics),
        ListPartitionReassignmentsResponse,
        lambda answer: [answer.error_code],
    )
    if response.error_code:
        raise BrokerRefused(response.error_code, "replicas on the move", response.error_message)
    return {
        TopicPartition(topic.name, each.partition_index): Move(
            tuple(each.replicas), tuple(each.adding_replicas), tuple(each.removing_replicas)
        )
        for topic in response.topics
        for each in topic.partitions
    }
