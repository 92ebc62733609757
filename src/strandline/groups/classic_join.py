"""JoinGroup: a member comes to a classic group, or comes again.

A member that names itself gets in by its id; one without an id is new, or a static member (KIP-345) back from a
restart, which takes its own place under a new id and fences whoever still uses the old one. A new dynamic member first
only gets an id, and joins with it (KIP-394): otherwise every retry of a client whose reply was lost would leave a
ghost in the group.
"""

from __future__ import annotations

from dataclasses import replace

from strandline.groups.classic_group import ClassicGroup
from strandline.groups.classic_member import ClassicMember, rebalance_timeout_ms
from strandline.groups.classic_rebalance import (
    complete_join_if_all_came,
    joined_reply,
    prepare_rebalance,
    rebalance_or_complete_join,
    release_join,
    release_sync,
    remove_member,
    renew_session,
    session_timer,
)
from strandline.groups.commands import JoinGroup
from strandline.groups.draft import CoordinatorState, Draft
from strandline.groups.replies import JoinGroupReply, SyncGroupReply
from strandline.groups.settings import NEW_MEMBER_JOIN_TIMEOUT_MS, GroupSettings
from strandline.groups.states import ClassicState
from strandline.model.coordinators import check_storable
from strandline.model.failures import ErrorCode, Refused


def join_group(state: CoordinatorState, draft: Draft, command: JoinGroup) -> JoinGroupReply | None:
    """The reply, or None where the request is parked."""
    _check_command(state.settings, command)
    group = _group_to_join(state, draft, command)
    if not _has_room(state.settings, group, command.member_id):
        return _turn_away(draft, group, command.member_id)
    if not group.supports(command.protocol_type, command.protocols):
        raise Refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "the member and the group have no protocol in common")
    if command.member_id:
        return _join_known(state, draft, group, command)
    return _join_unknown(state, draft, group, command)


def _check_command(settings: GroupSettings, command: JoinGroup) -> None:
    if not command.group:
        raise Refused(ErrorCode.INVALID_GROUP_ID, "a group must have a name")
    low_ms, high_ms = settings.group_min_session_timeout_ms, settings.group_max_session_timeout_ms
    if not low_ms <= command.session_timeout_ms <= high_ms:
        raise Refused(
            ErrorCode.INVALID_SESSION_TIMEOUT,
            f"a session of {command.session_timeout_ms} ms is not within {low_ms} and {high_ms} ms",
        )
    names = (entry.name for entry in command.protocols)
    check_storable(command.group, command.client_host, command.protocol_type, *names)
    # An id is made of these.
    check_storable(f"{command.group_instance_id}-{command.unique_id}", f"{command.client_id}-{command.unique_id}")


def _group_to_join(state: CoordinatorState, draft: Draft, command: JoinGroup) -> ClassicGroup:
    group = state.groups.get(command.group)
    if isinstance(group, ClassicGroup):
        return group
    if command.member_id:
        raise Refused(ErrorCode.UNKNOWN_MEMBER_ID, f"there is no classic group {command.group}")
    if group is not None:
        if not group.is_empty:
            raise Refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "the group's members use the consumer protocol")
        draft.append(*group.tombstones())
    return ClassicGroup(command.group)  # becomes known with its first member


def _has_room(settings: GroupSettings, group: ClassicGroup, member_id: str) -> bool:
    member = group.members.get(member_id)
    if group.state is ClassicState.EMPTY:
        return True
    if group.state is ClassicState.PREPARING_REBALANCE:
        # Those that came, not those that were: so a group that is too large shrinks by its last comers.
        came = member is not None and member.join_ticket is not None
        return came or group.waiting_to_join < settings.group_max_size
    return member is not None or len(group.members) < settings.group_max_size


def _turn_away(draft: Draft, group: ClassicGroup, member_id: str) -> JoinGroupReply:
    member = group.members.get(member_id)
    if member is not None:
        remove_member(draft, group, member)
    elif member_id in group.pending_members:
        group.remove(member_id)
        draft.cancel_timer(session_timer(group, member_id))
    complete_join_if_all_came(draft, group)
    return JoinGroupReply(error_code=ErrorCode.GROUP_MAX_SIZE_REACHED)


