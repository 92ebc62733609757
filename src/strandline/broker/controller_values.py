"""What the controller knows, from znodes and back: its values map onto theirs one to one."""

from __future__ import annotations

from collections.abc import Iterable

from strandline.controller.values import Endpoint, Leadership, LiveBroker, ReplicaAssignment, TopicAssignment
from strandline.metadata import broker_values, values
from strandline.metadata.store import NodeData
from strandline.model.partitions import TopicPartition


def live_broker(broker_id: int, node: NodeData) -> LiveBroker:
    """The zxid that made the registration is the broker's epoch."""
    registered = broker_values.decode_broker(broker_id, node.data)
    endpoints = tuple(
        Endpoint(each.listener, each.security_protocol, each.host, each.port) for each in registered.endpoints
    )
    return LiveBroker(broker_id, node.stat.created_zxid, endpoints, registered.rack)


def topic_assignment(topic: str, data: bytes) -> TopicAssignment:
    stored = values.decode_topic(topic, data)
    return TopicAssignment(
        stored.topic_id,
        {
            index: ReplicaAssignment(each.replicas, each.adding, each.removing)
            for index, each in stored.partitions.items()
        },
    )


def encode_assignment(assignment: TopicAssignment) -> bytes:
    partitions = {
        index: values.ReplicaAssignment(each.replicas, each.adding, each.removing)
        for index, each in assignment.partitions.items()
    }
    return values.encode_topic(values.TopicAssignment(assignment.topic_id, partitions))


def leadership(partition: TopicPartition, node: NodeData) -> Leadership:
    stored = values.decode_partition_state(partition, node.data)
    return Leadership(
        stored.leader,
        stored.leader_epoch,
        stored.isr,
        stored.controller_epoch,
        node.stat.version,
        is_recovering=stored.is_recovering,
    )


def restarted_since(node: NodeData, state: Leadership, brokers: Iterable[LiveBroker]) -> frozenset[int]:
    """Of the leader and the ISR, those whose registration is younger than what was last written of the partition."""
    concerned = {state.leader, *state.isr}
    written_zxid = node.stat.modified_zxid
    return frozenset(
        broker.broker_id for broker in brokers if broker.broker_id in concerned and broker.broker_epoch > written_zxid
    )


def encode_leadership(state: Leadership) -> bytes:
    return values.encode_partition_state(
        values.PartitionState(state.leader, state.leader_epoch, state.isr, state.controller_epoch, state.is_recovering)
    )
