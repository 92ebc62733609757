"""All that a decision about one partition's leadership depends on, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import NamedTuple

from strandline.controller.values import NO_LEADER, Leadership, ReplicaAssignment
from strandline.model.partitions import TopicPartition


class Fault(Enum):
    """Why a broker may not lead a partition nor stay in its ISR; the values read well after its name."""

    LOST = "lost"
    LOG_DIR = "lost its log directory"
    RESTARTED = "restarted"  # it is there again, and may have less than it had when the leadership was written
    UNASSIGNED = "is no longer assigned"
    SHUTTING_DOWN = "is shutting down"


MISSING = frozenset({Fault.LOST, Fault.LOG_DIR, Fault.RESTARTED})


class Situation(NamedTuple):
    partition: TopicPartition
    assignment: ReplicaAssignment
    leadership: Leadership | None
    faults: Mapping[int, Fault]  # of the replicas, of the ISR and of the leader
    controller_epoch: int
    may_be_unclean: bool = False
    announced: ReplicaAssignment | None = None  # what the replicas were told in this leader epoch
    preference: str | None = None  # why the preferred replica should lead now

    @property
    def replicas(self) -> tuple[int, ...]:
        return self.assignment.replicas

    @property
    def live(self) -> tuple[int, ...]:
        return tuple(broker_id for broker_id in self.replicas if broker_id not in self.faults)

    @property
    def live_or_restarted(self) -> tuple[int, ...]:
        usable = (None, Fault.RESTARTED)
        return tuple(broker_id for broker_id in self.replicas if self.faults.get(broker_id) in usable)

    def is_missing(self, leader: int) -> bool:
        return leader == NO_LEADER or self.faults.get(leader) in MISSING
