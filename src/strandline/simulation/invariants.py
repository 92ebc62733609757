"""What must be true at every moment, each a small class that says in one sentence what is wrong, or nothing.

They look at a partition after any step that changed something about it, and know everything (`observed`). What Kafka
promises is taken at its word: with `acks=all` and `min.insync.replicas` honoured, whatever a leader has shown as
committed survives any clean election, for ever. One thing it does not promise: that a machine which loses power, with
records in its page cache alone, still has them. Such a replica is excused until it is given something to do in its
next life; the faults are chosen so that it is never the only one that has a record (docs/simulator.md).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Protocol

from strandline.simulation.observed import PartitionTruth, Replica


class Invariant(Protocol):
    name: str

    def check(self, truth: PartitionTruth) -> Iterator[str]: ...


class StrongIsr:
    """Whatever was committed is on every member of the ISR that the store has: any of them may be elected."""

    name = "StrongIsr"

    def check(self, truth: PartitionTruth) -> Iterator[str]:
        if truth.stored is None or truth.is_compacted:
            return
        for member in truth.stored.isr:
            replica = truth.replicas.get(member)
            if replica is None or replica.is_excused or replica.is_unread:
                continue
            missing = truth.lacks(replica)
            if missing is not None:
                yield f"{member} is in the isr {truth.stored.isr} and lacks {missing}, which was committed"


class FollowersOfTheEpoch:
    """Whose progress a leader counts, knows of the epoch in which it leads: whoever follows in another may have another
    log (KIP-320)."""

    name = "FollowersOfTheEpoch"

    def check(self, truth: PartitionTruth) -> Iterator[str]:
        for leader in truth.replicas.values():
            for broker_id in leader.heard_from:
                told_epoch = truth.replica(broker_id).told_epoch
                if leader.leads_in is not None and told_epoch < leader.leads_in:
                    yield (
                        f"{leader.broker_id} leads in epoch {leader.leads_in} and counts the progress of {broker_id},"
                        f" which knows of epoch {told_epoch}"
                    )


class FollowersCopy:
    """What a follower appends is in the log of whoever leads in its epoch; a leader never takes anything back."""

    name = "FollowersCopy"

    def check(self, truth: PartitionTruth) -> Iterator[str]:
        if truth.is_compacted:
            return
        leaders = {replica.leads_in: replica for replica in truth.replicas.values() if replica.leads_in is not None}
        for follower in truth.replicas.values():
            leader = leaders.get(follower.leader_epoch)
            # Of a log that was read as a whole, what is new is what it was opened with.
            if leader is None or leader is follower or follower.before_news is None:
                continue
            for batch in follower.news:
                if leader.batches.get(batch.base_offset) != batch and batch.last_offset >= leader.log_start_offset:
                    yield (
                        f"{follower.broker_id} appends {batch} in epoch {follower.leader_epoch}, which is not in the"
                        f" log of its leader, {leader.broker_id}"
                    )


class OneLeader:
    """At most one leader in an epoch; who was told of an epoch leads in no older one, in this life or the next; the
    store's never go back."""

    name = "OneLeader"

    def __init__(self) -> None:
        self._leaders: dict[tuple[PartitionTruth, int], int] = {}
        self._stored: dict[PartitionTruth, tuple[int, int]] = {}

    def check(self, truth: PartitionTruth) -> Iterator[str]:
        for replica in truth.replicas.values():
            if replica.leads_in is not None:
                leader = self._leaders.setdefault((truth, replica.leads_in), replica.broker_id)
                if leader != replica.broker_id:
                    yield f"{leader} and {replica.broker_id} both lead in epoch {replica.leads_in}"
                if replica.leads_in < replica.told_epoch:
                    yield (
                        f"{replica.broker_id} leads in epoch {replica.leads_in}, and was told of epoch"
                        f" {replica.told_epoch}"
                    )
        if truth.stored is not None:
            now = (truth.stored.leader_epoch, truth.stored_version)
            before = self._stored.get(truth, now)
            self._stored[truth] = now
            if now < before:
                yield f"the store went from epoch and version {before} back to {now}"


