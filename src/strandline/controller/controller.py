"""The controller of a cluster, as Kafka's in ZooKeeper mode (SPEC R4, R6, R7, T1 to T5).

    controller = Controller(controller_id, controller_epoch, controller_epoch_version, settings)
    effects = controller.take_over(snapshot, now_ms)         having won `/controller` and read the znodes
    effects = controller.step(event, now_ms)                 from then on, for everything that happens

Events are in `events` and `requests`, effects in `effects`; what the shell owes the controller is said there. A
controller never waits and never forgets: what it has decided is a write under way, and what it knows is in the
znodes. It ends with `Resign`, and is dropped; the next one starts from the znodes.

How it decides is in `rules`; how a partition comes to rest in `settling`; and one module each for what happens:
`brokers`, `creation`, `moves`, `deletion`, `leaders`, `takeover`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from strandline.controller import events, requests
from strandline.controller.brokers import (
    brokers_seen,
    controlled_shutdown,
    leader_and_isr_answered,
    log_dir_failures_seen,
)
from strandline.controller.changes import DropNotifications, NotificationKind, RemoveTopic
from strandline.controller.cluster import Cluster
from strandline.controller.creation import add_partitions, create_topic, topic_seen
from strandline.controller.deletion import delete_topic, deletion_requests_seen, replica_answered
from strandline.controller.draft import Draft
from strandline.controller.effects import Effect
from strandline.controller.events import BrokerAnswer, Event, Snapshot
from strandline.controller.leaders import elect_leaders, election_request_seen, rebalance, unclean_election_changed
from strandline.controller.moves import alter_reassignments, move_requests_seen, moving_partitions
from strandline.controller.outcomes import partitions_read, write_answered
from strandline.controller.settings import ControllerSettings
from strandline.controller.settling import settle
from strandline.controller.takeover import take_over
from strandline.controller.values import ReplicaAssignment
from strandline.model.failures import ErrorCode
from strandline.model.partitions import TopicPartition


def isr_changes_seen(draft: Draft, event: events.IsrChangesSeen) -> None:
    for name in sorted(event.partitions):
        partition = draft.cluster.partition(name)
        if partition is not None:
            partition.must_read = True
            draft.touch(partition)
    if event.names:
        draft.write(DropNotifications(NotificationKind.ISR_CHANGE, event.names))


def stop_replica_answered(draft: Draft, event: events.StopReplicaAnswered) -> None:
    for name, error_code in event.partitions.items():
        partition = draft.cluster.partition(name)
        if partition is not None:
            topic = draft.cluster.topics[name.topic]
            replica_answered(draft, topic, partition, event.broker_id, event.error_code or error_code)


def timer_fired(draft: Draft, event: events.TimerFired) -> None:
    del event  # there is one kind
    rebalance(draft)


def controller_moved(draft: Draft, event: events.ControllerMoved) -> None:
    draft.resign(event.reason)


def nothing_to_do(draft: Draft, event: Event) -> None:
    del draft, event


Handler = Callable[[Draft, Any], None]
HANDLERS: dict[type[Event], Handler] = {
    events.BrokersSeen: brokers_seen,
    events.TopicSeen: topic_seen,
    events.PartitionsRead: partitions_read,
    events.DeletionRequestsSeen: deletion_requests_seen,
    events.MoveRequestsSeen: move_requests_seen,
    events.ElectionRequestSeen: election_request_seen,
    events.IsrChangesSeen: isr_changes_seen,
    events.LogDirFailuresSeen: log_dir_failures_seen,
    events.UncleanElectionChanged: unclean_election_changed,
    events.WriteAnswered: write_answered,
    events.LeaderAndIsrAnswered: leader_and_isr_answered,
    events.UpdateMetadataAnswered: nothing_to_do,
    events.StopReplicaAnswered: stop_replica_answered,
    events.TimerFired: timer_fired,
    events.ControllerMoved: controller_moved,
    requests.CreateTopicRequest: create_topic,
    requests.AddPartitionsRequest: add_partitions,
    requests.DeleteTopicRequest: delete_topic,
    requests.AlterReassignmentsRequest: alter_reassignments,
    requests.ElectLeadersRequest: elect_leaders,
    requests.ControlledShutdownRequest: controlled_shutdown,
}


class Controller:
    __slots__ = ("cluster",)

    def __init__(
        self, controller_id: int, controller_epoch: int, controller_epoch_version: int, settings: ControllerSettings
    ) -> None:
        """The version is that of the znode `/controller_epoch`, with which every write is checked."""
        self.cluster = Cluster(controller_id, controller_epoch, controller_epoch_version, settings)

    @property
    def is_active(self) -> bool:
        return self.cluster.is_active

    def take_over(self, snapshot: Snapshot, now_ms: int) -> tuple[Effect, ...]:
        draft = Draft(self.cluster, now_ms)
        take_over(draft, snapshot)
        settle(draft)
        return draft.effects()

    def step(self, event: Event, now_ms: int) -> tuple[Effect, ...]:
        return self.steps((event,), now_ms)

    def steps(self, events: Iterable[Event], now_ms: int) -> tuple[Effect, ...]:
        """One after the other; what brokers are told and what is written goes together where it can."""
        meant = [event for event in events if not self._is_echo(event)]
        if not meant or not self.cluster.is_active:
            return ()
        draft = Draft(self.cluster, now_ms)
        for event in meant:
            if self.cluster.is_active:
                self._take(draft, event)
        return draft.effects()

    def _take(self, draft: Draft, event: Event) -> None:
        if isinstance(event, BrokerAnswer) and event.error_code is ErrorCode.STALE_CONTROLLER_EPOCH:
            draft.resign(f"broker {event.broker_id} knows a newer controller")
        else:
            HANDLERS[type(event)](draft, event)
        if self.cluster.is_active:
            settle(draft)

    def _is_echo(self, event: Event) -> bool:
        """An answer of an earlier life of a broker says nothing of the present one."""
        if not isinstance(event, BrokerAnswer):
            return False
        broker = self.cluster.brokers.get(event.broker_id)
        return broker is None or broker.broker_epoch != event.broker_epoch

    def knows(self, topic: str) -> bool:
        """Be it one that goes, or one that comes."""
        return topic in self.cluster.topics or topic in self.cluster.creating

    def is_removing(self, topic: str) -> bool:
        """Whether the write that takes its znodes away is under way."""
        found = self.cluster.topics.get(topic)
        return found is not None and isinstance(found.under_way, RemoveTopic)

    def moving_partitions(
        self, names: tuple[TopicPartition, ...] | None = None
    ) -> Mapping[TopicPartition, ReplicaAssignment]:
        """What ListPartitionReassignments shows; all there are where no names are given."""
        return moving_partitions(self.cluster, names)
