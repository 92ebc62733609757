"""A controller's requests as Kafka's messages, and the answers to them as events (the versions of Kafka 3.9)."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from strandline.controller.effects import LeaderAndIsr, PartitionOrder, StopReplica, UpdateMetadata
from strandline.controller.events import LeaderAndIsrAnswered, StopReplicaAnswered
from strandline.controller.values import LiveBroker
from strandline.model.failures import ErrorCode
from strandline.model.partitions import TopicPartition
from strandline.wire.messages.leader_and_isr import (
    LeaderAndIsrLiveLeader,
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    LeaderAndIsrTopicState,
)
from strandline.wire.messages.stop_replica import (
    StopReplicaPartitionState,
    StopReplicaRequest,
    StopReplicaResponse,
    StopReplicaTopicState,
)
from strandline.wire.messages.update_metadata import (
    UpdateMetadataBroker,
    UpdateMetadataEndpoint,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
    UpdateMetadataTopicState,
)
from strandline.wire.primitives import NO_UUID

LEADER_AND_ISR_VERSION, STOP_REPLICA_VERSION, UPDATE_METADATA_VERSION = 7, 4, 8
INCREMENTAL, FULL = 1, 2
PLAINTEXT = 0


def leader_and_isr_request(effect: LeaderAndIsr) -> LeaderAndIsrRequest:
    topics: dict[str, LeaderAndIsrTopicState] = {}
    for order in effect.partitions:
        topic = topics.setdefault(
            order.partition.topic, LeaderAndIsrTopicState(order.partition.topic, _id_bytes(order.topic_id))
        )
        topic.partition_states.append(_partition_state(order, effect.controller_epoch))
    return LeaderAndIsrRequest(
        controller_id=effect.controller_id,
        controller_epoch=effect.controller_epoch,
        broker_epoch=effect.broker_epoch,
        type=FULL if effect.is_full else INCREMENTAL,
        topic_states=list(topics.values()),
        live_leaders=[
            LeaderAndIsrLiveLeader(leader.broker_id, endpoint.host, endpoint.port)
            for leader in effect.leaders
            for endpoint in leader.endpoints[:1]
        ],
    )


def _partition_state(order: PartitionOrder, controller_epoch: int) -> LeaderAndIsrPartitionState:
    state, assignment = order.leadership, order.assignment
    return LeaderAndIsrPartitionState(
        "",
        order.partition.partition,
        controller_epoch,
        state.leader,
        state.leader_epoch,
        list(state.isr),
        state.partition_epoch,
        list(assignment.replicas),
        list(assignment.adding),
        list(assignment.removing),
        order.is_new,
        int(state.is_recovering),
    )


def leader_and_isr_answered(effect: LeaderAndIsr, response: LeaderAndIsrResponse) -> LeaderAndIsrAnswered:
    names = {_id_bytes(order.topic_id): order.partition.topic for order in effect.partitions}
    errors = {
        TopicPartition(names[topic.topic_id], each.partition_index): ErrorCode(each.error_code)
        for topic in response.topics
        if topic.topic_id in names
        for each in topic.partition_errors
    }
    return LeaderAndIsrAnswered(effect.broker_id, effect.broker_epoch, ErrorCode(response.error_code), errors)


def stop_replica_request(effect: StopReplica) -> StopReplicaRequest:
    topics: dict[str, StopReplicaTopicState] = {}
    for stopped in effect.partitions:
        topic = topics.setdefault(stopped.partition.topic, StopReplicaTopicState(stopped.partition.topic))
        topic.partition_states.append(
            StopReplicaPartitionState(stopped.partition.partition, stopped.leader_epoch, stopped.delete)
        )
    return StopReplicaRequest(
        controller_id=effect.controller_id,
        controller_epoch=effect.controller_epoch,
        broker_epoch=effect.broker_epoch,
        topic_states=list(topics.values()),
    )


def stop_replica_answered(effect: StopReplica, response: StopReplicaResponse) -> StopReplicaAnswered:
    errors = {
        TopicPartition(each.topic_name, each.partition_index): ErrorCode(each.error_code)
        for each in response.partition_errors
    }
    return StopReplicaAnswered(effect.broker_id, effect.broker_epoch, ErrorCode(response.error_code), errors)


def update_metadata_request(effect: UpdateMetadata, broker_epoch: int) -> UpdateMetadataRequest:
    topics: dict[str, UpdateMetadataTopicState] = {}
    for told in effect.partitions:
        topic = topics.setdefault(
            told.partition.topic, UpdateMetadataTopicState(told.partition.topic, _id_bytes(told.topic_id))
        )
        state = told.leadership
        topic.partition_states.append(
            UpdateMetadataPartitionState(
                "",
                told.partition.partition,
                effect.controller_epoch,
                state.leader,
                state.leader_epoch,
                list(state.isr),
                state.partition_epoch,
                list(told.replicas),
                list(told.offline_replicas),
            )
        )
    return UpdateMetadataRequest(
        controller_id=effect.controller_id,
        controller_epoch=effect.controller_epoch,
        broker_epoch=broker_epoch,
        topic_states=list(topics.values()),
        live_brokers=list(_brokers(effect.brokers)),
    )


def _brokers(brokers: Iterable[LiveBroker]) -> Iterable[UpdateMetadataBroker]:
    for broker in brokers:
        endpoints = [
            UpdateMetadataEndpoint(endpoint.port, endpoint.host, endpoint.listener, PLAINTEXT)
            for endpoint in broker.endpoints
        ]
        yield UpdateMetadataBroker(broker.broker_id, endpoints=endpoints, rack=broker.rack)


def _id_bytes(topic_id: UUID | None) -> bytes:
    return NO_UUID if topic_id is None else topic_id.bytes
