"""Safeguards of transactions, groups, topics and cleaning that can be switched off, as in `mutations`: each with the
load under which it shows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from tests.simulation.mutations import (
    DEATHS,
    ELECTIONS,
    MUTATIONS,
    ZOMBIES,
    Mutation,
    Patch,
    always,
    nothing,
    replaced,
)

from strandline.broker import led_groups, led_transactions
from strandline.broker.commit_queue import CommitQueue
from strandline.broker.follower_fetches import FollowerFetches
from strandline.broker.handlers import list_offsets
from strandline.broker.housekeeping import retention_rounds
from strandline.broker.housekeeping.log_cleaner import LogCleaner
from strandline.broker.led_transactions import Written
from strandline.broker.marker_sending import MarkerSender
from strandline.broker.partition import Partition
from strandline.broker.store_reads import StoreReads
from strandline.broker.transaction_gate import TransactionGate
from strandline.broker.transactional_produce import ProduceInTransactions
from strandline.broker.turn import Turn
from strandline.client.offsets import EARLIEST
from strandline.controller import deletion
from strandline.controller.states import ReplicaState
from strandline.groups import classic_sync, reconciliation
from strandline.groups import shard as group_shard
from strandline.groups.classic_group import ClassicGroup
from strandline.groups.consumer_group import ConsumerGroup
from strandline.groups.consumer_leave import consumer_timer_fired
from strandline.groups.decisions import TimerKey, TimerKind
from strandline.groups.offsets import NO_PRODUCER_ID, Offsets
from strandline.log import lookup, names, producer_entry, producer_state, retention
from strandline.log.compaction import Compaction
from strandline.log.compaction_filter import CompactionFilter
from strandline.log.deletions import Deletions
from strandline.log.leader_epochs import LeaderEpochs
from strandline.log.log import Log
from strandline.log.log_directory import LogDirectory
from strandline.log.log_follower import LogFollower
from strandline.log.retention import RetentionPlan, Verdict, plan_retention
from strandline.log.segment_view import LogView
from strandline.model.failures import ErrorCode, Refused
from strandline.records.record import read_records
from strandline.replication.effects import NO_BROKER_EPOCH
from strandline.replication.follower import Follower
from strandline.replication.isr import InSyncReplicas
from strandline.replication.leader import Leader
from strandline.simulation.inode import FileNode
from strandline.transactions import adding, ending, shard
from strandline.transactions.commands import EndTransaction
from strandline.transactions.epochs import current_producer, refuse_unless_current
from strandline.transactions.verification_requests import ProducerSupport

TRANSACTIONS, GROUPS = ("transactions",), ("groups",)
LOOKUPS = ("records", "lookups")
COPYING = ("copying",)
CONSUMER_GROUPS = ("consumer_groups",)
CLEANED = ("transactions", "compaction")


class Instead:
    """Somebody else, who differs in a few things."""

    def __init__(self, other: Any, **differing: Any) -> None:
        self._other = other
        vars(self).update(differing)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._other, name)


class Impatient(CommitQueue):
    """Tells everybody at once that it is committed."""

    def when_committed(self, committed: Callable[[], object], failed: Callable[[Any], object]) -> None:  # noqa: ARG002
        committed()


def answer_transactions_early(patch: Patch) -> None:
    def queue(partition: Any, host: Any, timeout_ms: int | None) -> CommitQueue:
        return (CommitQueue if timeout_ms is None else Impatient)(partition, host, timeout_ms)

    patch.setattr(led_transactions, "CommitQueue", queue)


def send_markers_early(patch: Patch) -> None:
    def queue(partition: Any, host: Any, timeout_ms: int | None) -> CommitQueue:
        return (Impatient if timeout_ms is None else CommitQueue)(partition, host, timeout_ms)

    patch.setattr(led_transactions, "CommitQueue", queue)


def send_markers_once(patch: Patch) -> None:
    """Whatever becomes of them, the coordinator takes them for written."""
    original = MarkerSender._write

    async def write(self: MarkerSender, leader: int, waiting: Any) -> None:
        def surely(tell: Written) -> Written:
            return lambda event: tell(
                replace(event, results=tuple((name, ErrorCode.NONE) for name, _ in event.results))
            )

        await original(self, leader, [(marker, surely(tell)) for marker, tell in waiting])

    patch.setattr(MarkerSender, "_write", write)


def accept_old_producer_epochs(patch: Patch) -> None:
    """In the log and before it; what comes from a zombie looks like what its successor sends."""
    original = producer_state.refuse_unless_next

    def refuse(entry: Any, producer_epoch: int, sequence: int, is_transactional: bool) -> None:
        if producer_epoch >= entry.producer_epoch:
            original(entry, producer_epoch, sequence, is_transactional)

    patch.setattr(producer_state, "refuse_unless_next", refuse)
    patch.setattr(ProduceInTransactions, "asks_for", lambda *_: False)


def coordinate_for_anybody(patch: Patch) -> None:
    """Whoever it is that asks, it may as long as nothing else is in the way."""

    def accept(transaction: Any, producer: Any) -> Any:
        return refuse_unless_current(transaction, producer if transaction is None else current_producer(transaction))

    patch.setattr(adding, "refuse_unless_current", accept)
    original = ending.end_transaction

    def end(state: Any, draft: Any, command: Any) -> Any:
        transaction = state.transactions.get(command.transactional_id)
        if transaction is not None:
            current = current_producer(transaction)
            command = replace(command, producer_id=current.producer_id, producer_epoch=current.producer_epoch)
        return original(state, draft, command)

    patch.setitem(shard.HANDLERS, EndTransaction, end)


def read_everything(patch: Patch) -> None:
    patch.setattr(Partition, "last_stable_offset", property(lambda self: self.high_watermark))


def hide_nothing_but_what_is_open(patch: Patch) -> None:
    """Transactions that have ended are shown before their markers are committed."""

    def last_stable_offset(self: Partition) -> int:
        first_unstable = self.log.producers.first_unstable_offset
        return self.log.log_end_offset if first_unstable is None else first_unstable

    patch.setattr(Partition, "last_stable_offset", property(last_stable_offset))


def verify_nothing(patch: Patch) -> None:
    """KIP-890: a batch that comes late begins a transaction that nobody ends."""
    patch.setattr(ProduceInTransactions, "asks_for", lambda _, support: support is ProducerSupport.EPOCH_BUMPS)


def keep_tokens(patch: Patch) -> None:
    """A yes of the coordinator's counts though the marker has come before it (KAFKA-14884)."""
    patch.setattr(TransactionGate, "written", nothing)