def _join_unknown(
    state: CoordinatorState, draft: Draft, group: ClassicGroup, command: JoinGroup
) -> JoinGroupReply | None:
    if command.group_instance_id is not None:
        member_id = f"{command.group_instance_id}-{command.unique_id}"
        known_id = group.static_members.get(command.group_instance_id)
        if known_id is not None:
            return _return_static_member(state, draft, group, group.members[known_id], member_id, command)
        _add_member(state, draft, group, member_id, command)
        return None
    member_id = f"{command.client_id}-{command.unique_id}"
    if not command.needs_member_id:
        _add_member(state, draft, group, member_id, command)
        return None
    state.groups[group.group_id] = group
    group.pending_members[member_id] = None
    draft.set_timer(session_timer(group, member_id), command.session_timeout_ms)
    return JoinGroupReply(error_code=ErrorCode.MEMBER_ID_REQUIRED, member_id=member_id)


def _add_member(state: CoordinatorState, draft: Draft, group: ClassicGroup, member_id: str, command: JoinGroup) -> None:
    state.groups[group.group_id] = group
    member = ClassicMember.joining(member_id, command)
    member.join_ticket = draft.park()
    if group.initial_rebalance is not None:
        group.initial_rebalance.member_added = True
    group.add(member, command.protocol_type)
    # The member has no session before its first join is answered. A client that gave up and went must not hold up
    # the group forever either (KAFKA-9752).
    draft.set_timer(session_timer(group, member_id), NEW_MEMBER_JOIN_TIMEOUT_MS)
    rebalance_or_complete_join(state, draft, group)


def _update_member(draft: Draft, member: ClassicMember, command: JoinGroup) -> None:
    # Should an earlier request of this member still wait, its client has given it up.
    release_join(draft, member, JoinGroupReply(error_code=ErrorCode.REBALANCE_IN_PROGRESS, member_id=member.member_id))
    member.join_ticket = draft.park()
    member.protocols = command.protocols
    member.session_timeout_ms = command.session_timeout_ms
    member.rebalance_timeout_ms = rebalance_timeout_ms(command)


def _join_known(
    state: CoordinatorState, draft: Draft, group: ClassicGroup, command: JoinGroup
) -> JoinGroupReply | None:
    if command.member_id in group.pending_members and command.group_instance_id is None:
        _add_member(state, draft, group, command.member_id, command)
        return None
    member = group.check_member(command.member_id, command.group_instance_id)
    if _changes_nothing(group, member, command):
        # Its last reply was lost. It is told the generation again, and goes on to sync.
        return joined_reply(group, member.member_id)
    _update_member(draft, member, command)
    rebalance_or_complete_join(state, draft, group)
    return None


def _changes_nothing(group: ClassicGroup, member: ClassicMember, command: JoinGroup) -> bool:
    if group.state is ClassicState.COMPLETING_REBALANCE:
        return member.protocols == command.protocols
    # A leader that joins again in a stable group wants a rebalance: it saw topics change.
    return (
        group.state is ClassicState.STABLE
        and not group.is_leader(member.member_id)
        and member.protocols == command.protocols
    )


def _return_static_member(
    state: CoordinatorState,
    draft: Draft,
    group: ClassicGroup,
    member: ClassicMember,
    member_id: str,
    command: JoinGroup,
) -> JoinGroupReply | None:
    """A restarted static member takes its place again. In a stable group nobody else need notice."""
    former_leader_id = group.leader_id or ""
    release_join(draft, member, JoinGroupReply(error_code=ErrorCode.FENCED_INSTANCE_ID, member_id=member.member_id))
    release_sync(draft, group, member, SyncGroupReply(error_code=ErrorCode.FENCED_INSTANCE_ID))
    draft.cancel_timer(session_timer(group, member.member_id))
    group.rename(member, member_id)
    _update_member(draft, member, command)
    renew_session(draft, group, member)
    if group.state is ClassicState.STABLE and group.select_protocol() == group.protocol:
        # The new id is stored (KAFKA-10284): the next coordinator must know it, or it would fence this member.
        assignments = {known.member_id: known.assignment for known in group.members.values()}
        draft.append(group.to_store(assignments, group.state_timestamp_ms or draft.now_ms))
        release_join(draft, member, _returned_reply(group, member_id, command, former_leader_id))
    elif group.state is ClassicState.PREPARING_REBALANCE:
        complete_join_if_all_came(draft, group)
    else:
        # Also while completing: the leader may be assigning to the old id.
        prepare_rebalance(state, draft, group)
    return None


def _returned_reply(group: ClassicGroup, member_id: str, command: JoinGroup, former_leader_id: str) -> JoinGroupReply:
    """A leader back in a stable group must not assign anew."""
    reply = joined_reply(group, member_id)
    if command.may_skip_assignment:
        return replace(reply, skip_assignment=group.is_leader(member_id))
    # An older client assigns whenever it reads its own id as the leader's: it is told the former one.
    return replace(reply, leader=former_leader_id, members=())
