"""Safeguards that can be switched off, in tests alone, and what the simulator then finds: does the net catch fish?

Each is one rule without which a replicated log loses records, shows what is not committed, writes twice or stands
still; most are bugs that Apache Kafka, or this project, once had. `python -m tests.simulation.hunt` looks for the first
seed that finds each of them; one that was found has its seed here, and is found again by every `make test`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import pytest

from strandline.broker import controller_office, controller_writes, follower_fetches, isr_changes
from strandline.broker.controller_fence import ControllerFence
from strandline.broker.controller_loop import ControllerLoop
from strandline.broker.controller_office import Office
from strandline.broker.fetch_answers import partition_of
from strandline.broker.follower_fetches import FollowerFetches
from strandline.broker.handlers import fetch, produce
from strandline.broker.partition import Partition
from strandline.broker.replica_fetcher import ReplicaFetcher
from strandline.broker.replicas import Replicas
from strandline.broker.session_keeper import SessionKeeper
from strandline.controller import rules
from strandline.log import filesystem, producer_state, segment_recovery
from strandline.log.checkpoints import RECOVERY_POINT_CHECKPOINT
from strandline.log.directory_opening import DirectoryOpening
from strandline.log.flush import FlushWork
from strandline.log.leader_epochs import LeaderEpochs
from strandline.log.log_directory import LogDirectory
from strandline.log.log_follower import LogFollower
from strandline.log.producer_entry import ProducerEntry
from strandline.log.producer_state import ProducerState
from strandline.log.recovery import _Opening
from strandline.log.segment import Segment
from strandline.metadata.operations import Check, SetData
from strandline.metadata.values import decode_partition_state
from strandline.model.failures import ErrorCode, Refused
from strandline.model.partitions import TopicPartition
from strandline.records.heads import head_of
from strandline.replication.effects import Adopt, AppendFetched, HighWatermarkMoved
from strandline.replication.events import IsrRefused
from strandline.replication.follower import Follower, FollowerState
from strandline.replication.isr import UNBOUNDED, InSyncReplicas
from strandline.replication.leader import Leader
from strandline.replication.replica import Replica
from strandline.replication.requests import Fetch
from strandline.simulation.disk import SimulatedDisk
from strandline.simulation.machine import MachineHost
from strandline.simulation.options import RECORDS
from strandline.wire.messages.fetch import PartitionData

Patch = pytest.MonkeyPatch


class Mutation(NamedTuple):
    name: str
    switch_off: Callable[[Patch], object]
    faults: tuple[str, ...]  # that bring it to light soonest
    invariant: str = ""  # that noticed, where it has been seen to
    seed: int = 0  # with which it did when this was written; docs/proof.md has the first from 1 on
    load: tuple[str, ...] = (RECORDS,)


def replaced(owner: Any, name: str, value: Any) -> Callable[[Patch], object]:
    return lambda patch: patch.setattr(owner, name, value)


def nothing(*_: Any, **__: Any) -> None:
    return None


def always(*_: Any, **__: Any) -> bool:
    return True


def truncate_by_high_watermark(patch: Patch) -> None:
    original = Replica.__init__

    def init(self: Replica, **given: Any) -> None:
        original(self, **given | {"uses_leader_epochs": False})

    patch.setattr(Replica, "__init__", init)


def join_without_epoch_start(patch: Patch) -> None:
    patch.setattr(
        InSyncReplicas, "_has_reached_commits", lambda self, progress: progress.log_end_offset >= self.high_watermark
    )


def forget_proposals(patch: Patch) -> None:
    """Nor does the high watermark wait for those who may join, which comes to nearly the same."""

    def increment(self: Leader, _: int) -> int | None:
        offset = min(self._held_at, self.log_end_offset)
        if offset <= self.high_watermark:
            return None
        self.high_watermark = offset
        return offset

    patch.setattr(InSyncReplicas, "maximal_isr", property(lambda self: self.isr))
    patch.setattr(Leader, "_increment_high_watermark", increment)


def note_fetches_by_the_wall(patch: Patch) -> None:
    original = Partition.follower_fetched

    def fetched(self: Partition, replica_id: int, fetch_offset: int, _: int, *rest: int) -> None:
        elapsed_ms = self._elapsed_ms.__self__.now_ms()  # type: ignore[attr-defined]
        original(self, replica_id, fetch_offset, elapsed_ms, *rest)

    patch.setattr(Partition, "follower_fetched", fetched)


def follow_with_any_high_watermark(patch: Patch) -> None:
    def set_high_watermark(self: Follower, offset: int) -> tuple[HighWatermarkMoved, ...]:
        previous, self.high_watermark = self.high_watermark, offset
        return (HighWatermarkMoved(previous, offset),)

    patch.setattr(Follower, "_set_high_watermark", set_high_watermark)


def accept_any_controller(patch: Patch) -> None:
    def check(self: ControllerFence, controller_id: int, controller_epoch: int, _: int) -> ErrorCode:
        self.controller_id, self.controller_epoch = controller_id, controller_epoch
        return ErrorCode.NONE

    patch.setattr(ControllerFence, "check", check)


def obey_orders_of_any_epoch(patch: Patch) -> None:
    """Whatever leader epoch they are about, and whoever gives them: a newer controller may have been heard."""
    check, decide = ControllerFence.check, Replicas._decide

    def check_newest(self: ControllerFence, controller_id: int, controller_epoch: int, broker_epoch: int) -> ErrorCode:
        return check(self, controller_id, max(controller_epoch, self.controller_epoch), broker_epoch)

    def decide_anew(self: Replicas, topic: Any, state: Any) -> ErrorCode:
        partition = self._partitions.find(TopicPartition(topic.topic_name, state.partition_index))
        if partition is not None and state.leader_epoch < partition.leader_epoch:
            partition._replica.stop()
            partition._replica.leader_epoch = partition._replica._partition_epoch = -1
        return decide(self, topic, state)

    patch.setattr(ControllerFence, "check", check_newest)
    patch.setattr(Replicas, "_decide", decide_anew)


def write_isr_unconditionally(patch: Patch) -> None:
    class Unconditional:
        def __init__(self, session: Any) -> None:
            self._session = session

        def __getattr__(self, name: str) -> Any:
            return getattr(self._session, name)

        def set(self, path: str, data: bytes, version: int = 0) -> Any:  # noqa: ARG002
            return self._session.set(path, data)

    class AnyEpoch(int):
        """It is the leader epoch that one hopes for."""

        def __ne__(self, _: object) -> bool:
            return False

    begin = isr_changes.IsrChanges.__init__

    def init(self: Any, session: Any, *rest: Any) -> None:
        begin(self, Unconditional(session), *rest)

    def decode(*given: Any) -> Any:
        state = decode_partition_state(*given)
        return replace(state, leader_epoch=AnyEpoch(state.leader_epoch))

    patch.setattr(isr_changes.IsrChanges, "__init__", init)
    patch.setattr(isr_changes, "decode_partition_state", decode)


def write_leaderships_unconditionally(patch: Patch) -> None:
    patch.setattr(controller_writes, "SetData", lambda path, data, *_: SetData(path, data))


def write_in_any_controller_epoch(patch: Patch) -> None:
    """Whoever was the controller writes on as long as its session lives."""
    patch.setattr(controller_writes, "Check", lambda path, *_: Check(path))


def step_before_in_charge(patch: Patch) -> None:
    def step(self: Any, event: Any) -> None:
        if self._reads.is_open:
            self._carry_out(self.controller.step(event, self._host.now_ms()))

    patch.setattr(Office, "step", step)


def read_beyond_high_watermark(patch: Patch) -> None:
    patch.setattr(Partition, "read", lambda self, offset, max_bytes, **_: self.log.read(offset, max_bytes))


def refuse_beyond_high_watermark(patch: Patch) -> None:
    original = Partition.read

    def read(self: Partition, offset: int, max_bytes: int, *, committed_only: bool = False) -> Any:
        if offset > self.high_watermark:
            raise Refused(ErrorCode.OFFSET_OUT_OF_RANGE, "beyond the high watermark")
        return original(self, offset, max_bytes, committed_only=committed_only)

    patch.setattr(Partition, "read", read)


def elect_anybody(patch: Patch) -> None:
    original = rules.replace_missing_leader

    def replace_missing_leader(situation: Any, current: Any) -> Any:
        return original(situation._replace(may_be_unclean=True), current)

    patch.setattr(rules, "replace_missing_leader", replace_missing_leader)


def unknown_is_refused(patch: Patch) -> None:
    patch.setattr(isr_changes, "IsrUnknown", lambda change, _: IsrRefused(change, ErrorCode.UNKNOWN_SERVER_ERROR))


def always_clean(patch: Patch) -> None:
    original = DirectoryOpening.take_clean_shutdown_marker

    def take(self: DirectoryOpening) -> bool:
        original(self)
        return True

    patch.setattr(DirectoryOpening, "take_clean_shutdown_marker", take)


def rename_before_sync(patch: Patch) -> None:
    """A file that is written anew gets its name before its bytes are on the disk (KAFKA-9892)."""
    original = filesystem.write_whole
    patch.setattr(filesystem, "write_whole", lambda *given, sync=False: original(*given))  # noqa: ARG005


def ask_once(patch: Patch) -> None:
    original = ReplicaFetcher._soon
    patch.setattr(ReplicaFetcher, "_soon", lambda self, delay_ms=0: original(self, delay_ms) if delay_ms == 0 else None)


def never_diverge(patch: Patch) -> None:
    patch.setattr(fetch, "diverging_epoch", nothing)
    patch.setattr(follower_fetches, "diverging_epoch", nothing)


def fetch_before_asking(patch: Patch) -> None:
    """As Kafka's followers since KIP-595. Here one asks first where its log parts from the leader's, so that no fetch
    diverges: what is wrong about one that does shows where nobody asks."""

    def begin(self: Follower) -> tuple[()]:
        if self.leader >= 0:
            self.state = FollowerState.FETCHING
        return ()

    patch.setattr(Follower, "begin", begin)


def never_reconcile(patch: Patch) -> None:
    """Before its first fetch of an epoch a follower asks where its log parts from the leader's; fetches say so too."""
    fetch_before_asking(patch)
    never_diverge(patch)


