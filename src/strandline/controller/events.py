"""What comes into the controller: what was seen in the store, what brokers answered, what people ask for.

The store's watches say that something changed, never what. So the shell reads, and gives what it has read: the events
named `…Seen` and `…Read` are the contents of znodes, and may come again without harm.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import Enum

from strandline.controller.effects import TimerKind
from strandline.controller.requests import Request
from strandline.controller.values import Leadership, LiveBroker, TopicAssignment
from strandline.model.failures import ErrorCode
from strandline.model.lazy_dataclass import dataclass
from strandline.model.partitions import TopicPartition


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Everything a controller must read when it takes over. The other events follow by the shell's first reads."""

    brokers: tuple[LiveBroker, ...] = ()
    topics: Mapping[str, tuple[TopicAssignment, int]] = field(default_factory=dict)  # with the znode's version
    leaderships: Mapping[TopicPartition, Leadership] = field(default_factory=dict)
    deletion_requests: frozenset[str] = frozenset()
    unclean_topics: Mapping[str, bool] = field(default_factory=dict)  # where a topic sets it for itself
    # Of the leader and the ISR, those registered after the leadership was last written: they have been away since.
    restarted: Mapping[TopicPartition, frozenset[int]] = field(default_factory=dict)

    def __str__(self) -> str:
        brokers = " ".join(map(str, self.brokers))
        return f"snapshot brokers {brokers}, {len(self.topics)} topics, {len(self.leaderships)} partitions"


@dataclass(frozen=True, slots=True)
class BrokersSeen:
    """All of `/brokers/ids`: who is new, gone, back with a new epoch or at a new address is found by comparing."""

    brokers: tuple[LiveBroker, ...]

    def __str__(self) -> str:
        return f"brokers seen {' '.join(map(str, self.brokers))}"


@dataclass(frozen=True, slots=True)
class TopicSeen:
    """`/brokers/topics/<topic>`: a new topic, new partitions, or a topic that is gone (None)."""

    topic: str
    assignment: TopicAssignment | None
    version: int = 0

    def __str__(self) -> str:
        if self.assignment is None:
            return f"topic {self.topic} is not there"
        return f"topic seen {self.topic} {self.assignment} version {self.version}"


@dataclass(frozen=True, slots=True)
class PartitionsRead:
    """The answer to `ReadPartitions`; None for a partition without a state."""

    leaderships: Mapping[TopicPartition, Leadership | None]
    restarted: Mapping[TopicPartition, frozenset[int]] = field(default_factory=dict)  # as in a snapshot

    def __str__(self) -> str:
        return "partitions read " + ", ".join(f"{name} {found}" for name, found in self.leaderships.items())


@dataclass(frozen=True, slots=True)
class DeletionRequestsSeen:
    """The children of `/admin/delete_topics`."""

    topics: frozenset[str]

    def __str__(self) -> str:
        return f"deletion requests seen {' '.join(sorted(self.topics))}"


@dataclass(frozen=True, slots=True)
class MoveRequestsSeen:
    """`/admin/reassign_partitions`."""

    requests: Mapping[TopicPartition, tuple[int, ...]]

    def __str__(self) -> str:
        return "reassignment requests seen " + ", ".join(f"{name} to {list(to)}" for name, to in self.requests.items())


@dataclass(frozen=True, slots=True)
class ElectionRequestSeen:
    """`/admin/preferred_replica_election`."""

    partitions: frozenset[TopicPartition]

    def __str__(self) -> str:
        return f"preferred election request seen {' '.join(map(str, sorted(self.partitions)))}"


@dataclass(frozen=True, slots=True)
class IsrChangesSeen:
    """`/isr_change_notification`: leaders have changed the ISR of these partitions (SPEC R4)."""

    partitions: frozenset[TopicPartition]
    names: tuple[str, ...]  # of the notifications

    def __str__(self) -> str:
        return f"isr changes seen {' '.join(map(str, sorted(self.partitions)))}"


@dataclass(frozen=True, slots=True)
class LogDirFailuresSeen:
    """`/log_dir_event_notification`: these brokers have lost a log directory (SPEC L10)."""

    broker_ids: frozenset[int]
    names: tuple[str, ...]

    def __str__(self) -> str:
        return f"log dir failures seen on {' '.join(map(str, sorted(self.broker_ids)))}"


@dataclass(frozen=True, slots=True)
class UncleanElectionChanged:
    """`unclean.leader.election.enable` of a topic (None: as the default), or of all (no topic)."""

    topic: str | None
    is_enabled: bool | None

    def __str__(self) -> str:
        return f"unclean election of {self.topic or 'every topic'}: {self.is_enabled}"


class Outcome(Enum):
    COMMITTED = "committed"
    DECLINED = "declined"  # a znode is not as expected; nothing was written
    UNKNOWN = "unknown"  # the connection was lost: written or not
    FENCED = "fenced"  # /controller_epoch is not at our version; nothing was written
    IMPOSSIBLE = "impossible"  # more than one request may carry; nothing was written


@dataclass(frozen=True, slots=True)
class WriteAnswered:
    write_id: int
    outcome: Outcome

    def __str__(self) -> str:
        return f"write #{self.write_id} {self.outcome.value}"


@dataclass(frozen=True, slots=True)
class LeaderAndIsrAnswered:
    broker_id: int
    broker_epoch: int  # of the request
    error_code: ErrorCode = ErrorCode.NONE
    partitions: Mapping[TopicPartition, ErrorCode] = field(default_factory=dict)

    def __str__(self) -> str:
        errors = "".join(f", {name} {code.name}" for name, code in self.partitions.items())
        return f"LeaderAndIsr answered by {self.broker_id}@{self.broker_epoch} {self.error_code.name}{errors}"


@dataclass(frozen=True, slots=True)
class UpdateMetadataAnswered:
    broker_id: int
    broker_epoch: int
    error_code: ErrorCode = ErrorCode.NONE

    def __str__(self) -> str:
        return f"UpdateMetadata answered by {self.broker_id}@{self.broker_epoch} {self.error_code.name}"


@dataclass(frozen=True, slots=True)
class StopReplicaAnswered:
    broker_id: int
    broker_epoch: int
    error_code: ErrorCode = ErrorCode.NONE
    partitions: Mapping[TopicPartition, ErrorCode] = field(default_factory=dict)

    def __str__(self) -> str:
        errors = "".join(f", {name} {code.name}" for name, code in self.partitions.items())
        return f"StopReplica answered by {self.broker_id}@{self.broker_epoch} {self.error_code.name}{errors}"


@dataclass(frozen=True, slots=True)
class TimerFired:
    kind: TimerKind

    def __str__(self) -> str:
        return f"timer {self.kind.value} fired"


@dataclass(frozen=True, slots=True)
class ControllerMoved:
    """`/controller` is another's, or the session that held it is over."""

    reason: str

    def __str__(self) -> str:
        return f"controller moved: {self.reason}"


BrokerAnswer = LeaderAndIsrAnswered | UpdateMetadataAnswered | StopReplicaAnswered
Event = (
    BrokersSeen
    | TopicSeen
    | PartitionsRead
    | DeletionRequestsSeen
    | MoveRequestsSeen
    | ElectionRequestSeen
    | IsrChangesSeen
    | LogDirFailuresSeen
    | UncleanElectionChanged
    | WriteAnswered
    | BrokerAnswer
    | TimerFired
    | ControllerMoved
    | Request
)
