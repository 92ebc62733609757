"""SyncGroup, Heartbeat and LeaveGroup: the life of a member of a classic group once it has joined."""

from __future__ import annotations

from strandline.groups.classic_group import ClassicGroup
from strandline.groups.classic_member import ClassicMember
from strandline.groups.classic_rebalance import (
    rebalance_or_complete_join,
    release_sync,
    remove_member,
    remove_pending_member,
    renew_session,
    sync_timer,
)
from strandline.groups.commands import Heartbeat, LeaveGroup, LeavingMember, SyncGroup
from strandline.groups.draft import CoordinatorState, Draft
from strandline.groups.replies import HeartbeatReply, LeaveGroupReply, LeftMember, SyncGroupReply
from strandline.groups.states import ClassicState
from strandline.model.failures import ErrorCode, Refused


def _group_of_member(state: CoordinatorState, group_id: str) -> ClassicGroup:
    if not group_id:
        raise Refused(ErrorCode.INVALID_GROUP_ID, "a group must have a name")
    group = state.classic_group(group_id)
    if group is None:
        raise Refused(ErrorCode.UNKNOWN_MEMBER_ID, f"there is no classic group {group_id}")
    return group


def sync_group(state: CoordinatorState, draft: Draft, command: SyncGroup) -> SyncGroupReply | None:
    """The reply, or None where the request is parked."""
    group = _group_of_member(state, command.group)
    member = group.check_member(command.member_id, command.group_instance_id)
    group.check_generation(command.generation)
    _check_protocol(group, command)
    if group.state is ClassicState.PREPARING_REBALANCE:
        raise Refused(ErrorCode.REBALANCE_IN_PROGRESS, "the group is joining")
    group.pending_sync_members.pop(member.member_id, None)
    if not group.pending_sync_members:
        draft.cancel_timer(sync_timer(group))
    if group.state is ClassicState.STABLE:
        renew_session(draft, group, member)
        return _synced_reply(group, member.assignment)
    release_sync(draft, group, member, SyncGroupReply(error_code=ErrorCode.REBALANCE_IN_PROGRESS))
    member.sync_ticket = draft.park()
    if group.is_leader(member.member_id):
        _hand_out(draft, group, dict(command.assignments))
    return None


def _check_protocol(group: ClassicGroup, command: SyncGroup) -> None:
    for asked, agreed in ((command.protocol_type, group.protocol_type), (command.protocol, group.protocol)):
        if asked is not None and asked != agreed:
            raise Refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, f"{asked} is not {agreed}")


def _hand_out(draft: Draft, group: ClassicGroup, assignments: dict[str, bytes]) -> None:
    """With the record applied the group is stable; members the leader forgot have nothing to do."""
    draft.append(group.to_store(assignments, draft.now_ms))
    for member in group.members.values():
        release_sync(draft, group, member, _synced_reply(group, assignments.get(member.member_id, b"")))


def _synced_reply(group: ClassicGroup, assignment: bytes) -> SyncGroupReply:
    return SyncGroupReply(protocol_type=group.protocol_type, protocol=group.protocol, assignment=assignment)


def heartbeat(state: CoordinatorState, draft: Draft, command: Heartbeat) -> HeartbeatReply:
    group = _group_of_member(state, command.group)
    member = group.check_member(command.member_id, command.group_instance_id)
    group.check_generation(command.generation)
    renew_session(draft, group, member)
    if group.state is ClassicState.PREPARING_REBALANCE:
        return HeartbeatReply(error_code=ErrorCode.REBALANCE_IN_PROGRESS)
    return HeartbeatReply()


def leave_group(state: CoordinatorState, draft: Draft, command: LeaveGroup) -> LeaveGroupReply:
    """One rebalance for all that leave."""
    group = _group_of_member(state, command.group)
    results = tuple(_leave(state, draft, group, leaving) for leaving in command.members)
    if any(result.error_code is ErrorCode.NONE for result in results) and not group.is_empty:
        rebalance_or_complete_join(state, draft, group)
    return LeaveGroupReply(members=results)


def _leave(state: CoordinatorState, draft: Draft, group: ClassicGroup, leaving: LeavingMember) -> LeftMember:
    error_code = ErrorCode.NONE
    try:
        if leaving.member_id in group.pending_members:
            remove_pending_member(state, draft, group, leaving.member_id)
        else:
            remove_member(draft, group, _member_to_leave(group, leaving))
    except Refused as refusal:
        error_code = refusal.error_code
    return LeftMember(error_code=error_code, member_id=leaving.member_id, group_instance_id=leaving.group_instance_id)


def _member_to_leave(group: ClassicGroup, leaving: LeavingMember) -> ClassicMember:
    """An administrator removes a static member by its instance, without knowing its id."""
    if not leaving.member_id and leaving.group_instance_id is not None:
        known_id = group.static_members.get(leaving.group_instance_id)
        return group.check_member(known_id or "", leaving.group_instance_id)
    return group.check_member(leaving.member_id, leaving.group_instance_id)
