"""How a classic group comes to its next generation.

    a member comes, goes or changes   prepare_rebalance      everybody is to join again
    all have joined, or time is up    complete_join          the generation begins; the leader gets the member list
    the leader syncs                  (in `classic_sync`)    the assignment is stored and handed out

Three timers see to it that nobody waits forever: JOIN drops members that do not come to the join, SYNC those that join
and do not sync (KAFKA-12890), SESSION those that fall silent anywhere. A member that waits for us is not silent.
"""

from __future__ import annotations

from strandline.groups.classic_group import ClassicGroup, InitialRebalance
from strandline.groups.classic_member import ClassicMember
from strandline.groups.decisions import TimerKey, TimerKind
from strandline.groups.draft import CoordinatorState, Draft
from strandline.groups.replies import JoinGroupReply, SyncGroupReply
from strandline.groups.states import MAY_BECOME, ClassicState
from strandline.model.failures import ErrorCode


def session_timer(group: ClassicGroup, member_id: str) -> TimerKey:
    return TimerKey(TimerKind.SESSION, group.group_id, member_id)


def join_timer(group: ClassicGroup) -> TimerKey:
    return TimerKey(TimerKind.JOIN, group.group_id)


def sync_timer(group: ClassicGroup) -> TimerKey:
    return TimerKey(TimerKind.SYNC, group.group_id)


def renew_session(draft: Draft, group: ClassicGroup, member: ClassicMember) -> None:
    draft.set_timer(session_timer(group, member.member_id), member.session_timeout_ms)


def rebalance_or_complete_join(state: CoordinatorState, draft: Draft, group: ClassicGroup) -> None:
    """After a change of the members."""
    if ClassicState.PREPARING_REBALANCE in MAY_BECOME[group.state]:
        prepare_rebalance(state, draft, group)
    else:
        complete_join_if_all_came(draft, group)


def prepare_rebalance(state: CoordinatorState, draft: Draft, group: ClassicGroup) -> None:
    for member in group.members.values():
        release_sync(draft, group, member, SyncGroupReply(error_code=ErrorCode.REBALANCE_IN_PROGRESS))
        if group.state is ClassicState.COMPLETING_REBALANCE:
            member.assignment = b""
    group.pending_sync_members.clear()
    draft.cancel_timer(sync_timer(group))
    if group.state is ClassicState.EMPTY:
        delay_ms = state.settings.group_initial_rebalance_delay_ms
        group.initial_rebalance = InitialRebalance(delay_ms, max(group.rebalance_timeout_ms - delay_ms, 0))
        group.become(ClassicState.PREPARING_REBALANCE, draft.now_ms)
        draft.set_timer(join_timer(group), delay_ms)
        return
    group.become(ClassicState.PREPARING_REBALANCE, draft.now_ms)
    if group.all_joined:
        complete_join(draft, group)
    else:
        draft.set_timer(join_timer(group), group.rebalance_timeout_ms)


def complete_join_if_all_came(draft: Draft, group: ClassicGroup) -> None:
    if (
        group.state is ClassicState.PREPARING_REBALANCE
        and group.initial_rebalance is None  # it always waits for its timer
        and group.all_joined
    ):
        complete_join(draft, group)


def join_timer_fired(state: CoordinatorState, draft: Draft, group: ClassicGroup) -> None:
    if group.state is not ClassicState.PREPARING_REBALANCE:
        return
    initial = group.initial_rebalance
    if initial is None or not initial.member_added or initial.remaining_ms == 0:
        complete_join(draft, group)
        return
    # More came in the meantime, and more may follow.
    delay_ms = min(state.settings.group_initial_rebalance_delay_ms, initial.remaining_ms)
    group.initial_rebalance = InitialRebalance(delay_ms, max(initial.remaining_ms - initial.delay_ms, 0))
    draft.set_timer(join_timer(group), delay_ms)