def count_offsets_at_once(patch: Patch) -> None:
    original = Offsets.apply

    def apply(self: Offsets, key: Any, value: Any, record_offset: int, _: int) -> None:
        original(self, key, value, record_offset, NO_PRODUCER_ID)

    patch.setattr(Offsets, "apply", apply)


def drop_markers(patch: Patch) -> None:
    """As if their keys were keys (KAFKA-14055)."""
    patch.setattr(CompactionFilter, "_apply_to_control", nothing)


def forget_deletions_at_once(patch: Patch) -> None:
    """Whoever is a moment behind never hears that a key was deleted (KAFKA-8522)."""
    original = CompactionFilter.__init__

    def init(self: CompactionFilter, *rest: Any, **given: Any) -> None:
        original(self, *rest, **given | {"delete_retention_ms": 0})

    patch.setattr(CompactionFilter, "__init__", init)


def delete_beyond_high_watermark(patch: Patch) -> None:
    def plan(log: Log, *, now_ms: int, high_watermark: int) -> Any:  # noqa: ARG001
        return plan_retention(log, now_ms=now_ms, high_watermark=log.log_end_offset)

    patch.setattr(retention_rounds, "plan_retention", plan)


def delete_all_that_is_committed(patch: Patch) -> None:
    """Whatever the settings."""

    def plan(log: Log, *, now_ms: int, high_watermark: int) -> Any:
        def everything(view: LogView) -> Iterator[Verdict]:
            return (Verdict(True, "it is committed") for _ in view.segments)

        return plan_retention(log, now_ms=now_ms, high_watermark=high_watermark, policies=(everything,))

    patch.setattr(retention_rounds, "plan_retention", plan)


