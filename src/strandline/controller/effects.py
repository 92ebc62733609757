"""What comes out of the controller. The shell carries effects out in the order in which they stand.

**Writes come back.** A `Write` is one multi that begins with a check of `/controller_epoch` at the version named in
it, so that a controller of the past writes nothing (KAFKA-6082). Its outcome is an event, `WriteAnswered`, and only
what the controller does on that event tells of it: a request to a broker is always made from what is committed. It is
not made beforehand and kept until the write is done, for meanwhile brokers come, go and register anew, and it would
carry yesterday's broker epochs and yesterday's list of brokers, and overtake today's.

**Reads** are asked for when the outcome is unknown or somebody else has written; the shell asks until it has an
answer. The answer is an event too. For each znode there is one write or one read under way, never two.

**Requests** go to one broker each in the order in which they were made. The shell sends each until the broker has
answered it or is no longer registered with that epoch. A broker refuses what carries an older epoch of itself or of a
controller.
"""

from __future__ import annotations

from enum import Enum
from uuid import UUID

from strandline.controller.changes import Change
from strandline.controller.journal import JournalEntry
from strandline.controller.replies import Reply
from strandline.controller.values import Leadership, LiveBroker, ReplicaAssignment, ids_text
from strandline.model.lazy_dataclass import dataclass
from strandline.model.partitions import TopicPartition


@dataclass(frozen=True, slots=True)
class Write:
    write_id: int
    controller_epoch_version: int  # of the znode /controller_epoch
    changes: tuple[Change, ...]

    def __str__(self) -> str:
        return f"write #{self.write_id} " + "; ".join(map(str, self.changes))


@dataclass(frozen=True, slots=True)
class ReadPartitions:
    """Answered by `PartitionsRead`."""

    partitions: tuple[TopicPartition, ...]

    def __str__(self) -> str:
        return f"read partitions {' '.join(map(str, self.partitions))}"


@dataclass(frozen=True, slots=True)
class ReadTopic:
    """Answered by `TopicSeen`."""

    topic: str

    def __str__(self) -> str:
        return f"read topic {self.topic}"


@dataclass(frozen=True, slots=True)
class PartitionOrder:
    """What one broker is told about a partition of which it has a replica."""

    partition: TopicPartition
    topic_id: UUID | None
    leadership: Leadership
    assignment: ReplicaAssignment
    is_new: bool  # the replica does not exist yet: any log directory will do

    def __str__(self) -> str:
        return f"{self.partition} {self.leadership} replicas {self.assignment}{' new' if self.is_new else ''}"


@dataclass(frozen=True, slots=True)
class LeaderAndIsr:
    broker_id: int
    broker_epoch: int
    controller_id: int
    controller_epoch: int
    partitions: tuple[PartitionOrder, ...]
    leaders: tuple[LiveBroker, ...]  # where the leaders that are named can be reached
    is_full: bool = False  # every replica the broker should have is in here; others it has are strays

    def __str__(self) -> str:
        kind = "full LeaderAndIsr" if self.is_full else "LeaderAndIsr"
        told = ", ".join(map(str, self.partitions)) or "nothing"
        return f"{kind} to {self.broker_id}@{self.broker_epoch}: {told}"


@dataclass(frozen=True, slots=True)
class PartitionMetadata:
    """What every broker is told about a partition, for the clients that ask."""

    partition: TopicPartition
    topic_id: UUID | None
    leadership: Leadership  # during deletion with leader and epoch -2
    replicas: tuple[int, ...]
    offline_replicas: tuple[int, ...]

    def __str__(self) -> str:
        offline = f" offline {ids_text(self.offline_replicas)}" if self.offline_replicas else ""
        return f"{self.partition} {self.leadership} replicas {ids_text(self.replicas)}{offline}"


@dataclass(frozen=True, slots=True)
class UpdateMetadata:
    """The same for all recipients but for their epochs."""

    recipients: tuple[tuple[int, int], ...]  # broker id and broker epoch
    controller_id: int
    controller_epoch: int
    brokers: tuple[LiveBroker, ...]  # all there are, those that shut down too
    partitions: tuple[PartitionMetadata, ...]

    def __str__(self) -> str:
        recipients = ",".join(f"{broker_id}@{broker_epoch}" for broker_id, broker_epoch in self.recipients)
        brokers = ids_text(broker.broker_id for broker in self.brokers)
        told = ", ".join([f"brokers {brokers}", *map(str, self.partitions)])
        return f"UpdateMetadata to {recipients}: {told}"


@dataclass(frozen=True, slots=True)
class StoppedReplica:
    partition: TopicPartition
    leader_epoch: int  # EPOCH_DURING_DELETE when the topic goes (KIP-570)
    delete: bool

    def __str__(self) -> str:
        return f"{self.partition} epoch {self.leader_epoch}{' delete' if self.delete else ''}"


@dataclass(frozen=True, slots=True)
class StopReplica:
    broker_id: int
    broker_epoch: int
    controller_id: int
    controller_epoch: int
    partitions: tuple[StoppedReplica, ...]

    def __str__(self) -> str:
        return f"StopReplica to {self.broker_id}@{self.broker_epoch}: " + ", ".join(map(str, self.partitions))


@dataclass(frozen=True, slots=True)
class Journal:
    """For the event journal: this is committed, or seen."""

    entry: JournalEntry

    def __str__(self) -> str:
        return f"journal {self.entry}"


class TimerKind(Enum):
    REBALANCE = "rebalance"  # time to look at the balance of leaders


@dataclass(frozen=True, slots=True)
class SetTimer:
    """There is one of each kind, and a new one replaces it. When it is due: `TimerFired`."""

    kind: TimerKind
    at_ms: int

    def __str__(self) -> str:
        return f"timer {self.kind.value} at {self.at_ms}"


@dataclass(frozen=True, slots=True)
class Resign:
    """Nothing more will come out of this controller. Give up `/controller`, and stand for election again."""

    reason: str

    def __str__(self) -> str:
        return f"resign: {self.reason}"


Request = LeaderAndIsr | UpdateMetadata | StopReplica
Effect = Journal | Request | Reply | Write | ReadPartitions | ReadTopic | SetTimer | Resign