def complete_join(draft: Draft, group: ClassicGroup) -> None:
    draft.cancel_timer(join_timer(group))
    # Static members are given until their session ends: they are away for a restart, not gone (KIP-345).
    for member in [member for member in group.members.values() if member.join_ticket is None and not member.is_static]:
        remove_member(draft, group, member)
    if group.members and not group.elect_leader():
        draft.set_timer(join_timer(group), group.rebalance_timeout_ms)
        return
    group.start_generation(draft.now_ms)
    if group.is_empty:
        draft.append(group.to_store({}, draft.now_ms))
        return
    for member in group.members.values():
        renew_session(draft, group, member)
        member.is_new = False
        release_join(draft, member, joined_reply(group, member.member_id))
    draft.set_timer(sync_timer(group), group.rebalance_timeout_ms)


def joined_reply(group: ClassicGroup, member_id: str) -> JoinGroupReply:
    """Only the leader is told the members, for it assigns."""
    members = group.members.values() if group.is_leader(member_id) else ()
    return JoinGroupReply(
        member_id=member_id,
        generation=group.generation,
        protocol_type=group.protocol_type,
        protocol=group.protocol,
        leader=group.leader_id or "",
        members=tuple(member.joined(group.protocol) for member in members),
    )


def release_join(draft: Draft, member: ClassicMember, reply: JoinGroupReply) -> None:
    draft.release(member.join_ticket, reply)
    member.join_ticket = None


def release_sync(draft: Draft, group: ClassicGroup, member: ClassicMember, reply: SyncGroupReply) -> None:
    if member.sync_ticket is None:
        return
    draft.release(member.sync_ticket, reply)
    member.sync_ticket = None
    # The session may have run out unheeded while the member waited.
    renew_session(draft, group, member)


def remove_member(draft: Draft, group: ClassicGroup, member: ClassicMember) -> None:
    """Should its client be alive after all, it hears that it is a stranger, and joins anew."""
    release_join(draft, member, JoinGroupReply(error_code=ErrorCode.UNKNOWN_MEMBER_ID))
    release_sync(draft, group, member, SyncGroupReply(error_code=ErrorCode.UNKNOWN_MEMBER_ID))
    draft.cancel_timer(session_timer(group, member.member_id))
    group.remove(member.member_id)


def remove_pending_member(state: CoordinatorState, draft: Draft, group: ClassicGroup, member_id: str) -> None:
    draft.cancel_timer(session_timer(group, member_id))
    group.remove(member_id)
    complete_join_if_all_came(draft, group)
    forget_if_nothing_remains(state, group)


def forget_if_nothing_remains(state: CoordinatorState, group: ClassicGroup) -> None:
    """A group that never was more than ids given out leaves no trace."""
    if group.is_simple and not group.is_stored and not state.offsets.has_any(group.group_id):
        del state.groups[group.group_id]


def session_timer_fired(state: CoordinatorState, draft: Draft, group: ClassicGroup, member_id: str) -> None:
    if member_id in group.pending_members:
        remove_pending_member(state, draft, group, member_id)
        return
    member = group.members.get(member_id)
    if member is not None and not member.is_excused:
        remove_member(draft, group, member)
        rebalance_or_complete_join(state, draft, group)


def sync_timer_fired(state: CoordinatorState, draft: Draft, group: ClassicGroup) -> None:
    late = [group.members[member_id] for member_id in group.pending_sync_members]
    if late:
        for member in late:
            remove_member(draft, group, member)
        prepare_rebalance(state, draft, group)


def load_group(state: CoordinatorState, draft: Draft, group: ClassicGroup) -> None:
    """Every member has a whole session to find its new coordinator."""
    for member in group.members.values():
        renew_session(draft, group, member)
    if len(group.members) > state.settings.group_max_size:
        # The limit was lowered: in the rebalance the last to come find the group full.
        prepare_rebalance(state, draft, group)


def resign_group(draft: Draft, group: ClassicGroup) -> None:
    for member in group.members.values():
        draft.release(member.join_ticket, JoinGroupReply(error_code=ErrorCode.NOT_COORDINATOR))
        draft.release(member.sync_ticket, SyncGroupReply(error_code=ErrorCode.NOT_COORDINATOR))
