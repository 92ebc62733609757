"""The leader of a partition in one leader epoch: what is committed, and who is in sync.

**High watermark** (LeaderIncHighWatermark). Below it, records are on every in-sync replica: they survive any clean
election, and may be read. It is the smallest log end offset over the maximal ISR (`isr`). It also waits for followers
outside that were at the end lately and may join, or they would run after it forever. It never moves back, and it
stands still while the ISR is smaller than `min.insync.replicas`: what the last replica standing commits by itself is
gone with its page cache (KIP-966).

**One epoch.** A leader object lives for one leader epoch. The next begins with no knowledge of its followers, and
requests that carry another epoch are refused: both are what makes the high watermark true (Kip320.tla).

**Contract.** Every call returns the new high watermark if it moved, else None, and leaves what must be done in
`effects`, which is empty nearly always: look, and take them with `take_effects`. `appended` and `follower_fetched` are
on the hot path and allocate nothing unless something changes.

Actions have the names of the KafkaReplication specification in their docstrings.
"""

from __future__ import annotations

from collections.abc import Mapping

from strandline.model.failures import ErrorCode, Refused, check
from strandline.replication.effects import NO_BROKER_EPOCH, IsrChanged, LeaderEffect, ids
from strandline.replication.events import LeaderAndIsr, LeaderEvent
from strandline.replication.isr import BY_THE_CONTROLLER, InSyncReplicas
from strandline.replication.log_view import NO_EPOCH, UNKNOWN_OFFSET
from strandline.replication.settings import ReplicationSettings

ACKS_ALL = -1
ACKS = (0, 1, ACKS_ALL)


