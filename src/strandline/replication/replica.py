"""One replica of a partition: leader in one epoch, follower in the next, told by the controller (BecomeLeader,
BecomeFollower).

What it keeps from one role to the other is the high watermark, which lies within its log. Everything else begins anew
with each leader epoch, also where the same broker goes on leading: what followers had acknowledged before may have been
cut since.

The controller's word may be lost, repeated and late. An older leader epoch or partition epoch than we have seen is
ignored; the same again changes nothing. One thing is asked of it: a leader that was restarted leads again in a new
epoch only. In the old one it may have changed the ISR after the controller last saw it, and would now trust a smaller
one.
"""

from __future__ import annotations

from collections.abc import Mapping

from strandline.replication.effects import (
    AssignEpoch,
    FollowLeader,
    HighWatermarkMoved,
    Ignored,
    LeadershipLost,
    ReplicaEffect,
)
from strandline.replication.events import LeaderAndIsr
from strandline.replication.follower import Follower
from strandline.replication.leader import Leader
from strandline.replication.log_view import NO_EPOCH, LogView
from strandline.replication.settings import ReplicationSettings

Effects = tuple[ReplicaEffect, ...]


class Replica:
    __slots__ = (
        "_high_watermark",
        "_live_brokers",
        "_log",
        "_partition_epoch",
        "_uses_leader_epochs",
        "broker_id",
        "follower",
        "leader",
        "leader_epoch",
        "settings",
    )

    def __init__(
        self,
        *,
        broker_id: int,
        log: LogView,
        high_watermark: int,
        live_brokers: Mapping[int, int],
        settings: ReplicationSettings,
        uses_leader_epochs: bool = True,
    ) -> None:
        """`high_watermark` is the checkpoint's, which knows nothing of what happened to the log since."""
        self.broker_id = broker_id
        self.leader: Leader | None = None  # at most one of these two
        self.follower: Follower | None = None
        self.leader_epoch = NO_EPOCH
        self._partition_epoch = -1
        self._high_watermark = high_watermark
        self._log = log
        self._live_brokers = live_brokers
        self.settings = settings
        self._uses_leader_epochs = uses_leader_epochs

    @property
    def high_watermark(self) -> int:
        role = self.leader or self.follower
        return self._within_log(self._high_watermark) if role is None else role.high_watermark

    @property
    def partition_epoch(self) -> int:
        return self._partition_epoch if self.leader is None else self.leader.partition_epoch

    def decide(self, decision: LeaderAndIsr, now_ms: int) -> Effects:
        """Do as the controller says, unless it said something newer before."""
        if decision.leader_epoch < self.leader_epoch:
            return (Ignored(f"epoch {decision.leader_epoch} is over, this is {self.leader_epoch}"),)
        if decision.partition_epoch < self.partition_epoch:
            return (Ignored(f"version {decision.partition_epoch} is older than {self.partition_epoch}"),)
        previous = self.high_watermark
        is_new_epoch = decision.leader_epoch > self.leader_epoch
        effects = self._begin_epoch(decision, now_ms) if is_new_epoch else self._again(decision, now_ms)
        if self.high_watermark != previous:
            effects += (HighWatermarkMoved(previous, self.high_watermark),)
        return effects

    def _begin_epoch(self, decision: LeaderAndIsr, now_ms: int) -> Effects:
        leads = decision.leader == self.broker_id
        # Whoever goes on leading still has the records that producers wait for: they may go on waiting.
        lost = self.stop()
        self.leader_epoch = decision.leader_epoch
        self._partition_epoch = decision.partition_epoch
        return self._become_leader(decision, now_ms) if leads else lost + self._become_follower(decision)

    def stop(self) -> Effects:
        """The broker no longer has this replica, or cannot use it."""
        lost = () if self.leader is None else (LeadershipLost(self.leader_epoch),)
        self._high_watermark = self.high_watermark
        self.leader = self.follower = None
        return lost

    def settings_changed(self, settings: ReplicationSettings, now_ms: int) -> int | None:
        """The new high watermark if it moved."""
        self.settings = settings
        return None if self.leader is None else self.leader.settings_changed(settings, now_ms)

    def _again(self, decision: LeaderAndIsr, now_ms: int) -> Effects:
        if self.leader is None or decision.partition_epoch == self.partition_epoch:
            self._partition_epoch = decision.partition_epoch
            return (Ignored(f"epoch {decision.leader_epoch} has begun already"),)
        self.leader.assignment_changed(decision, now_ms)
        return self.leader.take_effects()

    def _become_leader(self, decision: LeaderAndIsr, now_ms: int) -> Effects:
        start_offset = self._log.log_end_offset
        self.leader = Leader(
            decision,
            broker_id=self.broker_id,
            log_end_offset=start_offset,
            high_watermark=self._high_watermark,
            live_brokers=self._live_brokers,
            settings=self.settings,
            now_ms=now_ms,
        )
        return (AssignEpoch(decision.leader_epoch, start_offset), *self.leader.take_effects())

    def _become_follower(self, decision: LeaderAndIsr) -> Effects:
        self.follower = Follower(
            leader=decision.leader,
            leader_epoch=decision.leader_epoch,
            log=self._log,
            high_watermark=self._high_watermark,
            settings=self.settings,
            uses_leader_epochs=self._uses_leader_epochs,
        )
        return (FollowLeader(decision.leader, decision.leader_epoch), *self.follower.begin())

    def _within_log(self, high_watermark: int) -> int:
        return max(self._log.log_start_offset, min(high_watermark, self._log.log_end_offset))

    def __str__(self) -> str:
        return f"{self.broker_id} {self.leader or self.follower or 'stopped'}"
