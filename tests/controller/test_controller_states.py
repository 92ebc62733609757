"""The states of partitions and replicas: what may follow what is as in Kafka."""

from __future__ import annotations

from typing import TypeVar

import pytest

from strandline.controller.cluster import Partition
from strandline.controller.states import PARTITION_MAY_BECOME, REPLICA_MAY_BECOME, PartitionState, ReplicaState
from strandline.controller.values import ReplicaAssignment
from strandline.model.failures import BrokenInvariant
from strandline.model.partitions import TopicPartition

State = TypeVar("State", PartitionState, ReplicaState)

# Kafka's tables are the other way round: what a state may come from.
KAFKAS_PARTITION_TABLE = {
    PartitionState.NEW: {PartitionState.NON_EXISTENT},
    PartitionState.ONLINE: {PartitionState.NEW, PartitionState.ONLINE, PartitionState.OFFLINE},
    PartitionState.OFFLINE: {PartitionState.NEW, PartitionState.ONLINE, PartitionState.OFFLINE},
    PartitionState.NON_EXISTENT: {PartitionState.OFFLINE},
}
ALIVE = {ReplicaState.NEW, ReplicaState.ONLINE, ReplicaState.OFFLINE, ReplicaState.DELETION_INELIGIBLE}
KAFKAS_REPLICA_TABLE = {
    ReplicaState.NEW: {ReplicaState.NON_EXISTENT},
    ReplicaState.ONLINE: ALIVE,
    ReplicaState.OFFLINE: ALIVE,
    ReplicaState.DELETION_STARTED: {ReplicaState.OFFLINE},
    ReplicaState.DELETION_SUCCESSFUL: {ReplicaState.DELETION_STARTED},
    ReplicaState.DELETION_INELIGIBLE: {ReplicaState.OFFLINE, ReplicaState.DELETION_STARTED},
    ReplicaState.NON_EXISTENT: {ReplicaState.DELETION_SUCCESSFUL},
}


def came_from(table: dict[State, frozenset[State]]) -> dict[State, set[State]]:
    return {state: {earlier for earlier, following in table.items() if state in following} for state in table}


def test_the_tables_are_kafkas() -> None:
    assert came_from(PARTITION_MAY_BECOME) == KAFKAS_PARTITION_TABLE
    assert came_from(REPLICA_MAY_BECOME) == KAFKAS_REPLICA_TABLE


def test_what_the_tables_do_not_allow_is_our_own_bug() -> None:
    partition = Partition(TopicPartition("orders", 0), ReplicaAssignment((1,)), replicas={1: ReplicaState.ONLINE})
    with pytest.raises(BrokenInvariant, match="partition orders-0 cannot go from new to non-existent"):
        partition.become(PartitionState.NON_EXISTENT)
    with pytest.raises(BrokenInvariant, match="replica 1 of orders-0 cannot go from online to deletion started"):
        partition.replica_becomes(1, ReplicaState.DELETION_STARTED)
