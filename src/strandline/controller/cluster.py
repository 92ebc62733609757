"""What the controller has in mind: the cluster as it is committed and seen, and what is under way.

What is committed changes in two ways only: a write of ours was answered, or a znode was read. Whatever is looked up
for an event is found by broker, by topic or by partition: no event but a take-over, a new broker and the timer goes
through all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from typing import Generic, TypeVar
from uuid import UUID

from strandline.controller.changes import CreateTopic, LeadershipChange, RemoveTopic, SetTopic
from strandline.controller.effects import Write
from strandline.controller.journal import AssignmentChanged
from strandline.controller.settings import ControllerSettings
from strandline.controller.situation import Fault, Situation
from strandline.controller.states import (
    PartitionState,
    ReplicaState,
    check_partition_transition,
    check_replica_transition,
)
from strandline.controller.values import (
    EPOCH_DURING_DELETE,
    FIRST_VERSION,
    NO_EPOCH,
    NO_LEADER,
    Leadership,
    LiveBroker,
    ReplicaAssignment,
    TopicAssignment,
)
from strandline.controller.waiting import TopicWaiter, Waiter
from strandline.model.lazy_dataclass import dataclass
from strandline.model.partitions import TopicPartition

ChangeT = TypeVar("ChangeT", covariant=True)


@dataclass(frozen=True, slots=True)
class Reading(Generic[ChangeT]):
    """A znode is being read: its content is not known, and nothing is decided before it is."""

    after: ChangeT | None = None  # a write of which we do not know what became


@dataclass(slots=True, eq=False)
class Partition:
    name: TopicPartition
    assignment: ReplicaAssignment
    leadership: Leadership | None = None
    state: PartitionState = PartitionState.NEW
    replicas: dict[int, ReplicaState] = field(default_factory=dict)  # of all who have it, those that must go too
    lost: set[int] = field(default_factory=set)  # in the ISR, perhaps, and away since the leadership was written
    announced: ReplicaAssignment | None = None  # what its replicas were told in this leader epoch, by us
    election: str | None = None  # why the preferred replica shall lead, as long as somebody wants it
    allows_unclean: bool = False  # somebody has asked for an unclean election
    under_way: LeadershipChange | Reading[LeadershipChange] | None = None
    excused: frozenset[int] = frozenset()  # of `lost`, those the change under way does not trust
    must_read: bool = False  # its leader has changed the ISR, or may have
    is_contested: bool = False  # somebody else wrote when we did: the next change goes alone
    is_told: bool = True  # brokers have been told what clients shall know
    unordered: set[int] = field(default_factory=set)  # replicas that are back, and wait for their orders
    waiters: list[Waiter] = field(default_factory=list)

    def become(self, state: PartitionState) -> None:
        if state is not self.state:
            check_partition_transition(self.name, self.state, state)
            self.state = state

    def replica_becomes(self, broker_id: int, *states: ReplicaState) -> None:
        for state in states:
            check_replica_transition(self.name, broker_id, self.replicas[broker_id], state)
            self.replicas[broker_id] = state

    @property
    def leader(self) -> int:
        return NO_LEADER if self.leadership is None else self.leadership.leader

    @property
    def isr(self) -> tuple[int, ...]:
        return () if self.leadership is None else self.leadership.isr

    @property
    def change_under_way(self) -> LeadershipChange | None:
        """Whose end is not known."""
        return self.under_way.after if isinstance(self.under_way, Reading) else self.under_way

    @property
    def leaving(self) -> list[int]:
        """Those that have it and shall not, and can be told to delete it now."""
        assigned = self.assignment.replicas
        return [one for one in self.replicas if one not in assigned and one != self.leader and one not in self.isr]


@dataclass(frozen=True, slots=True)
class WantedAssignment:
    assignment: ReplicaAssignment
    entry: AssignmentChanged


@dataclass(slots=True, eq=False)
class Topic:
    name: str
    topic_id: UUID | None
    version: int = FIRST_VERSION  # of its znode
    partitions: dict[int, Partition] = field(default_factory=dict)
    wanted: dict[int, WantedAssignment] = field(default_factory=dict)  # to be written, when nothing else is
    under_way: SetTopic | RemoveTopic | Reading[SetTopic] | None = None
    shall_go: bool = False  # its deletion is requested, in the store
    is_going: bool = False  # its deletion has begun
    is_contested: bool = False  # its removal was declined, or nobody knows
    waiters: list[Waiter] = field(default_factory=list)  # for what is wanted
    waiters_under_way: list[Waiter] = field(default_factory=list)  # for what is being written
    deletion_waiters: list[Waiter] = field(default_factory=list)

    def planned(self, index: int) -> ReplicaAssignment | None:
        """What the partition is assigned to once everything asked for so far is written."""
        if index in self.wanted:
            return self.wanted[index].assignment
        change = self.under_way.after if isinstance(self.under_way, Reading) else self.under_way
        if isinstance(change, SetTopic) and index in change.assignment.partitions:
            return change.assignment.partitions[index]
        return self.partitions[index].assignment if index in self.partitions else None

    @property
    def planned_count(self) -> int:
        change = self.under_way.after if isinstance(self.under_way, Reading) else self.under_way
        pending = change.assignment.partitions if isinstance(change, SetTopic) else {}
        return len({*self.partitions, *self.wanted, *pending})


@dataclass(slots=True, eq=False)
class Creation:
    """A topic whose znode is being written. It is not a topic yet."""

    change: CreateTopic
    waiter: TopicWaiter
    topic: Topic
    is_being_read: bool = False  # to see whether it was written


class Cluster:
    def __init__(
        self, controller_id: int, controller_epoch: int, controller_epoch_version: int, settings: ControllerSettings
    ) -> None:
        self.controller_id = controller_id
        self.controller_epoch = controller_epoch
        self.controller_epoch_version = controller_epoch_version
        self.settings = settings
        self.is_active = True
        self.brokers: dict[int, LiveBroker] = {}
        self.without_list: set[int] = set()  # registered, and not told all replicas they should have
        self.shutting_down: set[int] = set()
        self.offline_replicas: dict[int, set[TopicPartition]] = {}  # on log directories that failed, by broker
        self.topics: dict[str, Topic] = {}
        self.creating: dict[str, Creation] = {}
        self.colliding_names: dict[str, str] = {}  # '.' and '_' are one in names of metrics
        self.partitions_by_broker: dict[int, dict[TopicPartition, Partition]] = {}
        self.unclean_by_default = settings.unclean_leader_election_enable
        self.unclean_topics: dict[str, bool] = {}  # where a topic sets it for itself
        self.move_requests: dict[TopicPartition, tuple[int, ...]] = {}  # /admin/reassign_partitions
        self.writes: dict[int, Write] = {}  # under way
        self.last_write_id = 0
        self.waiters: dict[Waiter, None] = {}  # in the order they came

    # Finding.

    def partition(self, name: TopicPartition) -> Partition | None:
        topic = self.topics.get(name.topic)
        return None if topic is None else topic.partitions.get(name.partition)

    def all_partitions(self) -> Iterator[Partition]:
        for topic in self.topics.values():
            yield from topic.partitions.values()

    def partitions_on(self, broker_id: int) -> list[Partition]:
        return list(self.partitions_by_broker.get(broker_id, {}).values())

    # Who is there.

    def is_there(self, broker_id: int, partition: TopicPartition) -> bool:
        """Registered, though it may be about to go, and on a log directory that works."""
        return broker_id in self.brokers and partition not in self.offline_replicas.get(broker_id, ())

    def away(self, partition: Partition) -> list[int]:
        """Of the ISR. They will have been restarted when they come back, be it before anything is written without
        them."""
        return [broker_id for broker_id in partition.isr if broker_id not in self.brokers]

    def fault(self, broker_id: int, partition: Partition) -> Fault | None:
        if broker_id not in self.brokers:
            return Fault.LOST
        if not self.is_there(broker_id, partition.name):
            return Fault.LOG_DIR
        if broker_id in partition.lost and partition.leadership is not None:
            return Fault.RESTARTED
        if broker_id not in partition.assignment.replicas:
            return Fault.UNASSIGNED
        return Fault.SHUTTING_DOWN if broker_id in self.shutting_down else None

    def situation(self, partition: Partition) -> Situation:
        concerned = dict.fromkeys((*partition.assignment.replicas, *partition.isr, partition.leader))
        faults = {one: fault for one in concerned if (fault := self.fault(one, partition)) is not None}
        return Situation(
            partition.name,
            partition.assignment,
            partition.leadership,
            faults,
            self.controller_epoch,
            partition.allows_unclean or self.is_unclean(partition.name.topic),
            partition.announced,
            partition.election,
        )

    def is_unclean(self, topic: str) -> bool:
        return self.unclean_topics.get(topic, self.unclean_by_default)

    def leader_epoch(self, partition: Partition) -> int:
        if self.topics[partition.name.topic].shall_go:
            return EPOCH_DURING_DELETE
        return NO_EPOCH if partition.leadership is None else partition.leadership.leader_epoch

    # Changing what is known.

    def new_topic(self, name: str, assignment: TopicAssignment, version: int = FIRST_VERSION) -> Topic:
        topic = Topic(name, assignment.topic_id, version)
        for index, replicas in sorted(assignment.partitions.items()):
            topic.partitions[index] = self.new_partition(TopicPartition(name, index), replicas)
        return topic

    def new_partition(self, name: TopicPartition, assignment: ReplicaAssignment) -> Partition:
        partition = Partition(name, assignment)
        for broker_id in assignment.replicas:
            self._add_replica(partition, broker_id)
        return partition

    def _add_replica(self, partition: Partition, broker_id: int) -> None:
        partition.replicas[broker_id] = ReplicaState.NEW
        if not self.is_there(broker_id, partition.name):
            partition.replica_becomes(broker_id, ReplicaState.OFFLINE)

    def add_topic(self, topic: Topic) -> None:
        self.topics[topic.name] = topic
        self.colliding_names[collision_key(topic.name)] = topic.name
        for partition in topic.partitions.values():
            self.index(partition)

    def index(self, partition: Partition) -> None:
        for broker_id in partition.replicas:
            self.partitions_by_broker.setdefault(broker_id, {})[partition.name] = partition

    def assign(self, partition: Partition, assignment: ReplicaAssignment) -> None:
        """Replicas that are not in it stay known until they were told to go."""
        partition.assignment = assignment
        partition.is_told = False
        for broker_id in assignment.replicas:
            if broker_id not in partition.replicas:
                self._add_replica(partition, broker_id)
        self.index(partition)

    def know_in_sync(self, partition: Partition) -> None:
        """They have it, assigned or not, and keep it until a leadership is written without them."""
        for broker_id in partition.isr:
            if broker_id not in partition.replicas:
                self._add_replica(partition, broker_id)
        self.index(partition)

    def forget_replica(self, partition: Partition, broker_id: int) -> None:
        del partition.replicas[broker_id]
        self.partitions_by_broker[broker_id].pop(partition.name, None)
        self.offline_replicas.get(broker_id, set()).discard(partition.name)

    def forget_topic(self, topic: Topic) -> None:
        del self.topics[topic.name]
        self.colliding_names.pop(collision_key(topic.name), None)
        self.unclean_topics.pop(topic.name, None)
        for partition in topic.partitions.values():
            for broker_id in list(partition.replicas):
                self.forget_replica(partition, broker_id)


def collision_key(topic: str) -> str:
    return topic.replace(".", "_")