class Leader(InSyncReplicas):
    __slots__ = ()

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
        """BecomeLeader. `live_brokers` is a view that the broker keeps: the brokers that may join an ISR, because they
        are alive and not about to stop, with the broker epoch of each."""
        check(decision.leader == broker_id, f"{broker_id} is not the leader in: {decision}")
        check(high_watermark <= log_end_offset, f"high watermark {high_watermark} beyond log end {log_end_offset}")
        super().__init__(
            decision,
            broker_id=broker_id,
            log_end_offset=log_end_offset,
            high_watermark=high_watermark,
            live_brokers=live_brokers,
            settings=settings,
            now_ms=now_ms,
        )
        self._increment_high_watermark(now_ms)

    # The hot path.

    def appended(self, log_end_offset: int, now_ms: int) -> int | None:
        """LeaderWrite: the log now ends here."""
        self.log_end_offset = log_end_offset
        # An in-sync follower that has not got further holds the high watermark, whatever is written.
        if self._held_at <= self.high_watermark:
            return None
        return self._increment_high_watermark(now_ms)

    def follower_fetched(
        self,
        replica_id: int,
        fetch_offset: int,
        now_ms: int,
        log_start_offset: int = UNKNOWN_OFFSET,
        broker_epoch: int = NO_BROKER_EPOCH,
    ) -> int | None:
        """A follower asks for `fetch_offset`, so it has everything below. Call this before its answer is made.

        Only for fetches that `check_follower_fetch` lets pass, that do not diverge (KAFKA-13141), and that lie within
        the log: a follower whose log is not a beginning of ours has acknowledged nothing.
        """
        if fetch_offset > self.log_end_offset:
            check(False, f"{replica_id} fetches from {fetch_offset}, beyond the log end {self.log_end_offset}")
        progress = self.followers[replica_id]
        previous = progress.log_end_offset
        progress.fetched(fetch_offset, log_start_offset, self.log_end_offset, broker_epoch, now_ms)
        if not progress.counts:
            self._expand_isr(progress, now_ms)
        elif fetch_offset < self.high_watermark:
            self._shrink_isr_by_loss(progress, now_ms)
        if fetch_offset != previous:
            self._held_at = self._least_in_sync()
        return self._increment_high_watermark(now_ms)

    def _increment_high_watermark(self, now_ms: int) -> int | None:
        """LeaderIncHighWatermark."""
        offset = min(self._held_at, self.log_end_offset)
        if offset <= self.high_watermark:
            return None
        for progress in self._outside:
            if (
                progress.log_end_offset < offset
                and now_ms - progress.last_caught_up_ms <= self._settings.replica_lag_time_max_ms
                and self._is_eligible(progress)
            ):
                offset = progress.log_end_offset
        if offset <= self.high_watermark:
            return None
        self.high_watermark = offset
        return offset

    def take_effects(self) -> tuple[LeaderEffect, ...]:
        effects = tuple(self.effects)
        self.effects.clear()
        return effects

    # Slower things.

    def maybe_shrink_isr(self, now_ms: int) -> int | None:
        """LeaderShrinkIsr, every `isr_check_interval_ms`."""
        self._shrink_isr(now_ms)
        return self._increment_high_watermark(now_ms)

    def handle(self, event: LeaderEvent, now_ms: int) -> int | None:
        """The store has answered; often the high watermark can move now (KAFKA-13091)."""
        self._conclude(event, now_ms)
        return self._increment_high_watermark(now_ms)

    def assignment_changed(self, decision: LeaderAndIsr, now_ms: int) -> int | None:
        """The controller changed replicas or ISR within this epoch; its word outdates any proposal of ours."""
        check(decision.leader_epoch == self.leader_epoch, f"another epoch than {self.leader_epoch}: {decision}")
        previous_isr = self.isr
        self._assign(decision, now_ms)
        if self.isr != previous_isr:
            self.effects.append(IsrChanged(previous_isr, self.isr, self.partition_epoch, BY_THE_CONTROLLER))
        return self._increment_high_watermark(now_ms)

    def settings_changed(self, settings: ReplicationSettings, now_ms: int) -> int | None:
        self._settings = settings
        self._recount()
        return self._increment_high_watermark(now_ms)

    # What may be asked of this leader.

    def check_epoch(self, leader_epoch: int) -> None:
        """For every request that says to which epoch it believes to speak (KIP-320)."""
        if leader_epoch == self.leader_epoch or leader_epoch == NO_EPOCH:
            return
        if leader_epoch < self.leader_epoch:
            raise Refused(ErrorCode.FENCED_LEADER_EPOCH, f"epoch {leader_epoch} is over, this is {self.leader_epoch}")
        raise Refused(ErrorCode.UNKNOWN_LEADER_EPOCH, f"epoch {leader_epoch} is not known here yet")

    def check_follower_fetch(self, replica_id: int, *, leader_epoch: int, broker_epoch: int = NO_BROKER_EPOCH) -> None:
        """The epoch first (KAFKA-14078), then who it is (KAFKA-13837), then which life of it (KIP-903)."""
        self.check_epoch(leader_epoch)
        if replica_id not in self.replicas or replica_id == self.broker_id:
            unknown = ErrorCode.NOT_LEADER_OR_FOLLOWER if leader_epoch == NO_EPOCH else ErrorCode.UNKNOWN_LEADER_EPOCH
            raise Refused(unknown, f"{replica_id} is none of the other replicas of {ids(self.replicas)}")
        if NO_BROKER_EPOCH < broker_epoch < self._live_brokers.get(replica_id, NO_BROKER_EPOCH):
            raise Refused(
                ErrorCode.NOT_LEADER_OR_FOLLOWER,
                f"the fetch is from an earlier life of {replica_id}, broker epoch {broker_epoch}",
            )

    def check_append(self, acks: int) -> None:
        """Before a record is written (SPEC R8)."""
        if acks not in ACKS:
            raise Refused(ErrorCode.INVALID_REQUIRED_ACKS, f"acks={acks} is none of 0, 1 and -1")
        if self.is_fenced:
            raise Refused(ErrorCode.NOT_LEADER_OR_FOLLOWER, f"epoch {self.leader_epoch} is over")
        if acks == ACKS_ALL and self.is_under_min_isr:
            raise Refused(
                ErrorCode.NOT_ENOUGH_REPLICAS,
                f"in sync are {ids(self.isr)}, fewer than {self.min_insync_replicas} replicas",
            )

    def acknowledgement(self, end_offset: int) -> ErrorCode | None:
        """What to say to a producer with acks=all whose records end at `end_offset`; None: not yet.

        Ask when the high watermark moves and when the ISR changes.
        """
        if not self.has_enough_replicas:
            return ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND
        return ErrorCode.NONE if self.high_watermark >= end_offset else None

    def check_offsets_available(self, shown_offset: int) -> None:
        """For a client that asks where the log ends, and is shown everything below this offset: the high watermark, or
        less where that waits for a disk. A new leader's is behind what readers may have seen, until the in-sync
        followers have fetched in its epoch (KIP-207)."""
        if shown_offset < self.epoch_start_offset:
            raise Refused(
                ErrorCode.OFFSET_NOT_AVAILABLE,
                f"what is shown ends at {shown_offset}, below the start {self.epoch_start_offset} of this epoch",
            )

    def low_watermark(self, log_start_offset: int) -> int:
        """The smallest log start over this and every live replica (SPEC C4); -1 while one has not told."""
        live = (progress for replica_id, progress in self.followers.items() if replica_id in self._live_brokers)
        return min((log_start_offset, *(progress.log_start_offset for progress in live)))

    def __str__(self) -> str:
        pending = "" if self.pending is None else f" (proposed {ids(self.pending.isr)})"
        return (
            f"leader of epoch {self.leader_epoch} from {self.epoch_start_offset}: log end {self.log_end_offset},"
            f" high watermark {self.high_watermark}, isr {ids(self.isr)}{pending}"
        )
