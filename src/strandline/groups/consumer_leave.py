"""How members leave a consumer group: by saying so, by silence, or by holding on to what they must give up."""

from __future__ import annotations

from dataclasses import replace

from strandline.groups.assignment import NOTHING
from strandline.groups.commands import LEAVE_STATIC_EPOCH, ConsumerGroupHeartbeat
from strandline.groups.consumer_changes import ConsumerGroupChanges
from strandline.groups.consumer_group import ConsumerGroup
from strandline.groups.decisions import TimerKey, TimerKind
from strandline.groups.draft import CoordinatorState, Draft
from strandline.groups.replies import ConsumerGroupHeartbeatReply
from strandline.groups.states import MemberState
from strandline.model.failures import ErrorCode, Refused


def session_timer(group_id: str, member_id: str) -> TimerKey:
    return TimerKey(TimerKind.SESSION, group_id, member_id)


def revocation_timer(group_id: str, member_id: str) -> TimerKey:
    return TimerKey(TimerKind.REVOCATION, group_id, member_id)


def leave_consumer_group(
    state: CoordinatorState, draft: Draft, command: ConsumerGroupHeartbeat
) -> ConsumerGroupHeartbeatReply:
    group = state.consumer_group(command.group)
    if group is None:
        raise Refused(ErrorCode.GROUP_ID_NOT_FOUND, f"there is no consumer group {command.group}")
    if command.instance_id is None:
        member = group.check_member(command.member_id)
    else:
        member = group.check_static_member(command.member_id, command.instance_id)
    if command.member_epoch == LEAVE_STATIC_EPOCH:
        # Its session goes on: if nobody comes back by then, it is out.
        away = replace(member, epoch=LEAVE_STATIC_EPOCH, pending_revocation=NOTHING)
        ConsumerGroupChanges(group, draft).store_assignment(away)
    else:
        put_out(state, draft, group, member.member_id)
    return ConsumerGroupHeartbeatReply(member_id=member.member_id, member_epoch=command.member_epoch)


def put_out(state: CoordinatorState, draft: Draft, group: ConsumerGroup, member_id: str) -> None:
    """What it had is free at once. The next heartbeat of anybody computes the new target."""
    changes = ConsumerGroupChanges(group, draft)
    changes.remove_member(member_id)
    if changes.group.is_empty:
        group.empty_since_ms = draft.now_ms
    changes.raise_epoch(state, subscriptions_changed=True)


def consumer_timer_fired(state: CoordinatorState, draft: Draft, group: ConsumerGroup, key: TimerKey) -> None:
    """Timers are never cancelled, so that nothing is amiss if the records that end their cause are not appended.

    Whether the cause is still there shows when they fire.
    """
    member = group.members.get(key.member_id)
    if member is None:
        return
    if key.kind is TimerKind.SESSION or member.state is MemberState.UNREVOKED_PARTITIONS:
        put_out(state, draft, group, key.member_id)


def load_consumer_group(state: CoordinatorState, draft: Draft, group: ConsumerGroup) -> None:
    """Every member has a whole session to find its new coordinator, and its whole time to give up partitions."""
    if group.is_empty:
        group.empty_since_ms = draft.now_ms
    for member_id, member in group.members.items():
        draft.set_timer(session_timer(group.group_id, member_id), state.settings.group_consumer_session_timeout_ms)
        if member.state is MemberState.UNREVOKED_PARTITIONS:
            draft.set_timer(revocation_timer(group.group_id, member_id), member.rebalance_timeout_ms)
