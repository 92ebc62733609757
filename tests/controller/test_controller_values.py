"""The controller's values and Kafka's znodes: the same fields, one to one (SPEC M1)."""

from __future__ import annotations

from dataclasses import fields
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from strandline.controller.values import Endpoint, Leadership, LiveBroker, ReplicaAssignment, TopicAssignment
from strandline.metadata import broker_values, values
from strandline.model.partitions import TopicPartition

ids = st.lists(st.integers(0, 9), unique=True, max_size=5).map(tuple)


def names(kind: type) -> set[str]:
    return {field.name for field in fields(kind)}


def test_a_leadership_is_a_partitions_state_and_its_version() -> None:
    assert names(Leadership) - {"partition_epoch"} == names(values.PartitionState)
    ours = Leadership(2, 5, (2, 1), 7, partition_epoch=11, is_recovering=True)
    stored = values.PartitionState(ours.leader, ours.leader_epoch, ours.isr, ours.controller_epoch, ours.is_recovering)
    partition = TopicPartition("orders", 0)
    assert values.decode_partition_state(partition, values.encode_partition_state(stored)) == stored


def test_an_assignment_is_a_topics_node() -> None:
    assert names(ReplicaAssignment) == names(values.ReplicaAssignment)
    assert names(TopicAssignment) == names(values.TopicAssignment)
    ours = TopicAssignment(UUID(int=1), {0: ReplicaAssignment((3, 1, 2), (3,), (2,))})
    stored = values.TopicAssignment(
        ours.topic_id,
        {
            index: values.ReplicaAssignment(one.replicas, one.adding, one.removing)
            for index, one in ours.partitions.items()
        },
    )
    assert values.decode_topic("orders", values.encode_topic(stored)) == stored


def test_a_live_broker_is_a_registration_and_its_zxid() -> None:
    assert names(Endpoint) == names(broker_values.Endpoint)
    assert names(LiveBroker) - {"broker_epoch"} <= names(broker_values.BrokerRegistration)


@given(origin=ids, target=ids, other=ids)
def test_moves_have_kafkas_sets(origin: tuple[int, ...], target: tuple[int, ...], other: tuple[int, ...]) -> None:
    """KIP-455: replicas = target + origin, adding = target - origin, removing = origin - target."""
    moving = ReplicaAssignment(origin).moved_to(target)
    assert moving.replicas[: len(target)] == target == moving.target
    assert set(moving.replicas) == {*target, *origin}
    assert set(moving.origin) == set(origin)
    assert set(moving.adding) == {*target} - {*origin}
    assert set(moving.removing) == {*origin} - {*target}
    # A move that replaces another starts from the same origin, and one to the origin cancels it.
    assert set(moving.moved_to(other).origin) == set(origin)
    assert not moving.moved_to(moving.origin).is_moving