def count_diverging_fetches(patch: Patch) -> None:
    """As progress, though what lies below their offset is not what the leader has (KAFKA-13141)."""
    fetch_before_asking(patch)
    original = FollowerFetches._look_at

    def look_at(self: FollowerFetches, followed: Any, attention: Any, replica: Any, asked_ms: Any, *rest: Any) -> Any:
        data = original(self, followed, attention, replica, asked_ms, *rest)
        if data is not None and data.diverging_epoch.epoch >= 0 and asked_ms is not None:
            partition, offset = partition_of(self._partitions, followed), followed.fetch_offset
            if partition.log.log_start_offset <= offset <= partition.log.log_end_offset:
                progress = (replica.replica_id, offset, asked_ms, followed.log_start_offset, replica.replica_epoch)
                partition.follower_fetched(*progress)
        return data

    patch.setattr(FollowerFetches, "_look_at", look_at)


def follow_before_truncation(patch: Patch) -> None:
    """The high watermark of an answer that says that the logs diverge is taken at once, and the log is cut a moment
    later (KAFKA-14704)."""
    fetch_before_asking(patch)
    original = Follower.fetch_answered

    def fetch_answered(self: Follower, request: Any, answer: Any, now_ms: int) -> Any:
        if answer.diverging is None or not self.still_asks(request):
            return original(self, request, answer, now_ms)
        self.state = FollowerState.RECONCILING
        return self._set_high_watermark(answer.high_watermark)

    patch.setattr(Follower, "fetch_answered", fetch_answered)


