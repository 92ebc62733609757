"""The in-sync replicas as their leader keeps them: who is in, who may come in, who must leave, what is under way.

**Leaving** (LeaderShrinkIsr): a follower that has not been at the leader's end for `replica.lag.time.max.ms`, one that
asks for a record which is committed already and so has lost it, and one that is no replica.

**Joining** (LeaderExpandIsr): a follower that has reached the high watermark *and* the offset where this epoch began.
The second is the one that matters after an election: a new leader's high watermark is behind the true one, and only
what it held when it was elected is sure to contain everything that was ever acknowledged (KAFKA-7128).

**One change at a time.** The ISR is what the store says. The leader proposes, and until it knows how that ended both
the committed and the proposed ISR count: together they are the *maximal ISR*, over which the high watermark is taken,
so that it is right in either case (AsyncIsr.tla). A proposal whose end is unknown is looked up; if it is not in the
store it may still be on its way, so the same is proposed again and never another.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

from strandline.model.failures import check
from strandline.replication.effects import (
    NO_BROKER_EPOCH,
    AlterIsr,
    Fenced,
    IsrChanged,
    LeaderEffect,
    ReadPartitionState,
    ids,
)
from strandline.replication.events import (
    IsrCommitted,
    IsrRefused,
    IsrUnknown,
    LeaderAndIsr,
    LeaderEvent,
    PartitionStateRead,
)
from strandline.replication.log_view import UNKNOWN_OFFSET
from strandline.replication.progress import NEVER_MS, FollowerProgress
from strandline.replication.settings import ReplicationSettings

BY_THE_CONTROLLER = "the controller has changed it"
STANDS_STILL = -1
UNBOUNDED = 2**63


class InSyncReplicas:
    """The half of a leader that is about its followers; `leader.Leader` is the other."""

    __slots__ = (
        "_counted",
        "_held_at",
        "_live_brokers",
        "_no_proposal_before_ms",
        "_outside",
        "_settings",
        "broker_id",
        "effects",
        "epoch_start_offset",
        "followers",
        "has_enough_replicas",
        "high_watermark",
        "is_fenced",
        "is_under_min_isr",
        "isr",
        "leader_epoch",
        "log_end_offset",
        "log_start_offset",
        "partition_epoch",
        "pending",
        "replicas",
    )

    def __init__(
        self,
        decision: LeaderAndIsr,
        *,
        broker_id: int,
        log_end_offset: int,
        high_watermark: int,
        live_brokers: Mapping[int, int],
        settings: ReplicationSettings,
        now_ms: int,
    ) -> None:
        self.broker_id = broker_id
        self.leader_epoch = decision.leader_epoch
        self.epoch_start_offset = log_end_offset
        self.log_end_offset = log_end_offset
        self.log_start_offset = 0  # as of the last fetch of a follower: whoever brings one says so
        self.high_watermark = high_watermark  # <= log_end_offset; never moves back
        self.pending: AlterIsr | None = None
        self.is_fenced = False  # whether the store is known to have a newer epoch
        self.effects: list[LeaderEffect] = []
        self.followers: dict[int, FollowerProgress] = {}
        self._live_brokers = live_brokers
        self._settings = settings
        self._no_proposal_before_ms = NEVER_MS
        self._assign(decision, now_ms)

    @property
    def maximal_isr(self) -> tuple[int, ...]:
        if self.pending is None:
            return self.isr
        return self.isr + tuple(replica_id for replica_id in self.pending.isr if replica_id not in self.isr)

    @property
    def min_insync_replicas(self) -> int:
        """No more than there are replicas, or a topic could never be written to."""
        return min(self._settings.min_insync_replicas, len(self.replicas))

    # Leaving and joining.

    def _shrink_isr(self, now_ms: int) -> None:
        late = [progress for progress in self._counted if self._has_fallen_behind(progress, now_ms)]
        if late and self._may_propose(now_ms):
            causes = [progress.lag_text(self.log_end_offset, now_ms) for progress in late]
            self._propose_without({progress.replica_id for progress in late}, "; ".join(causes))

    def _has_fallen_behind(self, progress: FollowerProgress, now_ms: int) -> bool:
        return not progress.is_caught_up(self.log_end_offset, now_ms, self._settings.replica_lag_time_max_ms)

    def _shrink_isr_by_loss(self, progress: FollowerProgress, now_ms: int) -> None:
        """An in-sync replica that asks for what is committed does not have it, and must not be elected."""
        if progress.replica_id in self.isr and self._may_propose(now_ms):
            cause = (
                f"{progress.replica_id} ends at {progress.log_end_offset}, below the high watermark"
                f" {self.high_watermark}: it has lost records"
            )
            self._propose_without({progress.replica_id}, cause)

    def _expand_isr(self, progress: FollowerProgress, now_ms: int) -> None:
        if self._has_reached_commits(progress) and self._is_eligible(progress) and self._may_propose(now_ms):
            cause = (
                f"{progress.replica_id} ends at {progress.log_end_offset}, high watermark {self.high_watermark},"
                f" the epoch began at {self.epoch_start_offset}"
            )
            self._propose((*self.isr, progress.replica_id), cause)

    def _has_reached_commits(self, progress: FollowerProgress) -> bool:
        """Whether it has everything that was ever acknowledged, and nothing else. Below our log's start nobody can
        compare: a follower may have records of an epoch of which we have none left, and would be their leader."""
        begins_with_us = progress.log_start_offset >= self.log_start_offset
        reaches = progress.log_end_offset >= self.high_watermark and progress.log_end_offset >= self.epoch_start_offset
        return reaches and (begins_with_us or progress.log_start_offset == UNKNOWN_OFFSET)

    def _is_eligible(self, progress: FollowerProgress) -> bool:
        """Alive, not about to stop, and in the same life as when it fetched (KAFKA-14140, KIP-903)."""
        broker_epoch = self._live_brokers.get(progress.replica_id)
        return broker_epoch is not None and progress.broker_epoch in (NO_BROKER_EPOCH, broker_epoch)

    # Proposing.

    def _may_propose(self, now_ms: int) -> bool:
        return self.pending is None and not self.is_fenced and now_ms >= self._no_proposal_before_ms

    def _propose_without(self, leaving: set[int], cause: str) -> None:
        self._propose(tuple(replica_id for replica_id in self.isr if replica_id not in leaving), cause)

    def _propose(self, isr: tuple[int, ...], cause: str) -> None:
        self.pending = AlterIsr(
            leader_epoch=self.leader_epoch,
            partition_epoch=self.partition_epoch,
            isr=isr,
            broker_epochs=tuple(map(self._broker_epoch, isr)),
            previous_isr=self.isr,
            cause=cause,
        )
        self.effects.append(self.pending)
        self._recount()

    def _broker_epoch(self, replica_id: int) -> int:
        if replica_id == self.broker_id:
            return self._live_brokers.get(replica_id, NO_BROKER_EPOCH)
        return self.followers[replica_id].broker_epoch

    def _conclude(self, event: LeaderEvent, now_ms: int) -> None:
        """What became of the proposal. News of an older one is no news."""
        match event:
            case IsrCommitted(change, partition_epoch):
                if change == self.pending:
                    self._settle(change.isr, partition_epoch)
            case IsrRefused(change, _):
                if change == self.pending:
                    # It would be refused again, so not with every fetch.
                    self._no_proposal_before_ms = now_ms + self._settings.replica_fetch_backoff_ms
                    self._settle(self.isr, self.partition_epoch)
            case IsrUnknown(change, _):
                if change == self.pending:
                    self.effects.append(ReadPartitionState(self.leader_epoch))
            case PartitionStateRead():
                self._compare(event)
            case _ as unreachable:
                assert_never(unreachable)

    def _compare(self, read: PartitionStateRead) -> None:
        if read.leader_epoch > self.leader_epoch:
            self.is_fenced = True
            self.effects.append(Fenced(self.leader_epoch))
        elif read.partition_epoch > self.partition_epoch:
            # The version has moved, so what we proposed for the old one is in there already or never will be.
            self._settle(read.isr, read.partition_epoch)
        elif self.pending is not None:
            self.effects.append(self.pending)

    # Counting.

    def _assign(self, decision: LeaderAndIsr, now_ms: int) -> None:
        check(self.broker_id in decision.isr, f"a leader is in sync with itself: {decision}")
        self.replicas = decision.replicas
        self.isr = decision.isr
        self.partition_epoch = decision.partition_epoch
        self.pending = None
        known = self.followers
        self.followers = {
            replica_id: known.get(replica_id)
            or FollowerProgress(replica_id, in_sync=replica_id in self.isr, now_ms=now_ms)
            for replica_id in self.replicas
            if replica_id != self.broker_id
        }
        self._recount()
        strangers = set(self.isr) - set(self.replicas)
        if strangers:
            self._propose_without(strangers, f"{ids(sorted(strangers))} is no replica")

    def _settle(self, isr: tuple[int, ...], partition_epoch: int) -> None:
        previous_isr, proposed = self.isr, self.pending
        self.pending = None
        self.isr = isr
        self.partition_epoch = partition_epoch
        self._recount()
        if isr != previous_isr:
            cause = proposed.cause if proposed is not None and proposed.isr == isr else BY_THE_CONTROLLER
            self.effects.append(IsrChanged(previous_isr, isr, partition_epoch, cause))

    def _recount(self) -> None:
        maximal_isr = self.maximal_isr
        for replica_id in maximal_isr:
            # A member that is no replica can be elected until it has left, so it counts too (KAFKA-9672).
            if replica_id not in self.followers and replica_id != self.broker_id:
                self.followers[replica_id] = FollowerProgress(replica_id, in_sync=False, now_ms=NEVER_MS)
        for progress in self.followers.values():
            progress.counts = progress.replica_id in maximal_isr
        self._counted = tuple(progress for progress in self.followers.values() if progress.counts)
        self._outside = tuple(progress for progress in self.followers.values() if not progress.counts)
        self.is_under_min_isr = len(self.isr) < self.min_insync_replicas
        self.has_enough_replicas = len(maximal_isr) >= self.min_insync_replicas
        self._held_at = self._least_in_sync()

    def _least_in_sync(self) -> int:
        """How far the in-sync followers have come. With none, only the end of the log holds the high watermark."""
        if self.is_under_min_isr:
            return STANDS_STILL
        least = UNBOUNDED
        for progress in self._counted:
            if progress.log_end_offset < least:
                least = progress.log_end_offset
        return least