def begin_at_high_watermark(patch: Patch) -> None:
    """As if that were where the leader's log begins."""
    original = Follower.fetch_answered

    def answered(self: Follower, request: Any, answer: Any, now_ms: int) -> Any:
        return original(self, request, answer._replace(log_start_offset=answer.high_watermark), now_ms)

    patch.setattr(Follower, "fetch_answered", answered)


def keep_deletions(patch: Patch) -> None:
    original = CompactionFilter.__init__

    def init(self: CompactionFilter, *rest: Any, **given: Any) -> None:
        original(self, *rest, **given | {"delete_retention_ms": 1 << 50})

    patch.setattr(CompactionFilter, "__init__", init)


def clean_beyond_high_watermark(patch: Patch) -> None:
    """KAFKA-13194: what is not committed takes the place of what is."""
    original = LogCleaner._judge

    def judge(self: LogCleaner, partition: Any, directory: LogDirectory) -> Any:
        end = partition.log.log_end_offset
        ahead = Instead(partition, high_watermark=end, last_stable_offset=end)
        return original(self, ahead, directory)  # type: ignore[arg-type]

    patch.setattr(LogCleaner, "_judge", judge)


def clean_what_is_undecided(patch: Patch) -> None:
    """What an open transaction has written takes the place of what is committed, and may be aborted yet. The bound is
    drawn twice, by what the broker shows and by what the log knows of its producers: each is enough."""
    judge, plan = LogCleaner._judge, Compaction.plan.__func__  # type: ignore[attr-defined]

    def judge_all(self: LogCleaner, partition: Any, directory: LogDirectory) -> Any:
        return judge(self, Instead(partition, last_stable_offset=partition.high_watermark), directory)  # type: ignore[arg-type]

    def plan_all(cls: type[Compaction], log: Any, *rest: Any, **given: Any) -> Any:
        producers = Instead(log.producers, first_undecided_offset=None)
        return plan(cls, Instead(log, producers=producers), *rest, **given)

    patch.setattr(LogCleaner, "_judge", judge_all)
    patch.setattr(Compaction, "plan", classmethod(plan_all))


def all_at_once(patch: Patch) -> None:
    """The controller's requests go on in the middle of one another."""

    async def take(_: Turn, do: Callable[[], Any]) -> Any:
        return await do()

    patch.setattr(Turn, "take", take)


def free_names_early(patch: Patch) -> None:
    """A topic's name is free before its last replica is gone, and a folder belongs to whoever has its name. Each of the
    two is enough: nobody who was away finds another topic under its name, and who does would see it by the id."""
    original = deletion.delete_replica

    def delete(draft: Any, partition: Any, broker_id: int) -> None:
        original(draft, partition, broker_id)
        if partition.replicas[broker_id] is ReplicaState.DELETION_INELIGIBLE:
            partition.replicas[broker_id] = ReplicaState.DELETION_SUCCESSFUL

    patch.setattr(deletion, "delete_replica", delete)
    patch.setattr(LogDirectory, "claim", always)


def insist_at_once(patch: Patch) -> None:
    """A write of unknown outcome is tried again without a pause."""

    async def no_pause(_: StoreReads) -> None:
        pass

    patch.setattr(StoreReads, "pause", no_pause)


def find_batches(patch: Patch) -> None:
    """The first record of a batch stands for all of it."""

    def first_alone(data: Any, limit: int) -> Any:
        first, *others = read_records(data, limit)
        return [first._replace(timestamp=max(record.timestamp for record in (first, *others)))]

    patch.setattr(lookup, "read_records", first_alone)


