"""The states of partitions and of replicas, and what may follow what. They live in memory only: a new controller finds
them anew from the znodes.

A **partition** is

    NEW            assigned to brokers, and has never had a leader: its state has not been written yet
    ONLINE         led by a broker that is there
    OFFLINE        it had a leader, and none of those who may follow is there; or its topic is about to go
    NON_EXISTENT   not known yet, or its topic is being deleted

A **replica** is

    NEW                  to be made: its broker may put it into any of its log directories
    ONLINE               its broker is there and the log directory works
    OFFLINE              its broker or its log directory is gone, or it has been told to stop
    DELETION_STARTED     told to delete its log
    DELETION_SUCCESSFUL  has answered that it did
    DELETION_INELIGIBLE  could not, or is not there: tried again when its broker registers
    NON_EXISTENT         not known
"""

from __future__ import annotations

from enum import Enum

from strandline.model.failures import check
from strandline.model.partitions import TopicPartition


class PartitionState(Enum):
    NON_EXISTENT = "non-existent"
    NEW = "new"
    ONLINE = "online"
    OFFLINE = "offline"


class ReplicaState(Enum):
    NON_EXISTENT = "non-existent"
    NEW = "new"
    ONLINE = "online"
    OFFLINE = "offline"
    DELETION_STARTED = "deletion started"
    DELETION_SUCCESSFUL = "deletion successful"
    DELETION_INELIGIBLE = "deletion ineligible"


PARTITION_MAY_BECOME: dict[PartitionState, frozenset[PartitionState]] = {
    PartitionState.NON_EXISTENT: frozenset({PartitionState.NEW}),
    PartitionState.NEW: frozenset({PartitionState.ONLINE, PartitionState.OFFLINE}),
    PartitionState.ONLINE: frozenset({PartitionState.ONLINE, PartitionState.OFFLINE}),
    PartitionState.OFFLINE: frozenset(
        {PartitionState.ONLINE, PartitionState.OFFLINE, PartitionState.NON_EXISTENT},
    ),
}

REPLICA_MAY_BECOME: dict[ReplicaState, frozenset[ReplicaState]] = {
    ReplicaState.NON_EXISTENT: frozenset({ReplicaState.NEW}),
    ReplicaState.NEW: frozenset({ReplicaState.ONLINE, ReplicaState.OFFLINE}),
    ReplicaState.ONLINE: frozenset({ReplicaState.ONLINE, ReplicaState.OFFLINE}),
    ReplicaState.OFFLINE: frozenset(
        {
            ReplicaState.ONLINE,
            ReplicaState.OFFLINE,
            ReplicaState.DELETION_STARTED,
            ReplicaState.DELETION_INELIGIBLE,
        }
    ),
    ReplicaState.DELETION_STARTED: frozenset({ReplicaState.DELETION_SUCCESSFUL, ReplicaState.DELETION_INELIGIBLE}),
    ReplicaState.DELETION_SUCCESSFUL: frozenset({ReplicaState.NON_EXISTENT}),
    ReplicaState.DELETION_INELIGIBLE: frozenset({ReplicaState.ONLINE, ReplicaState.OFFLINE}),
}


def check_partition_transition(partition: TopicPartition, state: PartitionState, following: PartitionState) -> None:
    check(
        following in PARTITION_MAY_BECOME[state],
        f"partition {partition} cannot go from {state.value} to {following.value}",
    )


def check_replica_transition(
    partition: TopicPartition, broker_id: int, state: ReplicaState, following: ReplicaState
) -> None:
    check(
        following in REPLICA_MAY_BECOME[state],
        f"replica {broker_id} of {partition} cannot go from {state.value} to {following.value}",
    )