def take_late_answers(patch: Patch) -> None:
    """Of whomever, whatever the follower asks by now. Each check alone is enough: on one connection answers come in the
    order of requests, and of a leader that is followed no more nobody listens to the answer."""
    ever: WeakKeyDictionary[ReplicaFetcher, dict[Any, Partition]] = WeakKeyDictionary()
    follow = ReplicaFetcher.follow

    def follow_for_ever(self: ReplicaFetcher, partition: Partition) -> None:
        ever.setdefault(self, {})[partition.topic_id, partition.name.partition] = partition
        follow(self, partition)

    def fetched(self: ReplicaFetcher, key: Any, data: PartitionData) -> None:
        partition, request = ever[self][key], self._asked.get(key)
        asks = None if partition.follower is None else partition.follower._next_request()
        is_late = not (isinstance(asks, Fetch) and request is not None and request.asks_the_same_as(asks))
        if key in self._partitions and not is_late:
            original(self, key, data)
        elif partition.follower is not None and not data.error_code and data.diverging_epoch.epoch < 0:
            assert isinstance(data.records, bytes | memoryview)
            adopt = Adopt(data.high_watermark, data.log_start_offset)
            self._carry_out(partition, (AppendFetched(adopt),), data.records)

    original = ReplicaFetcher._fetched_partition
    patch.setattr(ReplicaFetcher, "follow", follow_for_ever)
    patch.setattr(ReplicaFetcher, "_fetched_partition", fetched)


