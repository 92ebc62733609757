"""A partition on this broker: its log, its part in replication, and who waits for it to go on.

    log start      last stable offset      high watermark      log end
        |  consumers read up to here (read_committed)  |  ... up to here     |

Everything below the high watermark is on every in-sync replica: `replication` says how far that is. Where
`flush.messages` limits how much may be missing on the disk, the rest waits for a flush too.

This joins `log` and `replication`, which do not know each other. It does at once what replication wants done to the
log, and hands on what concerns others (`PartitionOwner`): the store, the fetchers.

Whoever waits (a long poll, acks=all, the group coordinator) is a watcher: told when the high watermark moves, or when
the partition stops being what it was. Followers wait for the end of the log instead. A watcher takes a note and acts
later, never inside the call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from strandline.broker.cluster_image import INTERNAL_TOPICS
from strandline.log.filesystem import Buffer
from strandline.log.log import Log
from strandline.log.log_slice import LogSlice
from strandline.log.log_writer import Appended
from strandline.model.failures import ErrorCode, Refused
from strandline.model.partitions import TopicPartition
from strandline.replication.effects import (
    AdvanceLogStart,
    AppendFetched,
    AssignEpoch,
    HighWatermarkMoved,
    LeadershipLost,
    ReplicaEffect,
    TruncateFullyAndStartAt,
    TruncateTo,
)
from strandline.replication.events import NO_LEADER, LeaderAndIsr, LeaderEvent
from strandline.replication.follower import Follower
from strandline.replication.leader import Leader
from strandline.replication.replica import Replica
from strandline.replication.settings import ReplicationSettings


class Watcher(Protocol):
    def partition_moved(self, partition: Partition) -> None: ...


class EndWatcher(Protocol):
    def end_moved(self, partition: Partition) -> None: ...


class LeadershipListener(Protocol):
    """Whoever has work to do for the partitions that this broker leads."""

    def became_leader(self, partition: Partition) -> None: ...
    def resigned(self, partition: Partition) -> None: ...


class PartitionOwner(Protocol):
    def carry_out(self, partition: Partition, effects: tuple[ReplicaEffect, ...]) -> None:
        """Effects that reach beyond the partition; the others are done already, and here to be told of."""

    def follower_flushed(self, partition: Partition) -> None:
        """The disk has what it follows with."""


class Partition:
    __slots__ = (
        "_elapsed_ms", "_end_watchers", "_owner", "_replica", "_watchers", "broker_id", "high_watermark", "is_internal",
        "leader", "log", "name", "topic_id",
    )  # fmt: skip

    def __init__(
        self,
        name: TopicPartition,
        topic_id: bytes,
        log: Log,
        broker_id: int,
        *,
        owner: PartitionOwner,
        live_brokers: Mapping[int, int],
        settings: ReplicationSettings,
        elapsed_ms: Callable[[], int],
        high_watermark: int = 0,
    ) -> None:
        """`high_watermark` is the checkpoint's."""
        self.name = name
        self.topic_id = topic_id
        self.log = log
        self.broker_id = broker_id
        self.is_internal = name.topic in INTERNAL_TOPICS  # written by coordinators, never by a client
        self.leader: Leader | None = None
        self._owner = owner
        self._elapsed_ms = elapsed_ms
        self._replica = Replica(
            broker_id=broker_id,
            log=log,
            high_watermark=high_watermark,
            live_brokers=live_brokers,
            settings=settings,
        )
        self.high_watermark = self._replica.high_watermark
        log.producers.high_watermark_moved(self.high_watermark)  # or markers that were just read count as new
        # In the order in which they came: a set would tell them in another one each time the broker runs.
        self._watchers: dict[Watcher, None] = {}
        self._end_watchers: dict[EndWatcher, None] = {}

    @property
    def is_leader(self) -> bool:
        return self.leader is not None

    @property
    def follower(self) -> Follower | None:
        return self._replica.follower

    @property
    def leader_epoch(self) -> int:
        return self._replica.leader_epoch

    @property
    def settings(self) -> ReplicationSettings:
        """In use now."""
        return self._replica.settings

    def check_leader(self, current_leader_epoch: int = -1) -> None:
        """Refuse what only a leader may answer, and what a client with another epoch in mind asks (KIP-320)."""
        if self.leader is None:
            raise Refused(ErrorCode.NOT_LEADER_OR_FOLLOWER, f"broker {self.broker_id} does not lead {self.name}")
        if current_leader_epoch != self.leader.leader_epoch:
            self.leader.check_epoch(current_leader_epoch)

    # What the controller and the store say.

    def decide(self, decision: LeaderAndIsr, now_ms: int) -> None:
        effects = self._replica.decide(decision, self._elapsed_ms())
        self.leader = self._replica.leader
        self._do(effects, now_ms)
        self._settle_doubt(decision, now_ms)

    def _settle_doubt(self, decision: LeaderAndIsr, now_ms: int) -> None:
        """Of a log that may have lost records between others, in a crash. Whoever leads has the truth from now on.

        One that is in the ISR all the same keeps what it has: all of them have crashed together, and none is better."""
        doubtful_from, follower = self.log.doubtful_from, self._replica.follower
        if doubtful_from is None or decision.leader_epoch != self.leader_epoch or decision.leader == NO_LEADER:
            return
        self.log.doubtful_from = None
        is_trusted = follower is None or self.broker_id in decision.isr
        if not is_trusted and doubtful_from < self.log.log_end_offset:
            cause = "it crashed, and a compacted log does not show what is missing above its recovery point"
            self._do((TruncateTo(doubtful_from, cause),), now_ms)

    def stop(self) -> None:
        """It is another broker's now, or nobody's: whoever waits must look elsewhere."""
        effects = self._replica.stop()
        self.leader = None
        self._owner.carry_out(self, effects)
        self._tell(self._watchers)
        self._tell_of_end()

    def heard_from_store(self, event: LeaderEvent) -> None:
        """What became of an ISR that we proposed."""
        if self.leader is not None:
            self._moved(self.leader.handle(event, self._elapsed_ms()))

    def check_followers(self) -> None:
        """Now and then: who has fallen behind."""
        if self.leader is not None:
            self._moved(self.leader.maybe_shrink_isr(self._elapsed_ms()))

    def settings_changed(self, settings: ReplicationSettings) -> None:
        self._moved(self._replica.settings_changed(settings, self._elapsed_ms()))

    def has_failed(self) -> None:
        """The log takes and gives nothing any more: whoever waits for it waits in vain."""
        self._tell(self._watchers)
        self._tell_of_end()

    # Leading.

    def append(
        self, batches: Sequence[Buffer], now_ms: int, *, from_client: bool = True
    ) -> Sequence[Appended | Refused]:
        """All in one write; one outcome for each batch."""
        leader = self.leader
        assert leader is not None
        outcomes = self.log.append(batches, leader_epoch=leader.leader_epoch, now_ms=now_ms, from_client=from_client)
        moved = leader.appended(self.log.log_end_offset, self._elapsed_ms())
        if moved is not None:
            self._moved(moved)
        if self._end_watchers:
            self._tell_of_end()
        return outcomes

    def follower_fetched(
        self, replica_id: int, fetch_offset: int, elapsed_ms: int, log_start_offset: int, broker_epoch: int
    ) -> None:
        """Before its answer is made: it has everything below `fetch_offset`. One reading of the clock does for all
        partitions of a fetch."""
        leader = self.leader
        assert leader is not None
        leader.log_start_offset = self.log.log_start_offset
        self._moved(leader.follower_fetched(replica_id, fetch_offset, elapsed_ms, log_start_offset, broker_epoch))

    def advance_log_start(self, offset: int) -> None:
        """DeleteRecords. Followers have to hear of it (SPEC C4)."""
        if self.log.advance_log_start(offset, high_watermark=self.high_watermark):
            self._tell(self._watchers)

    def was_flushed(self) -> None:
        """The recovery point of the log has moved. A follower's high watermark may have waited for it as well: once it
        leads, nobody would tell it again."""
        self._moved(self._replica.high_watermark)
        if self._replica.follower is not None:
            self._owner.follower_flushed(self)

    def _moved(self, high_watermark: int | None) -> None:
        leader = self.leader
        if leader is not None and leader.effects:
            self._owner.carry_out(self, leader.take_effects())
            self._tell(self._watchers)  # the ISR may have changed, which producers want to know
        if high_watermark is not None:
            self._set_high_watermark(high_watermark)

    def _set_high_watermark(self, offset: int) -> None:
        log = self.log
        offset = min(offset, log.recovery_point + log.settings.flush_messages - 1)
        if offset > self.high_watermark:
            self.high_watermark = offset
            log.producers.high_watermark_moved(offset)
            if self._watchers:
                self._tell(self._watchers)

    # Following.

    def follow(self, effects: Sequence[ReplicaEffect], now_ms: int, records: Buffer = b"") -> None:
        """Do what the follower makes of an answer, whose records these are."""
        follower = self._replica.follower
        for effect in effects:
            if follower is not None and isinstance(effect, AppendFetched):
                self.log.append_replicated(records, now_ms=now_ms)
                self.follow(follower.appended(effect.then), now_ms)
            else:
                self._do((effect,), now_ms)

    def _do(self, effects: tuple[ReplicaEffect, ...], now_ms: int) -> None:
        for effect in effects:
            match effect:
                case AssignEpoch(epoch, start_offset):
                    self.log.assign_epoch(epoch, start_offset)
                    self._tell_of_end()  # they were for another epoch
                case LeadershipLost():
                    self._tell(self._watchers)
                    self._tell_of_end()
                case TruncateTo(offset):
                    end = self.log.log_end_offset
                    self.log.truncate_to(offset, now_ms=now_ms)
                    if self.log.log_end_offset == end:  # at most an epoch without records went: nobody need hear of it
                        effects = tuple(each for each in effects if each is not effect)
                    self._after_truncation(now_ms)
                case TruncateFullyAndStartAt(offset):
                    self.log.truncate_fully_and_start_at(offset, now_ms=now_ms)
                    self._after_truncation(now_ms)
                case AdvanceLogStart(offset):
                    # What is shown may wait for our own disk.
                    self.log.advance_log_start(min(offset, self.high_watermark), high_watermark=self.high_watermark)
                case HighWatermarkMoved(_, offset):
                    self.high_watermark = min(offset, self.high_watermark)  # it may have been cut
                    self._set_high_watermark(offset)
        if effects:
            self._owner.carry_out(self, effects)

    def _after_truncation(self, now_ms: int) -> None:
        self.high_watermark = min(self.high_watermark, self.log.log_end_offset)
        self.log.producers.high_watermark_moved(self.high_watermark)  # its producers were read anew
        if self._replica.follower is not None:
            self.follow(self._replica.follower.truncated(), now_ms)

    # Reading.

    @property
    def last_stable_offset(self) -> int:
        """Never below the log start, even if an open transaction began there: who is told of an offset may read it."""
        first_unstable = self.log.producers.first_unstable_offset
        if first_unstable is None:
            return self.high_watermark
        return min(max(first_unstable, self.log.log_start_offset), self.high_watermark)

    def read(self, offset: int, max_bytes: int, *, committed_only: bool = False) -> LogSlice:
        """What a consumer may see from `offset` on: whole batches but for the last, and at least one if there is one.

        Between the high watermark and the log end there is nothing for it yet. It may well stand there: a new leader's
        high watermark is behind what the old one had committed and shown, until the followers have fetched again.
        """
        return self.log.read(
            offset, max_bytes, max_offset=self.last_stable_offset if committed_only else self.high_watermark
        )

    # Waiting.

    def watch(self, watcher: Watcher) -> None:
        self._watchers[watcher] = None

    def watch_end(self, watcher: EndWatcher) -> None:
        """For followers, who read beyond the high watermark."""
        self._end_watchers[watcher] = None

    def unwatch(self, watcher: Watcher) -> None:
        self._watchers.pop(watcher, None)
        self._end_watchers.pop(watcher, None)  # type: ignore[call-overload]  # followers are both

    @property
    def watcher_count(self) -> int:
        return len(self._watchers) + len(self._end_watchers)

    def _tell(self, watchers: dict[Watcher, None]) -> None:
        for watcher in tuple(watchers):
            watcher.partition_moved(self)

    def _tell_of_end(self) -> None:
        for watcher in tuple(self._end_watchers):
            watcher.end_moved(self)