def deny_where_the_log_begins(patch: Patch) -> None:
    original = Partition.read

    def read(self: Partition, offset: int, max_bytes: int, *, committed_only: bool = False) -> Any:
        if offset <= self.log.log_start_offset:
            raise Refused(ErrorCode.OFFSET_OUT_OF_RANGE, "before the first that is left")
        return original(self, offset, max_bytes, committed_only=committed_only)

    patch.setattr(Partition, "read", read)


def tell_of_deleted_records(patch: Patch) -> None:
    original = list_offsets._find

    def find(partition: Partition, timestamp: int, limit: int, found: Any, *, is_consumer: bool) -> None:
        original(partition, timestamp, limit, found, is_consumer=is_consumer)
        if timestamp == EARLIEST:
            found.offset = 0

    patch.setattr(list_offsets, "_find", find)


def hand_out_one_assignment(patch: Patch) -> None:
    """Everybody gets what the leader of the group has for itself."""
    original = classic_sync._hand_out

    def hand_out(draft: Any, group: ClassicGroup, assignments: dict[str, bytes]) -> None:
        own = next((assignments[member] for member in assignments if group.is_leader(member)), b"")
        original(draft, group, dict.fromkeys(group.members, own))

    patch.setattr(classic_sync, "_hand_out", hand_out)


def load_as_an_error(patch: Patch) -> None:
    """A coordinator that has only just come says that something is wrong with it."""

    class Misnamed:
        COORDINATOR_LOAD_IN_PROGRESS = ErrorCode.UNKNOWN_SERVER_ERROR

        def __getattr__(self, name: str) -> Any:
            return getattr(ErrorCode, name)

    patch.setattr(led_groups, "ErrorCode", Misnamed())


def take_any_marker(patch: Patch) -> None:
    """Of whatever coordinator and producer epoch. Each is enough where a producer has an epoch for each transaction."""
    patch.setattr(producer_state, "refuse_fenced_marker", nothing)


def take_offsets_of_any_member(patch: Patch) -> None:
    """In transactions, of whatever generation: a zombie's count beside those of who has its partitions (KIP-447)."""
    original = ClassicGroup.check_commit

    def check(self: ClassicGroup, *member: Any, is_transactional: bool) -> None:
        if not is_transactional:
            original(self, *member, is_transactional=False)

    patch.setattr(ClassicGroup, "check_commit", check)


def give_away_what_is_owned(patch: Patch) -> None:
    """Partitions of a consumer group go to their next owner at once (KIP-848)."""
    original = reconciliation._step

    def step(member: Any, target_epoch: int, target: Any, _: Any, owned: Any) -> Any:
        return original(member, target_epoch, target, {}, owned)

    patch.setattr(reconciliation, "_step", step)


def never_fire(kind: TimerKind) -> Callable[[Patch], object]:
    """Of the timers of consumer groups."""
    original = consumer_timer_fired

    def fired(state: Any, draft: Any, group: Any, key: TimerKey) -> None:
        if key.kind is not kind:
            original(state, draft, group, key)

    return replaced(group_shard, "consumer_timer_fired", fired)


def trust_every_life(patch: Patch) -> None:
    """What a broker said before it was started again counts (KIP-903). Each of three is enough: such a fetch is
    refused, or it does not bring its sender into the ISR, or the ISR is not written."""

    def check(_: FollowerFetches, partition: Partition, followed: Any, replica: Any) -> Leader:
        partition.check_leader()
        assert partition.leader is not None
        partition.leader.check_follower_fetch(replica.replica_id, leader_epoch=followed.current_leader_epoch)
        return partition.leader

    patch.setattr(FollowerFetches, "_check_follower", check)
    patch.setattr(InSyncReplicas, "_is_eligible", always)
    patch.setattr(InSyncReplicas, "_broker_epoch", lambda *_: NO_BROKER_EPOCH)