def trust_the_lost(patch: Patch) -> None:
    """Who was away and has lost records stays in the ISR: the controller takes it out, and the leader would."""
    keep_the_dead_in_the_isr(patch)
    patch.setattr(InSyncReplicas, "_shrink_isr_by_loss", nothing)


def keep_the_dead_in_the_isr(patch: Patch) -> None:
    patch.setattr(rules, "shrink_isr", nothing)


def trust_the_restarted(patch: Patch) -> None:
    patch.setattr(controller_office, "restarted_since", lambda *_: frozenset())


def keep_epochs(patch: Patch) -> None:
    patch.setattr(LeaderEpochs, "truncate_from_end", lambda *_: False)


def assign_no_epoch(patch: Patch) -> None:
    patch.setattr(LeaderEpochs, "assign", lambda *_: False)


def commit_with_too_few(patch: Patch) -> None:
    def least_in_sync(self: InSyncReplicas) -> int:
        return min((progress.log_end_offset for progress in self._counted), default=UNBOUNDED)

    patch.setattr(InSyncReplicas, "_least_in_sync", least_in_sync)


def take_any_sequence(patch: Patch) -> None:
    """A leader believes its clients as a follower believes its leader."""

    def begin_anew(entry: ProducerEntry, _: int, sequence: int, __: bool) -> None:
        if entry.has_begun_anew(sequence):
            entry.batches.clear()

    patch.setattr(producer_state, "refuse_unless_next", begin_anew)


def keep_producers(patch: Patch) -> None:
    """Of records that are truncated."""
    original = LogFollower._truncate_to

    def truncate_to(self: LogFollower, offset: int, now_ms: int) -> None:
        producers, self.producers = self.producers, ProducerState()
        original(self, offset, now_ms)
        self.producers = producers

    patch.setattr(LogFollower, "_truncate_to", truncate_to)


def know_own_producers_alone(patch: Patch) -> None:
    original = ProducerState.accept

    def accept(self: ProducerState, head: Any, *, from_client: bool, **given: Any) -> Any:
        return original(self, head, from_client=True, **given) if from_client else None

    patch.setattr(ProducerState, "accept", accept)


def finish_without_time(patch: Patch) -> None:
    def finish(self: Segment) -> None:
        self.offset_index.trim()
        self.time_index.trim()
        self.is_preallocated = False

    patch.setattr(Segment, "finish", finish)


def flush_by_opening(patch: Patch) -> None:
    original = LogDirectory._load

    def load(self: LogDirectory, *given: Any) -> None:
        original(self, *given)
        ends = {partition: log.log_end_offset for partition, log in self.logs.items()}
        self.checkpoints.write(RECOVERY_POINT_CHECKPOINT, ends)

    patch.setattr(LogDirectory, "_load", load)


