"""The coordinator of the groups of one partition of `__consumer_offsets`.

    decision = shard.decide(command, now_ms)          what to write, answer, wait for; nothing stored changes
    for record in decision.records: shard.apply(record, offset)    the only way that stored state changes

On becoming leader the shell makes a new shard, gives every record of the partition to `apply` in order, and then calls
`loaded`; from then on the two calls above, and `timer_fired`, are all there is. On ceasing to be leader it calls
`resigned` and drops the shard. There is no undoing: what was applied and not committed is simply not in the next one.

Besides what is stored a shard knows what dies with it: requests that wait, timers, and classic rebalances in progress.
`decide` may change those.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from strandline.groups import commands
from strandline.groups.classic_group import ClassicGroup
from strandline.groups.classic_join import join_group
from strandline.groups.classic_rebalance import (
    join_timer_fired,
    load_group,
    prepare_rebalance,
    resign_group,
    session_timer_fired,
    sync_timer_fired,
)
from strandline.groups.classic_sync import heartbeat, leave_group, sync_group
from strandline.groups.commands import Command, RefusableCommand
from strandline.groups.consumer_group import ConsumerGroup
from strandline.groups.consumer_heartbeat import consumer_group_heartbeat
from strandline.groups.consumer_leave import consumer_timer_fired, load_consumer_group
from strandline.groups.decisions import Decision, Released, TimerKey, TimerKind, client_error
from strandline.groups.descriptions import describe_consumer_groups, describe_groups, list_groups
from strandline.groups.draft import CoordinatorState, Draft, Topic
from strandline.groups.expiry import delete_groups, expire, watch_expiry
from strandline.groups.offset_requests import (
    commit_offsets,
    commit_offsets_in_transaction,
    delete_offsets,
    fetch_offsets,
    forget_partitions,
)
from strandline.groups.offsets import NO_PRODUCER_ID
from strandline.groups.records import (
    ConsumerGroupMetadataKey,
    GroupMetadataKey,
    GroupMetadataValue,
    GroupRecord,
    OffsetCommitKey,
    OffsetCommitValue,
)
from strandline.groups.replies import Reply
from strandline.groups.settings import GroupSettings
from strandline.groups.states import ClassicState, check_transition
from strandline.model.coordinator_timers import Timer
from strandline.model.failures import BrokenInvariant, ErrorCode, Refused

RETRY_MS = 500
Handler = Callable[[CoordinatorState, Draft, Any], Reply | None]
HANDLERS: dict[type[Command], Handler] = {
    commands.JoinGroup: join_group,
    commands.SyncGroup: sync_group,
    commands.Heartbeat: heartbeat,
    commands.LeaveGroup: leave_group,
    commands.OffsetCommit: commit_offsets,
    commands.TransactionalOffsetCommit: commit_offsets_in_transaction,
    commands.OffsetFetch: fetch_offsets,
    commands.OffsetDelete: delete_offsets,
    commands.DeleteGroups: delete_groups,
    commands.PartitionsDeleted: forget_partitions,
    commands.DescribeGroups: describe_groups,
    commands.ListGroups: list_groups,
    commands.ConsumerGroupHeartbeat: consumer_group_heartbeat,
    commands.ConsumerGroupDescribe: describe_consumer_groups,
}


class GroupShard:
    __slots__ = ("_state",)

    def __init__(self, settings: GroupSettings) -> None:
        self._state = CoordinatorState(settings)

    def topics_changed(self, topics: Mapping[str, Topic]) -> None:
        """What topics there are, by name. Consumer groups take note with their next heartbeat."""
        self._state.topics = topics
        self._state.topics_version += 1

    def settings_changed(self, settings: GroupSettings) -> None:
        self._state.settings = settings

    def loaded(self, now_ms: int) -> Decision:
        """All records are applied; time begins."""
        draft = Draft(self._state, now_ms)
        for group in self._state.groups.values():
            if isinstance(group, ClassicGroup):
                load_group(self._state, draft, group)
            else:
                load_consumer_group(self._state, draft, group)
        watch_expiry(self._state, draft)
        return draft.decision(None)

    def decide(self, command: Command, now_ms: int) -> Decision:
        draft = Draft(self._state, now_ms)
        try:
            reply = HANDLERS[type(command)](self._state, draft, command)
        except Refused as refusal:
            if not isinstance(command, RefusableCommand):
                raise
            return Decision(reply=command.refused(refusal))
        return draft.decision(reply)

    def not_appended(
        self, decision: Decision, cause: Command | TimerKey, append_error: ErrorCode, now_ms: int
    ) -> Decision:
        """The decision to go on with when the log took no record: whoever would have had a reply gets an error.

        Members come again and find what is stored as it was. A timer that was the cause fires again.
        """
        is_commit = isinstance(cause, commands.OffsetCommit | commands.TransactionalOffsetCommit)
        error_code = client_error(append_error, is_commit=is_commit)
        reply, timers = decision.reply, decision.timers
        if isinstance(cause, RefusableCommand) and reply is not None:
            reply = cause.refused(Refused(error_code, "the log took no record"))
        if isinstance(cause, TimerKey):
            retry = Timer(cause, now_ms + RETRY_MS)
            self._state.timers[cause] = now_ms + RETRY_MS
            timers = (*(timer for timer in timers if timer.key != cause), retry)
        elif isinstance(cause, commands.SyncGroup):
            timers = (*timers, *self._not_handed_out(cause.group, now_ms).timers)
        released = tuple(Released(ticket, type(answer)(error_code=error_code)) for ticket, answer in decision.released)
        return replace(decision, records=(), reply=reply, released=released, timers=timers)

    def _not_handed_out(self, group_id: str, now_ms: int) -> Decision:
        """Whoever waited for the assignment has heard. Who syncs after the leader would wait for it in vain: all are to
        join again, as in Kafka."""
        draft, group = Draft(self._state, now_ms), self._state.groups[group_id]
        assert isinstance(group, ClassicGroup)
        prepare_rebalance(self._state, draft, group)
        return draft.decision(None)

    def timer_fired(self, key: TimerKey, now_ms: int) -> Decision:
        """A timer that is not set, or not for now, is an echo of an older one, and means nothing."""
        draft = Draft(self._state, now_ms)
        at_ms = self._state.timers.get(key)
        if at_ms is None or at_ms > now_ms:
            return draft.decision(None)
        del self._state.timers[key]
        group = self._state.groups.get(key.group)
        if key.kind is TimerKind.EXPIRY:
            expire(self._state, draft)
        elif isinstance(group, ConsumerGroup):
            consumer_timer_fired(self._state, draft, group, key)
        elif group is not None:
            self._classic_timer_fired(draft, group, key)
        return draft.decision(None)

    def _classic_timer_fired(self, draft: Draft, group: ClassicGroup, key: TimerKey) -> None:
        match key.kind:
            case TimerKind.SESSION:
                session_timer_fired(self._state, draft, group, key.member_id)
            case TimerKind.JOIN:
                join_timer_fired(self._state, draft, group)
            case TimerKind.SYNC:
                sync_timer_fired(self._state, draft, group)

    def resigned(self, now_ms: int) -> Decision:
        """Whoever waits is sent to look for the new coordinator."""
        draft = Draft(self._state, now_ms)
        for group in self._state.groups.values():
            if isinstance(group, ClassicGroup):
                resign_group(draft, group)
        return draft.decision(None)

    def apply(self, record: GroupRecord, record_offset: int, producer_id: int = NO_PRODUCER_ID) -> None:
        """`producer_id` is that of a transactional batch; its offsets count from `transaction_ended` on."""
        match record.key, record.value:
            case OffsetCommitKey() as key, (OffsetCommitValue() | None) as offset:
                self._state.offsets.apply(key, offset, record_offset, producer_id)
                if offset is not None and key.group not in self._state.groups:
                    self._state.groups[key.group] = ClassicGroup(key.group)
            case GroupMetadataKey(group=group_id), (GroupMetadataValue() | None) as group:
                self._apply_classic_group(group_id, group)
            case ((OffsetCommitKey() | GroupMetadataKey()), _):
                raise BrokenInvariant(f"{record} has another's value")
            case _:
                self._apply_to_consumer_group(record)

    def transaction_ended(self, producer_id: int, *, committed: bool) -> None:
        """A commit or abort marker of this producer is in the log."""
        self._state.offsets.end_transaction(producer_id, committed=committed)

    def _apply_classic_group(self, group_id: str, value: GroupMetadataValue | None) -> None:
        previous = self._state.classic_group(group_id)
        if value is not None:
            self._state.groups[group_id] = ClassicGroup.restored(group_id, value, previous)
        elif previous is not None:
            check_transition(group_id, previous.state, ClassicState.DEAD)
            self._remove_group(group_id)

    def _remove_group(self, group_id: str) -> None:
        """Offsets it leaves behind, as when it changes its protocol, must have a group to expire with."""
        del self._state.groups[group_id]
        if self._state.offsets.has_any(group_id):
            self._state.groups[group_id] = ClassicGroup(group_id)

    def _apply_to_consumer_group(self, record: GroupRecord) -> None:
        groups, group_id = self._state.groups, record.key.group
        group = groups.get(group_id)
        # Offsets alone made a group without members; in a compacted log they may lie before the group itself.
        is_room = group is None or (isinstance(group, ClassicGroup) and group.is_simple and not group.is_stored)
        if is_room and record.value is not None:
            group = groups[group_id] = ConsumerGroup(group_id)
        if not isinstance(group, ConsumerGroup):
            return
        if isinstance(record.key, ConsumerGroupMetadataKey) and record.value is None:
            self._remove_group(group_id)
        else:
            group.apply(record)
