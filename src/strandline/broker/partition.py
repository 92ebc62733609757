"""A partition on this broker: its log, how far it is committed, and who waits for it to go on.

    log start      last stable offset      high watermark      log end
        |  consumers read up to here (read_committed)  |  ... up to here     |

Everything below the high watermark is on every in-sync replica. A partition with one replica has committed what it
has appended, unless `flush.messages` says how much of it may be missing on the disk: then the rest waits for a flush.

Whoever waits (a long poll, acks=all, the group coordinator) is a watcher: told when the high watermark moves, or when
the partition stops being what it was. A watcher takes a note and acts later, never inside the call.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from strandline.broker.cluster_image import INTERNAL_TOPICS
from strandline.log.filesystem import Buffer
from strandline.log.log import Log
from strandline.log.log_slice import LogSlice
from strandline.log.log_writer import Appended
from strandline.model.failures import ErrorCode, Refused
from strandline.model.partitions import TopicPartition

NO_LEADER = -1


class Watcher(Protocol):
    def partition_moved(self, partition: Partition) -> None: ...


class LeadershipListener(Protocol):
    """Whoever has work to do for the partitions that this broker leads."""

    def became_leader(self, partition: Partition) -> None: ...
    def resigned(self, partition: Partition) -> None: ...


class Partition:
    __slots__ = (
        "_watchers", "broker_id", "high_watermark", "is_internal", "isr", "leader_epoch", "leader_id", "log",
        "min_insync_replicas", "name", "replicas", "topic_id",
    )  # fmt: skip

    def __init__(self, name: TopicPartition, topic_id: bytes, log: Log, broker_id: int) -> None:
        self.name = name
        self.topic_id = topic_id
        self.log = log
        self.broker_id = broker_id
        self.is_internal = name.topic in INTERNAL_TOPICS  # written by coordinators, never by a client
        self.leader_id = NO_LEADER
        self.leader_epoch = -1
        self.replicas: tuple[int, ...] = ()
        self.isr: tuple[int, ...] = ()
        self.min_insync_replicas = 1
        self.high_watermark = log.log_start_offset
        self._watchers: set[Watcher] = set()

    def become_leader(self, leader_epoch: int, replicas: tuple[int, ...], isr: tuple[int, ...]) -> None:
        self.leader_id, self.leader_epoch, self.replicas, self.isr = self.broker_id, leader_epoch, replicas, isr
        self.log.assign_epoch(leader_epoch, self.log.log_end_offset)
        self._advance()

    def resign(self) -> None:
        """It is another broker's now, or nobody's: whoever waits must look elsewhere."""
        self.leader_id = NO_LEADER
        self._tell_watchers()

    @property
    def is_leader(self) -> bool:
        return self.leader_id == self.broker_id

    def check_leader(self, current_leader_epoch: int = -1) -> None:
        """Refuse what only a leader may answer, and what a client with another epoch in mind asks (KIP-320)."""
        if self.leader_id != self.broker_id:
            raise Refused(ErrorCode.NOT_LEADER_OR_FOLLOWER, f"broker {self.broker_id} does not lead {self.name}")
        if current_leader_epoch not in (-1, self.leader_epoch):
            if current_leader_epoch < self.leader_epoch:
                raise Refused(ErrorCode.FENCED_LEADER_EPOCH, f"{self.name} is at epoch {self.leader_epoch}")
            raise Refused(ErrorCode.UNKNOWN_LEADER_EPOCH, f"{self.name} is at epoch {self.leader_epoch} still")

    # Appending.

    def append(
        self, batches: Sequence[Buffer], now_ms: int, *, from_client: bool = True
    ) -> Sequence[Appended | Refused]:
        """As leader, all in one write; one outcome for each batch."""
        outcomes = self.log.append(batches, leader_epoch=self.leader_epoch, now_ms=now_ms, from_client=from_client)
        self._advance()
        return outcomes

    def check_enough_in_sync(self) -> None:
        """Before acks=all is taken (SPEC R8)."""
        if len(self.isr) < self.min_insync_replicas:
            raise Refused(
                ErrorCode.NOT_ENOUGH_REPLICAS,
                f"{self.name} has {len(self.isr)} replicas in sync, min.insync.replicas is {self.min_insync_replicas}",
            )

    def was_flushed(self) -> None:
        """The recovery point of the log has moved."""
        self._advance()

    def has_failed(self) -> None:
        """The log takes and gives nothing any more: whoever waits for it waits in vain."""
        self._tell_watchers()

    def _advance(self) -> None:
        """The high watermark of the only replica is the end of its log."""
        log = self.log
        committed = min(log.log_end_offset, log.recovery_point + log.settings.flush_messages - 1)
        if committed > self.high_watermark:
            self.high_watermark = committed
            log.producers.high_watermark_moved(committed)
            if self._watchers:
                self._tell_watchers()

    # Reading.

    @property
    def last_stable_offset(self) -> int:
        first_unstable = self.log.producers.first_unstable_offset
        return self.high_watermark if first_unstable is None else min(first_unstable, self.high_watermark)

    def read(self, offset: int, max_bytes: int, *, committed_only: bool = False) -> LogSlice:
        """What a consumer may see from `offset` on: whole batches but for the last, and at least one if there is one.

        A consumer's position may not lie between the high watermark and the log end (SPEC R3).
        """
        high_watermark = self.high_watermark
        if not self.log.log_start_offset <= offset <= high_watermark:
            raise Refused(
                ErrorCode.OFFSET_OUT_OF_RANGE,
                f"offset {offset} of {self.name} is not within {self.log.log_start_offset} and {high_watermark}",
            )
        return self.log.read(
            offset, max_bytes, max_offset=self.last_stable_offset if committed_only else high_watermark
        )

    # Waiting.

    def watch(self, watcher: Watcher) -> None:
        self._watchers.add(watcher)

    def unwatch(self, watcher: Watcher) -> None:
        self._watchers.discard(watcher)

    @property
    def watcher_count(self) -> int:
        return len(self._watchers)

    def _tell_watchers(self) -> None:
        for watcher in tuple(self._watchers):
            watcher.partition_moved(self)