LOAD_MUTATIONS = (
    Mutation(
        "the last batch of a producer alone is remembered",
        replaced(producer_entry, "BATCHES_REMEMBERED", 1),
        ("slow_client", "slow_network"),
        "ProducersAreTrue",
        1,
    ),
    Mutation(
        "a transaction's end is told before it is committed",
        answer_transactions_early,
        ELECTIONS,
        invariant="ZombiesAreFenced",
        seed=5,
        load=TRANSACTIONS,
    ),
    Mutation(
        "markers are sent before the end is committed",
        send_markers_early,
        ELECTIONS,
        invariant="WholeTransactions",
        seed=102,
        load=TRANSACTIONS,
    ),
    Mutation(
        "markers are not sent again after a fail-over",
        replaced(shard, "resume", nothing),
        DEATHS,
        invariant="Progress",
        seed=2,
        load=TRANSACTIONS,
    ),
    Mutation(
        "every marker counts as written",
        send_markers_once,
        (*DEATHS, *ZOMBIES),
        invariant="OffsetsInTransactions",
        seed=14,
        load=TRANSACTIONS,
    ),
    Mutation(
        "old producer epochs may write",
        accept_old_producer_epochs,
        ZOMBIES,
        invariant="WholeTransactions",
        seed=1,
        load=TRANSACTIONS,
    ),
    Mutation(
        "the coordinator asks for no epoch",
        coordinate_for_anybody,
        ZOMBIES,
        invariant="ZombiesAreFenced",
        seed=2,
        load=TRANSACTIONS,
    ),
    Mutation(
        "read_committed reads up to the high watermark",
        read_everything,
        ELECTIONS,
        invariant="LastStableOffset",
        seed=1,
        load=TRANSACTIONS,
    ),
    Mutation(
        "read_committed reads beyond the high watermark",
        hide_nothing_but_what_is_open,
        ELECTIONS,
        invariant="LastStableOffset",
        seed=1,
        load=TRANSACTIONS,
    ),
    Mutation(
        "nobody is told what was aborted",
        replaced(Log, "aborted_transactions_in", lambda *_: []),
        ELECTIONS,
        invariant="ReadCommitted",
        seed=1,
        load=TRANSACTIONS,
    ),
    Mutation(
        "no batch is verified",
        verify_nothing,
        (*ZOMBIES, "slow_network"),
        invariant="WholeTransactions",
        seed=1,
        load=TRANSACTIONS,
    ),
    Mutation(
        "a marker leaves what was verified",
        keep_tokens,
        (*ZOMBIES, "slow_network"),
        invariant="WholeTransactions",
        seed=65,
        load=TRANSACTIONS,
    ),
    Mutation(
        "offsets count before their transaction's end",
        count_offsets_at_once,
        ELECTIONS,
        invariant="OffsetsInTransactions",
        seed=2,
        load=TRANSACTIONS,
    ),
    Mutation(
        "markers of any epoch are taken",
        take_any_marker,
        ("old_markers",),
        invariant="WholeTransactions",
        seed=1,
        load=TRANSACTIONS,
    ),
    Mutation("markers are compacted away", drop_markers, ELECTIONS, invariant="LastStableOffset", seed=3, load=CLEANED),
    Mutation(
        "offsets are acknowledged before they are replicated",
        replaced(led_groups, "CommitQueue", Impatient),
        DEATHS,
        invariant="CommitsStay",
        seed=12,
        load=GROUPS,
    ),
    Mutation(
        "members of any generation commit",
        replaced(ClassicGroup, "check_commit", nothing),
        ELECTIONS,
        invariant="CommitsAreFenced",
        seed=2,
        load=GROUPS,
    ),
    Mutation(
        "a member that is silent is not missed",
        replaced(group_shard, "session_timer_fired", nothing),
        ELECTIONS,
        invariant="Progress",
        seed=1,
        load=GROUPS,
    ),
    Mutation(
        "a member that joins and never syncs is waited for",  # KAFKA-12890
        replaced(group_shard, "sync_timer_fired", nothing),
        ELECTIONS,
        invariant="Progress",
        seed=4,
        load=GROUPS,
    ),
    Mutation(
        "members of any generation commit in transactions",
        take_offsets_of_any_member,
        ELECTIONS,
        invariant="CommitsAreFenced",
        seed=1,
        load=COPYING,
    ),
    Mutation(
        "who takes over a partition does not wait for its open transaction",
        replaced(Offsets, "is_pending", lambda *_: False),
        ELECTIONS,
        invariant="CopiedOnce",
        seed=3,
        load=COPYING,
    ),
    Mutation(
        "a partition of a consumer group is given away before it is let go",
        give_away_what_is_owned,
        ELECTIONS,
        invariant="OneOwner",
        seed=1,
        load=CONSUMER_GROUPS,
    ),
    Mutation(
        "members of any epoch commit",
        replaced(ConsumerGroup, "check_commit", nothing),
        ELECTIONS,
        invariant="CommitsAreFenced",
        seed=3,
        load=CONSUMER_GROUPS,
    ),
    Mutation(
        "a member of a consumer group that is silent is not missed",
        never_fire(TimerKind.SESSION),
        ELECTIONS,
        invariant="Progress",
        seed=1,
        load=CONSUMER_GROUPS,
    ),
    Mutation(
        "who does not let go of a partition is waited for",
        never_fire(TimerKind.REVOCATION),
        ELECTIONS,
        invariant="Progress",
        seed=3,
        load=CONSUMER_GROUPS,
    ),
    Mutation(
        "records go before they are committed",
        delete_beyond_high_watermark,
        ZOMBIES,
        invariant="LogStartGoesUp",
        seed=2,
        load=("retention",),
    ),
    Mutation(
        "all that is committed goes",
        delete_all_that_is_committed,
        ELECTIONS,
        invariant="DeletedWasDue",
        seed=1,
        load=("retention",),
    ),
    Mutation(
        "records of any age go",
        replaced(retention, "_by_age", lambda *_: Verdict(True, "it is old")),
        ELECTIONS,
        invariant="DeletedWasDue",
        seed=1,
        load=("retention",),
    ),
    Mutation(
        "a follower's log begins where all is committed",
        begin_at_high_watermark,
        ELECTIONS,
        invariant="DeletedWasDue",
        seed=1,
        load=("retention",),
    ),
    Mutation(
        "nothing is too much or too old",
        replaced(retention_rounds, "plan_retention", lambda *_, **__: RetentionPlan(())),
        ELECTIONS,
        invariant="Progress",
        seed=1,
        load=("retention",),
    ),
    Mutation(
        "the cleaner never begins",
        replaced(LogCleaner, "begin", nothing),
        ELECTIONS,
        invariant="Progress",
        seed=1,
        load=("compaction",),
    ),
    Mutation(
        "tombstones stay for ever",
        keep_deletions,
        ELECTIONS,
        invariant="TombstonesGo",
        seed=1,
        load=("compaction",),
    ),
    Mutation(
        "a producer's last batch is cleaned away",
        replaced(CompactionFilter, "_is_last_of_producer", lambda *_: False),
        ELECTIONS,
        invariant="LastBatchesStay",
        seed=1,
        load=("compaction",),
    ),
    Mutation(
        "what comes in place of what was cut counts as cleaned",
        replaced(LogDirectory, "_count_as_dirty", nothing),
        DEATHS,
        invariant="TombstonesGo",
        seed=15,
        load=("compaction",),
    ),
    Mutation(
        "records are cleaned before they are committed",
        clean_beyond_high_watermark,
        ZOMBIES,
        invariant="LastValues",
        seed=2,
        load=("compaction",),
    ),
    Mutation(
        "what is undecided is cleaned",
        clean_what_is_undecided,
        ZOMBIES,
        invariant="LastValues",
        seed=1,
        load=CLEANED,
    ),
    Mutation(
        "tombstones go at once",
        forget_deletions_at_once,
        ELECTIONS,
        invariant="LastValues",
        seed=1,
        load=("compaction",),
    ),
    Mutation(
        "a folder belongs to whoever has its name, which is free early",
        free_names_early,
        DEATHS,
        invariant="FollowersOfTheEpoch",
        seed=5,
        load=("deletions",),
    ),
    Mutation(
        "orders of the controller are carried out at once",
        all_at_once,
        ("slow_disk", "depose"),
        invariant="HighWatermarkBounds",  # of two logs over the files of one replica one lacks what the other has
        seed=8,
        load=("deletions",),
    ),
    Mutation(
        "a follower has what its disk has not",
        replaced(Log, "must_flush", False),
        ("lose_power", "slow_disk"),
        invariant="StrongIsr",
        seed=1,
        load=("flushes",),
    ),
    Mutation(
        "what a failed sync has left in memory counts as written",
        replaced(FileNode, "write_again", nothing),
        ("failing_disk", "lose_power"),
        invariant="StrongIsr",
        seed=49,
        load=("flushes",),
    ),
    Mutation(
        "a new leader tells at once where its log ends",
        replaced(Leader, "check_offsets_available", nothing),
        DEATHS,
        invariant="LatestGoesUp",
        seed=2,
        load=LOOKUPS,
    ),
    Mutation(
        "what is not committed is told of",
        replaced(list_offsets, "_limit", lambda partition, *_: partition.log.log_end_offset),
        ELECTIONS,
        invariant="LatestGoesUp",
        seed=2,
        load=LOOKUPS,
    ),
    Mutation(
        "a batch is found, not a record", find_batches, ELECTIONS, invariant="FirstOfItsTime", seed=1, load=LOOKUPS
    ),
    Mutation(
        "nobody may read where the log begins",
        deny_where_the_log_begins,
        ELECTIONS,
        invariant="ListedIsRead",
        seed=1,
        load=("lookups",),
    ),
    Mutation(
        "deleted records are told of",
        tell_of_deleted_records,
        ELECTIONS,
        invariant="EarliestIsTheStart",
        seed=1,
        load=("lookups",),
    ),
    Mutation(
        "members of a group all get the same",
        hand_out_one_assignment,
        ELECTIONS,
        invariant="OneOwner",
        seed=1,
        load=GROUPS,
    ),
    Mutation(
        "a coordinator that is loading says that it has failed",
        load_as_an_error,
        ("kill", "slow_disk"),
        invariant="ExpectedErrors",
        seed=1,
        load=GROUPS,
    ),
    Mutation(
        "what a broker said in an earlier life counts",
        trust_every_life,
        ("old_life",),
        invariant="StrongIsr",
        seed=1,
    ),
    Mutation(
        "what was truncated counts as flushed",
        replaced(LogFollower, "_lower_offsets", nothing),
        ELECTIONS,
        invariant="FlushedIsThere",
        seed=1,
        load=("flushes",),
    ),
    Mutation(
        "epochs of deleted records are kept",
        replaced(LeaderEpochs, "truncate_from_start", lambda *_: False),
        ELECTIONS,
        invariant="EpochsAreTrue",
        seed=1,
        load=("retention",),
    ),
    Mutation(
        "nobody remembers what waits to be deleted",
        replaced(Deletions, "schedule", lambda _, segment, *__: segment.change_suffix(names.DELETED)),
        ELECTIONS,
        invariant="NothingLeftOver",
        seed=1,
        load=("retention",),
    ),
    Mutation(
        "the controller insists without a pause",
        insist_at_once,
        ("cut_from_store", "cut_off"),
        invariant="Progress",
        seed=1,
        load=("deletions",),
    ),
)

ALL_MUTATIONS = (*MUTATIONS, *LOAD_MUTATIONS)
