"""What to write, as values: one for each change of Kafka's znodes that the controller makes.

Several of them make one `Write` (effects.py), which is all done or not at all. `expected_version` is the version the
znode must have; a change without one does not care. `RemoveTopic` alone may take several multis, for a topic can have
more znodes than one request may carry: it goes from the leaves to the root, ends with the deletion request, and does
not mind what is gone already, so it can be done again from any point.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import Enum

from strandline.controller.journal import JournalEntry, LeadershipChanged
from strandline.controller.values import Leadership, TopicAssignment, ids_text
from strandline.model.lazy_dataclass import dataclass
from strandline.model.partitions import TopicPartition


@dataclass(frozen=True, slots=True)
class CreateTopic:
    """`/brokers/topics/<topic>`; before it, in the same multi, its properties under `/config/topics`, where properties
    that an interrupted deletion has left are replaced.
    """

    topic: str
    assignment: TopicAssignment
    properties: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        properties = "".join(f" {name}={value}" for name, value in sorted(self.properties.items()))
        return f"create topic {self.topic} {self.assignment}{properties}"


@dataclass(frozen=True, slots=True)
class SetTopic:
    topic: str
    assignment: TopicAssignment
    expected_version: int
    entries: tuple[JournalEntry, ...] = ()

    def __str__(self) -> str:
        return f"set topic {self.topic} {self.assignment} if version {self.expected_version}"


@dataclass(frozen=True, slots=True)
class RemoveTopic:
    """`/brokers/topics/<topic>` with all below it, `/config/topics/<topic>`, `/admin/delete_topics/<topic>`."""

    topic: str
    partitions: tuple[int, ...] = ()  # that are known to be below it; there may be others

    @property
    def node_count(self) -> int:
        return 4 + 2 * len(self.partitions)

    def __str__(self) -> str:
        return f"remove topic {self.topic}"


@dataclass(frozen=True, slots=True)
class CreateLeadership:
    """`/brokers/topics/<topic>/partitions/<p>/state`, and the nodes above it where they are missing."""

    partition: TopicPartition
    leadership: Leadership
    entry: LeadershipChanged

    def __str__(self) -> str:
        return f"create partition {self.partition} {self.leadership}"


@dataclass(frozen=True, slots=True)
class SetLeadership:
    partition: TopicPartition
    leadership: Leadership
    expected_version: int
    entry: LeadershipChanged
    completes_move: bool = False  # the assignment is to follow

    def __str__(self) -> str:
        return f"set partition {self.partition} {self.leadership} if version {self.expected_version}"


@dataclass(frozen=True, slots=True)
class RequestDeletion:
    """`/admin/delete_topics/<topic>`; from then on the topic will go, whoever is controller."""

    topic: str

    def __str__(self) -> str:
        return f"request deletion of {self.topic}"


@dataclass(frozen=True, slots=True)
class DropDeletionRequest:
    topic: str

    def __str__(self) -> str:
        return f"drop deletion request for {self.topic}"


@dataclass(frozen=True, slots=True)
class SetMoveRequests:
    """`/admin/reassign_partitions`, which goes when nothing is left in it."""

    requests: Mapping[TopicPartition, tuple[int, ...]]

    def __str__(self) -> str:
        left = ", ".join(f"{name} to {ids_text(self.requests[name])}" for name in sorted(self.requests))
        return f"set reassignment requests {left}" if left else "drop reassignment requests"


@dataclass(frozen=True, slots=True)
class DropElectionRequest:
    """`/admin/preferred_replica_election`."""

    def __str__(self) -> str:
        return "drop preferred election request"


class NotificationKind(Enum):
    ISR_CHANGE = "isr change"  # /isr_change_notification
    LOG_DIR_EVENT = "log dir event"  # /log_dir_event_notification


@dataclass(frozen=True, slots=True)
class DropNotifications:
    kind: NotificationKind
    names: tuple[str, ...]  # of the nodes

    def __str__(self) -> str:
        return f"drop {self.kind.value} notifications {' '.join(self.names)}"


LeadershipChange = CreateLeadership | SetLeadership
Change = (
    CreateTopic
    | SetTopic
    | RemoveTopic
    | LeadershipChange
    | RequestDeletion
    | DropDeletionRequest
    | SetMoveRequests
    | DropElectionRequest
    | DropNotifications
)