class LeaderInIsr:
    """The leader is in the ISR, and the ISR has nobody twice."""

    name = "LeaderInIsr"

    def check(self, truth: PartitionTruth) -> Iterator[str]:
        stored = truth.stored
        if stored is None:
            return
        if stored.leader >= 0 and stored.leader not in stored.isr:
            yield f"leader {stored.leader} is not in the isr {stored.isr}"
        if len(set(stored.isr)) != len(stored.isr):
            yield f"the isr {stored.isr} names somebody twice"


class HighWatermarkBounds:
    """Log start ≤ high watermark ≤ log end; a leader's never falls within its epoch."""

    name = "HighWatermarkBounds"

    def __init__(self) -> None:
        self._highest: dict[tuple[Replica, int], int] = {}

    def check(self, truth: PartitionTruth) -> Iterator[str]:
        for replica in truth.replicas.values():
            if not replica.is_up or replica.is_unread or replica.leader_epoch < 0:
                continue
            if not replica.high_watermark <= replica.log_end_offset:
                yield f"{replica.broker_id}: high watermark {replica.high_watermark}, log end {replica.log_end_offset}"
            if replica.leads_in is not None:
                if replica.high_watermark < replica.log_start_offset:
                    yield f"{replica.broker_id}: log start {replica.log_start_offset} beyond the high watermark"
                key = (replica, replica.leads_in)
                highest = self._highest.get(key, 0)
                self._highest[key] = max(highest, replica.high_watermark)
                if replica.high_watermark < highest:
                    yield (
                        f"leader {replica.broker_id}: high watermark fell from {highest} to {replica.high_watermark}"
                        f" in epoch {replica.leads_in}"
                    )


class CommittedStays:
    """A leader of the newest epoch has all that was ever committed, and shows nothing else in its place."""

    name = "CommittedStays"

    def check(self, truth: PartitionTruth) -> Iterator[str]:
        if truth.is_compacted or truth.stored is None:
            return
        for replica in truth.replicas.values():
            if replica.leads_in is None:
                continue
            missing = truth.lacks(replica)
            if missing is None or replica.is_excused:
                continue
            if replica.leads_in == truth.stored.leader_epoch or replica.high_watermark > missing.base_offset:
                yield f"{replica.broker_id} leads in epoch {replica.leads_in} without {missing}, which was committed"


class SameOffsetSameBatch:
    """Two replicas that have a batch of the same offset and epoch have the same."""

    name = "SameOffsetSameBatch"

    def __init__(self) -> None:
        self._known: dict[tuple[PartitionTruth, int, int], tuple[int, int]] = {}

    def check(self, truth: PartitionTruth) -> Iterator[str]:
        if truth.is_compacted:
            return
        for replica in truth.replicas.values():
            for batch in replica.news:
                known = self._known.setdefault(
                    (truth, batch.base_offset, batch.leader_epoch), (batch.last_offset, batch.crc)
                )
                if known != (batch.last_offset, batch.crc):
                    yield f"{replica.broker_id} has {batch}; elsewhere it ends at {known[0]} with crc {known[1]:08x}"


class Contiguous:
    """No gap and no overlap between batches, and epochs never fall along a log."""

    name = "Contiguous"

    def check(self, truth: PartitionTruth) -> Iterator[str]:
        if truth.is_compacted:
            return
        for replica in truth.replicas.values():
            if not replica.news:
                continue
            known = replica.news if replica.before_news is None else [replica.before_news, *replica.news]
            for before, following in pairwise(known):
                if following.base_offset != before.last_offset + 1:
                    yield f"{replica.broker_id}: {before} is followed by {following}"
                if following.leader_epoch < before.leader_epoch:
                    yield f"{replica.broker_id}: the epoch falls from {before} to {following}"


ALL_INVARIANTS = (
    StrongIsr,
    OneLeader,
    FollowersOfTheEpoch,
    FollowersCopy,
    LeaderInIsr,
    HighWatermarkBounds,
    CommittedStays,
    SameOffsetSameBatch,
    Contiguous,
)
