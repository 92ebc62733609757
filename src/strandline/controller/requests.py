"""What people ask the controller for. Each has a number, which comes back with the reply (replies.py).

What is wanted by chance comes from outside: ids of topics, and where placement begins.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import Enum
from uuid import UUID

from strandline.controller.values import ids_text
from strandline.model.lazy_dataclass import dataclass
from strandline.model.partitions import TopicPartition


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTopicRequest:
    """Either counts or `placement`. The properties have been checked; they go to the store as they are."""

    request: int
    topic: str
    topic_id: UUID
    partition_count: int = 1
    replication_factor: int = 1
    placement: Mapping[int, tuple[int, ...]] | None = None
    start_index: int = 0  # by lot, below the number of brokers
    shift: int = 0  # by lot, below the number of brokers
    properties: Mapping[str, str] = field(default_factory=dict)
    validate_only: bool = False

    def __str__(self) -> str:
        if self.placement is None:
            return f"#{self.request} create topic {self.topic} {self.partition_count} x {self.replication_factor}"
        return f"#{self.request} create topic {self.topic} {_placed(self.placement)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class AddPartitionsRequest:
    """To `partition_count` in all. `placement` has the brokers of each added partition, in order."""

    request: int
    topic: str
    partition_count: int
    placement: tuple[tuple[int, ...], ...] | None = None
    validate_only: bool = False

    def __str__(self) -> str:
        return f"#{self.request} grow topic {self.topic} to {self.partition_count}"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteTopicRequest:
    """With an id, only the topic that has it."""

    request: int
    topic: str
    topic_id: UUID | None = None

    def __str__(self) -> str:
        return f"#{self.request} delete topic {self.topic}"


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterReassignmentsRequest:
    """Where partitions shall move; None cancels what is under way (KIP-455)."""

    request: int
    targets: Mapping[TopicPartition, tuple[int, ...] | None]
    may_change_factor: bool = True  # how many replicas there are (KIP-860)

    def __str__(self) -> str:
        moves = (f"{name} {'cancel' if to is None else f'to {ids_text(to)}'}" for name, to in self.targets.items())
        return f"#{self.request} reassign {', '.join(moves)}"


class ElectionKind(Enum):
    PREFERRED = "preferred"
    UNCLEAN = "unclean"


@dataclass(frozen=True, slots=True, kw_only=True)
class ElectLeadersRequest:
    request: int
    kind: ElectionKind
    partitions: tuple[TopicPartition, ...] | None  # None: all there are

    def __str__(self) -> str:
        wanted = "all" if self.partitions is None else " ".join(map(str, self.partitions))
        return f"#{self.request} elect {self.kind.value} leaders of {wanted}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlledShutdownRequest:
    request: int
    broker_id: int
    broker_epoch: int

    def __str__(self) -> str:
        return f"#{self.request} controlled shutdown of {self.broker_id}@{self.broker_epoch}"


Request = (
    CreateTopicRequest
    | AddPartitionsRequest
    | DeleteTopicRequest
    | AlterReassignmentsRequest
    | ElectLeadersRequest
    | ControlledShutdownRequest
)


def _placed(placement: Mapping[int, tuple[int, ...]]) -> str:
    return "{" + ", ".join(f"{index}: {ids_text(brokers)}" for index, brokers in placement.items()) + "}"
