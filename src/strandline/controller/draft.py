"""One step in the making: what an event has touched, and what comes of it."""

from __future__ import annotations

from strandline.controller.changes import Change, LeadershipChange, RemoveTopic, RequestDeletion
from strandline.controller.cluster import Cluster, Partition, Reading, Topic
from strandline.controller.effects import Effect, Journal, ReadPartitions, ReadTopic, Resign, SetTimer, Write
from strandline.controller.journal import ControllerHappened, JournalEntry
from strandline.controller.outbox import Outbox
from strandline.controller.replies import Reply
from strandline.controller.waiting import Waiter
from strandline.model.failures import ErrorCode, Refused
from strandline.model.partitions import TopicPartition

# One multi of ZooKeeper may carry 1 MiB; a partition's state with its path takes a few hundred bytes.
CHANGES_PER_WRITE_MAX = 200
NODES_REMOVED_PER_WRITE_MAX = 1_000


class Draft:
    def __init__(self, cluster: Cluster, now_ms: int) -> None:
        self.cluster = cluster
        self.now_ms = now_ms
        self.outbox = Outbox(cluster)
        self.touched: dict[TopicPartition, Partition] = {}
        self.touched_topics: dict[str, Topic] = {}
        self._entries: list[JournalEntry] = []
        self._replies: list[Reply] = []
        self._writes: list[Write] = []
        self._leaderships: list[LeadershipChange] = []
        self._deletion_requests: list[RequestDeletion] = []
        self._removals: list[RemoveTopic] = []
        self._partitions_to_read: list[TopicPartition] = []
        self._topics_to_read: dict[str, None] = {}
        self._timers: list[SetTimer] = []
        self._resignation: Resign | None = None

    # What must be looked at before the step is over.

    def touch(self, partition: Partition) -> None:
        self.touched[partition.name] = partition

    def touch_topic(self, topic: Topic) -> None:
        self.touched_topics[topic.name] = topic

    # What comes of it.

    def journal(self, entry: JournalEntry) -> None:
        self._entries.append(entry)

    def reply(self, reply: Reply) -> None:
        self._replies.append(reply)

    def set_timer(self, timer: SetTimer) -> None:
        self._timers.append(timer)

    def write(self, *changes: Change) -> None:
        """These together, and nothing else with them."""
        self.cluster.last_write_id += 1
        write_id = self.cluster.last_write_id
        write = Write(write_id, self.cluster.controller_epoch_version, changes)
        self.cluster.writes[write_id] = write
        self._writes.append(write)

    def change_leadership(self, partition: Partition, change: LeadershipChange) -> None:
        """Together with others. One that was contested goes alone, so that it does not fail the others again."""
        partition.under_way = change
        partition.excused = frozenset(partition.lost)
        if partition.is_contested:
            self.write(change)
        else:
            self._leaderships.append(change)

    def request_deletion(self, topic: Topic) -> None:
        """Together with others."""
        self._deletion_requests.append(RequestDeletion(topic.name))

    def remove_topic(self, topic: Topic) -> None:
        """Together with others, but for one whose removal has failed before: it might fail theirs again and again."""
        topic.under_way = RemoveTopic(topic.name, tuple(topic.partitions))
        if topic.is_contested:
            self.write(topic.under_way)
        else:
            self._removals.append(topic.under_way)

    def read(self, partition: Partition, after: LeadershipChange | None = None) -> None:
        partition.under_way = Reading(after)
        partition.must_read = False
        self._partitions_to_read.append(partition.name)

    def read_topic(self, name: str) -> None:
        self._topics_to_read[name] = None

    def wait(self, waiter: Waiter) -> None:
        """Whoever waits is answered when nothing is open, which may be now."""
        self.cluster.waiters[waiter] = None
        if not waiter.open:
            self._finish(waiter)

    def settled(self, waiter: Waiter, partition: Partition) -> None:
        if partition.name in waiter.open:
            waiter.settled(partition.name, partition.leader, partition.isr)
            self._close(waiter, partition.name)

    def fail(self, waiter: Waiter, topic: Topic, refusal: Refused) -> None:
        """For every partition of the topic that it waits for."""
        for name in sorted(name for name in waiter.open if name.topic == topic.name):
            waiter.failed(name, refusal)
            self._close(waiter, name)

    def _close(self, waiter: Waiter, name: TopicPartition) -> None:
        waiter.open.discard(name)
        if not waiter.open:
            self._finish(waiter)

    def _finish(self, waiter: Waiter) -> None:
        del self.cluster.waiters[waiter]
        outcome = waiter.outcome()
        if isinstance(outcome, Reply):
            self.reply(outcome)
        else:
            self.write(outcome)

    def refuse(self, waiter: Waiter, refusal: Refused) -> None:
        self.cluster.waiters.pop(waiter, None)
        reply = waiter.refused(refusal)
        if reply is not None:
            self.reply(reply)

    def resign(self, reason: str) -> None:
        cluster = self.cluster
        cluster.is_active = False
        self._resignation = Resign(reason)
        self.journal(ControllerHappened(cluster.controller_id, cluster.controller_epoch, f"resigns: {reason}"))
        for waiter in list(cluster.waiters):
            self.refuse(waiter, Refused(ErrorCode.NOT_CONTROLLER, "the controller has moved"))

    def effects(self) -> tuple[Effect, ...]:
        journal = tuple(Journal(entry) for entry in self._entries)
        if self._resignation is not None:
            return (*journal, *self._replies, self._resignation)
        for changes in (self._leaderships, self._deletion_requests):
            for start in range(0, len(changes), CHANGES_PER_WRITE_MAX):
                self.write(*changes[start : start + CHANGES_PER_WRITE_MAX])
        self._write_removals()
        requests = tuple(self.outbox.requests())
        reads: list[Effect] = [ReadTopic(name) for name in self._topics_to_read]
        if self._partitions_to_read:
            reads.append(ReadPartitions(tuple(self._partitions_to_read)))
        return (*journal, *requests, *self._replies, *self._writes, *reads, *self._timers)

    def _write_removals(self) -> None:
        """As many of them together as one multi may carry; more partitions than that are removed in several."""
        together: list[RemoveTopic] = []
        node_count = 0
        for removal in self._removals:
            node_count += removal.node_count
            if together and node_count > NODES_REMOVED_PER_WRITE_MAX:
                self.write(*together)
                together, node_count = [], removal.node_count
            together.append(removal)
        if together:
            self.write(*together)