def count_old_epochs(patch: Patch) -> None:
    """What followers had acknowledged to another leader, or to the same in another epoch, is taken for granted."""
    original = Leader.__init__

    def init(self: Leader, decision: Any, **given: Any) -> None:
        original(self, decision, **given)
        for progress in self.followers.values():
            progress.log_end_offset = self.log_end_offset
        self._recount()

    patch.setattr(Leader, "__init__", init)


ZOMBIES = ("pause", "cut_off", "cut_from_store", "ring")
DEATHS = ("kill", "kill_all", "kill_amid_files")
ELECTIONS = ("kill", "pause", "cut_off", "stop")
STORE = ("sever_session", "expire_session", "cut_from_store", "slow_network")
POWER = ("lose_power", "kill_amid_files")

MUTATIONS = (
    Mutation("truncate by high watermark, not by epoch", truncate_by_high_watermark, ELECTIONS, "StrongIsr", 1),
    Mutation(
        "leaders take fetches of any epoch",
        replaced(Leader, "check_epoch", nothing),
        (*ZOMBIES, "stop"),
        "FollowersOfTheEpoch",
        21,
    ),
    Mutation(
        "a follower joins the ISR at once",
        replaced(InSyncReplicas, "_has_reached_commits", always),
        ELECTIONS,
        "StrongIsr",
        5,
    ),
    Mutation("a follower joins below the epoch's start", join_without_epoch_start, ("die_at_commit",), "StrongIsr", 15),
    Mutation("a proposed ISR does not count", forget_proposals, ("slow_store", "kill", "pause"), "StrongIsr", 69),
    Mutation("nobody looks whether logs diverge", never_reconcile, ELECTIONS, "ShownIsCommitted", 1),
    Mutation("a fetch that diverges counts as progress", count_diverging_fetches, ("cut_off",), "StrongIsr", 56),
    Mutation(
        "the high watermark is advanced by a fetch that diverges",
        follow_before_truncation,
        ELECTIONS,
        "ShownIsCommitted",
        1,
    ),
    Mutation(
        "a follower believes any high watermark", follow_with_any_high_watermark, ELECTIONS, "HighWatermarkBounds", 4
    ),
    Mutation(
        "progress of an older epoch counts",
        count_old_epochs,
        ("die_at_commit", "kill", "stop"),
        "FollowersOfTheEpoch",
        1,
    ),
    Mutation(
        "acks=all is answered by the leader alone",
        replaced(produce, "ALL_IN_SYNC", 99),
        ELECTIONS,
        "AcknowledgedStays",
        1,
    ),
    Mutation("every controller is obeyed", accept_any_controller, ("zombie", "kill"), "NewestController", 3),
    Mutation("orders of any epoch are obeyed", obey_orders_of_any_epoch, ("zombie", "kill"), "OneLeader", 3),
    Mutation(
        "the ISR is written whatever its version",
        write_isr_unconditionally,
        (*ZOMBIES, "slow_network"),
        "OneController",
        3,
    ),
    Mutation("leaderships are written whatever their version", write_leaderships_unconditionally, STORE, "Progress", 8),
    Mutation(
        "who was the controller writes on",
        write_in_any_controller_epoch,
        ("depose",),
        "OneController",
        1,
        load=("deletions",),
    ),
    Mutation("a controller acts before it has read", step_before_in_charge, ("kill_all",), "StrongIsr", 15),
    Mutation("consumers read beyond the high watermark", read_beyond_high_watermark, ELECTIONS, "ReadsAreTrue", 1),
    Mutation(
        "consumers are refused beyond the high watermark", refuse_beyond_high_watermark, ELECTIONS, "ReadsAreTrue", 3
    ),
    Mutation("anybody may be elected", elect_anybody, (*DEATHS, "cut_off"), "StrongIsr", 1),
    Mutation(
        "an unknown outcome is a refusal", unknown_is_refused, ("lose_answer", "lag_follower", "kill"), "Progress", 12
    ),
    Mutation("every stop was clean", always_clean, POWER, "FlushedSurvives", 10),
    Mutation(
        "a file has its name before its bytes are synced",
        rename_before_sync,
        ("lose_power",),
        "Unforeseen",  # a broker cannot read what it needs to start
        6,
        load=("flushes",),
    ),
    Mutation(
        "names of files are not synced",
        replaced(SimulatedDisk, "sync_directory", nothing),
        ("lose_power",),
        "StrongIsr",
        1,
        load=("flushes",),
    ),
    Mutation("a restarted leader leads on", trust_the_restarted, DEATHS, "HighWatermarkBounds", 10),
    Mutation("late answers are taken", take_late_answers, (*ELECTIONS, "slow_sending", "slow_network"), "Progress", 5),
    Mutation(
        "repeated batches are not known",
        replaced(ProducerState, "find_duplicate", nothing),
        ELECTIONS,
        "RepeatsAreKnown",
        1,
    ),
    Mutation(
        "sequences are not checked",
        take_any_sequence,
        ("slow_client",),
        "OnceAndInOrder",
        3,
    ),
    Mutation("epochs survive their records", keep_epochs, ELECTIONS, "Progress", 3),
    Mutation("a leader's epoch has no beginning", assign_no_epoch, ELECTIONS, "EpochsAreTrue", 1),
    Mutation("recovery looks at nothing", replaced(_Opening, "recover", nothing), ("rot",), "IndexesAreTrue", 3),
    Mutation(
        "recovery compares no checksums",
        replaced(segment_recovery, "verified_head_of", head_of),
        ("rot",),
        "IndexesAreTrue",
        3,
    ),
    Mutation(
        "an expired session is not replaced", replaced(SessionKeeper, "_begin_anew", nothing), STORE, "Progress", 1
    ),
    Mutation(
        "lost watches are not set again",
        replaced(ControllerLoop, "connected_again", nothing),
        (*STORE, "kill"),
        "Progress",
        14,
    ),
    Mutation("a fetcher that failed does not ask again", ask_once, (*ZOMBIES, *DEATHS), "Progress", 2),
    Mutation(
        "how long goes by the clock on the wall",
        replaced(MachineHost, "elapsed_ms", MachineHost.now_ms),
        ("set_clock", "lag_follower", "kill"),
        invariant="Progress",
        seed=23,
    ),
    Mutation(
        "leaders note fetches by the clock on the wall",
        note_fetches_by_the_wall,
        ("lag_follower", "kill"),
        invariant="Progress",
        seed=3,
    ),
    Mutation(
        "nobody leaves the ISR by lagging",
        replaced(InSyncReplicas, "_shrink_isr", nothing),
        ("lag_follower",),
        "Progress",
        1,
    ),
    Mutation("nobody joins the ISR again", replaced(InSyncReplicas, "_expand_isr", nothing), ELECTIONS, "Progress", 1),
    Mutation("the dead stay in the ISR", keep_the_dead_in_the_isr, (*POWER, *DEATHS), "StrongIsr", 9),
    Mutation("who has lost records stays in the ISR", trust_the_lost, POWER, "StrongIsr", 2),
    Mutation("too few commit", commit_with_too_few, ELECTIONS, "EnoughToCommit", 1),
    Mutation("producers survive their records", keep_producers, ELECTIONS, "ProducersAreTrue", 1),
    Mutation("a follower knows no producers", know_own_producers_alone, ELECTIONS, "ProducersAreTrue", 1),
    Mutation("a closed segment does not tell its last time", finish_without_time, ELECTIONS, "IndexesAreTrue", 1),
    Mutation(
        "what nobody has synced counts as flushed", replaced(FlushWork, "run", nothing), ELECTIONS, "FlushedSurvives", 1
    ),
    Mutation("what was recovered counts as flushed", flush_by_opening, POWER, "SameWhenOpenedAgain", 1),
)


def named(name: str) -> Mutation:
    return next(each for each in MUTATIONS if each.name == name)
