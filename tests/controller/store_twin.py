"""The znodes a controller reads and writes, as values: what a store would do with its writes, and no more."""

from __future__ import annotations

from dataclasses import replace

from strandline.controller.changes import (
    Change,
    CreateLeadership,
    CreateTopic,
    DropDeletionRequest,
    DropElectionRequest,
    DropNotifications,
    RemoveTopic,
    RequestDeletion,
    SetLeadership,
    SetMoveRequests,
    SetTopic,
)
from strandline.controller.effects import Write
from strandline.controller.events import Outcome, Snapshot, TopicSeen
from strandline.controller.values import Leadership, LiveBroker, TopicAssignment
from strandline.model.partitions import TopicPartition


class StoreTwin:
    def __init__(self) -> None:
        self.controller_epoch = 0
        self.zxid = 9
        self.brokers: dict[int, LiveBroker] = {}
        self.topics: dict[str, tuple[TopicAssignment, int]] = {}
        self.leaderships: dict[TopicPartition, Leadership] = {}
        self.deletion_requests: set[str] = set()
        self.move_requests: dict[TopicPartition, tuple[int, ...]] = {}
        self.election_request: frozenset[TopicPartition] = frozenset()
        self.written_at: dict[TopicPartition, int] = {}  # the zxid of the last registration before it
        self.written: list[tuple[TopicPartition, Leadership]] = []  # every leadership there ever was

    @property
    def controller_epoch_version(self) -> int:
        return self.controller_epoch + 100  # so that nobody takes the one for the other

    def register(self, broker_id: int, rack: str | None = None) -> LiveBroker:
        self.zxid += 1
        self.brokers[broker_id] = LiveBroker(broker_id, self.zxid, (), rack)
        return self.brokers[broker_id]

    def snapshot(self) -> Snapshot:
        return Snapshot(
            tuple(self.brokers[broker_id] for broker_id in sorted(self.brokers)),
            dict(self.topics),
            dict(self.leaderships),
            frozenset(self.deletion_requests),
            restarted={name: self.restarted(name) for name in self.leaderships},
        )

    def restarted(self, name: TopicPartition) -> frozenset[int]:
        state = self.leaderships[name]
        return frozenset(
            one
            for one in (state.leader, *state.isr)
            if one in self.brokers and self.brokers[one].broker_epoch > self.written_at[name]
        )

    def topic_seen(self, topic: str) -> TopicSeen:
        assignment, version = self.topics.get(topic, (None, 0))
        return TopicSeen(topic, assignment, version)

    def change_isr(self, partition: TopicPartition, isr: tuple[int, ...]) -> None:
        """As its leader does: the leader epoch stays, the version goes up."""
        current = self.leaderships[partition]
        assert current.leader in isr
        self._put(partition, replace(current, isr=isr, partition_epoch=current.partition_epoch + 1))

    def apply(self, write: Write) -> Outcome:
        if write.controller_epoch_version != self.controller_epoch_version:
            return Outcome.FENCED
        saved = dict(self.topics), dict(self.leaderships), set(self.deletion_requests), list(self.written)
        written_at = dict(self.written_at)
        for change in write.changes:
            if not self._apply(change):
                self.topics, self.leaderships, self.deletion_requests, self.written = saved
                self.written_at = written_at
                return Outcome.DECLINED
        return Outcome.COMMITTED

    def _apply(self, change: Change) -> bool:
        match change:
            case CreateTopic(topic, assignment):
                if topic in self.topics:
                    return False
                self.topics[topic] = (assignment, 0)
            case SetTopic(topic, assignment, expected_version):
                if topic not in self.topics or self.topics[topic][1] != expected_version:
                    return False
                self.topics[topic] = (assignment, expected_version + 1)
            case RemoveTopic(topic):
                self._remove_topic(topic)
            case CreateLeadership(partition, leadership):
                if partition in self.leaderships or partition.topic not in self.topics:
                    return False
                self._put(partition, leadership)
            case SetLeadership(partition, leadership, expected_version):
                current = self.leaderships.get(partition)
                if current is None or current.partition_epoch != expected_version:
                    return False
                self._put(partition, leadership)
            case _:
                return self._apply_request(change)
        return True

    def _apply_request(self, change: Change) -> bool:
        match change:
            case RequestDeletion(topic):
                if topic in self.deletion_requests:
                    return False
                self.deletion_requests.add(topic)
            case DropDeletionRequest(topic):
                self.deletion_requests.discard(topic)
            case SetMoveRequests(requests):
                self.move_requests = dict(requests)
            case DropElectionRequest():
                self.election_request = frozenset()
            case DropNotifications():
                pass
        return True

    def _remove_topic(self, topic: str) -> None:
        self.topics.pop(topic, None)
        self.leaderships = {name: found for name, found in self.leaderships.items() if name.topic != topic}
        self.deletion_requests.discard(topic)

    def _put(self, partition: TopicPartition, leadership: Leadership) -> None:
        self.leaderships[partition] = leadership
        self.written_at[partition] = self.zxid
        self.written.append((partition, leadership))
