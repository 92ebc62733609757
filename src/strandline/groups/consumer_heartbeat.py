"""ConsumerGroupHeartbeat (KIP-848): one request to join, to stay, to learn what to do, and to leave.

A heartbeat that joins or stays does up to four things, each with its records:

1. the member is stored, if it is new or its subscription changed;
2. the group's epoch goes up, if subscriptions or the topics behind them changed;
3. a new target assignment is computed, if the last is for an older group epoch;
4. the member takes its next step towards its target.

Epoch 0 joins. A member that joins holds nothing, so one that is still known starts from there. Epoch -1 leaves; -2 is
a static member's promise to be back within its session, and keeps its partitions for it.
Subscribing by a regular expression is not served: a request that has one is told that it is not a valid one, which no
client tries again.
"""

from __future__ import annotations

from dataclasses import replace

from strandline.groups.assignment import NOTHING, IdPartition, partitions_of, to_stored
from strandline.groups.classic_group import ClassicGroup
from strandline.groups.commands import (
    JOIN_EPOCH,
    LEAVE_EPOCH,
    LEAVE_STATIC_EPOCH,
    ConsumerGroupHeartbeat,
    OwnedPartitions,
)
from strandline.groups.consumer_changes import ConsumerGroupChanges
from strandline.groups.consumer_group import ConsumerGroup
from strandline.groups.consumer_leave import leave_consumer_group, revocation_timer, session_timer
from strandline.groups.consumer_member import ConsumerMember
from strandline.groups.draft import CoordinatorState, Draft
from strandline.groups.reconciliation import reconcile
from strandline.groups.replies import AssignedPartitions, ConsumerGroupHeartbeatReply
from strandline.groups.settings import GroupSettings
from strandline.groups.states import MemberState
from strandline.groups.target import compute_target
from strandline.model.coordinators import check_storable
from strandline.model.failures import ErrorCode, Refused


def consumer_group_heartbeat(
    state: CoordinatorState, draft: Draft, command: ConsumerGroupHeartbeat
) -> ConsumerGroupHeartbeatReply:
    _check_command(state.settings, command)
    if command.member_epoch in (LEAVE_EPOCH, LEAVE_STATIC_EPOCH):
        return leave_consumer_group(state, draft, command)
    if not command.member_id:
        command = replace(command, member_id=command.unique_id)
    owned = _owned(command.owned_partitions)
    changes = ConsumerGroupChanges(_group_to_join(state, draft, command), draft)
    member = _enter(changes, command, owned)
    updated = member.with_request(command)
    if updated != member or member.member_id not in changes.group.members:
        changes.store_member(updated)
    changes.raise_epoch(state, subscriptions_changed=updated.subscribed_topic_names != member.subscribed_topic_names)
    compute_target(state.settings, changes)
    updated = _reconcile(draft, changes, member.member_id, owned)
    draft.set_timer(session_timer(command.group, member.member_id), state.settings.group_consumer_session_timeout_ms)
    says_assignment = _asks_for_assignment(command, member) or updated.assigned != member.assigned
    return ConsumerGroupHeartbeatReply(
        member_id=updated.member_id,
        member_epoch=updated.epoch,
        heartbeat_interval_ms=state.settings.group_consumer_heartbeat_interval_ms,
        assignment=_assigned(updated) if says_assignment else None,
    )


def _asks_for_assignment(command: ConsumerGroupHeartbeat, member: ConsumerMember) -> bool:
    """A member that says everything about itself has lost track; one with an older epoch has lost our last reply."""
    says_everything = (
        command.rebalance_timeout_ms >= 0
        and command.subscribed_topic_names is not None
        and command.owned_partitions is not None
    )
    return says_everything or command.member_epoch != member.epoch


def _check_command(settings: GroupSettings, command: ConsumerGroupHeartbeat) -> None:
    for name, text in (("group id", command.group), ("instance id", command.instance_id), ("rack id", command.rack_id)):
        _require(text is None or bool(text.strip()), f"the {name} is empty")
    if command.subscribed_topic_regex:
        raise Refused(ErrorCode.INVALID_REGULAR_EXPRESSION, "subscribing by a regular expression is not supported")
    _require(command.member_epoch >= LEAVE_STATIC_EPOCH, f"{command.member_epoch} is no epoch of a member")
    if command.member_epoch == JOIN_EPOCH:
        _require(command.rebalance_timeout_ms >= 0, "a member that joins says its rebalance timeout")
        _require(command.owned_partitions == (), "a member that joins owns nothing, and says so")
        _require(bool(command.subscribed_topic_names), "a member that joins says its topics")
        _require(bool(command.member_id or command.unique_id), "a member that joins names itself")
    else:
        _require(bool(command.member_id.strip()), "the member id is empty")
    if command.member_epoch == LEAVE_STATIC_EPOCH:
        _require(command.instance_id is not None, "only a static member can leave for a while")
    if command.server_assignor is not None and command.server_assignor not in settings.group_consumer_assignors:
        known = ", ".join(settings.group_consumer_assignors)
        raise Refused(ErrorCode.UNSUPPORTED_ASSIGNOR, f"{command.server_assignor} is not one of {known}")
    check_storable(command.group, command.member_id)


def _require(condition: bool, reason: str) -> None:
    if not condition:
        raise Refused(ErrorCode.INVALID_REQUEST, reason)


def _owned(stated: tuple[OwnedPartitions, ...] | None) -> frozenset[IdPartition] | None:
    if stated is None:
        return None
    return frozenset((entry.topic_id, partition) for entry in stated for partition in entry.partitions)


def _group_to_join(state: CoordinatorState, draft: Draft, command: ConsumerGroupHeartbeat) -> ConsumerGroup:
    group = state.groups.get(command.group)
    if isinstance(group, ConsumerGroup):
        known = command.member_id in group.members
        if not known and len(group.members) >= state.settings.group_consumer_max_size:
            raise Refused(ErrorCode.GROUP_MAX_SIZE_REACHED, f"the group has {len(group.members)} members")
        return group
    if command.member_epoch != JOIN_EPOCH:
        raise Refused(ErrorCode.GROUP_ID_NOT_FOUND, f"there is no consumer group {command.group}")
    if group is not None:
        _end_classic_group(draft, group)
    return ConsumerGroup(command.group)  # becomes known with its first record


def _end_classic_group(draft: Draft, group: ClassicGroup) -> None:
    """Its offsets stay; they are the group's by name."""
    if not group.is_empty or group.has_pending_members:
        raise Refused(ErrorCode.GROUP_ID_NOT_FOUND, "the group's members use the classic protocol")
    draft.append(*group.tombstones())


def _enter(
    changes: ConsumerGroupChanges,
    command: ConsumerGroupHeartbeat,
    owned: frozenset[IdPartition] | None,
) -> ConsumerMember:
    """The member that sent the heartbeat, as it is before it."""
    group = changes.group
    if command.member_epoch != JOIN_EPOCH:
        if command.instance_id is None:
            member = group.check_member(command.member_id)
        else:
            member = group.check_static_member(command.member_id, command.instance_id)
        _check_epoch(member, command.member_epoch, owned)
        return member
    static_id = group.static_members.get(command.instance_id or "")
    if static_id is not None and static_id != command.member_id:
        return _return_static_member(changes, group.members[static_id], command.member_id)
    member = group.members.get(command.member_id) or ConsumerMember(member_id=command.member_id)
    if member.epoch != JOIN_EPOCH:
        # It is known and joins again: it has let go of everything.
        member = replace(
            member,
            epoch=JOIN_EPOCH,
            previous_epoch=JOIN_EPOCH,
            state=MemberState.STABLE,
            assigned=NOTHING,
            pending_revocation=NOTHING,
        )
        changes.store_assignment(member)
    return member


def _check_epoch(member: ConsumerMember, epoch: int, owned: frozenset[IdPartition] | None) -> None:
    if epoch == member.epoch:
        return
    # Our reply with the new epoch may have been lost; then the member has at most what it is assigned.
    reply_was_lost = epoch == member.previous_epoch and owned is not None and owned <= partitions_of(member.assigned)
    if not reply_was_lost:
        raise Refused(
            ErrorCode.FENCED_MEMBER_EPOCH,
            f"epoch {epoch} is not {member.epoch}; the member must give up its partitions and join again",
        )


def _return_static_member(changes: ConsumerGroupChanges, member: ConsumerMember, member_id: str) -> ConsumerMember:
    """Its place is free if it said that it would be back, and not while another process still holds it."""
    if member.epoch != LEAVE_STATIC_EPOCH:
        raise Refused(ErrorCode.UNRELEASED_INSTANCE_ID, f"{member.instance_id} is still {member.member_id}")
    successor = replace(member, member_id=member_id, epoch=JOIN_EPOCH, previous_epoch=JOIN_EPOCH)
    changes.replace_member(member, successor)
    return successor


def _reconcile(
    draft: Draft, changes: ConsumerGroupChanges, member_id: str, owned: frozenset[IdPartition] | None
) -> ConsumerMember:
    group = changes.group
    member = group.members[member_id]
    updated = reconcile(
        member,
        target_epoch=group.assignment_epoch,
        target=group.target_of(member_id),
        owners=group.owners,
        owned=owned,
    )
    if updated != member:
        changes.store_assignment(updated)
        if updated.state is MemberState.UNREVOKED_PARTITIONS:
            draft.set_timer(revocation_timer(group.group_id, member_id), updated.rebalance_timeout_ms)
    return updated


def _assigned(member: ConsumerMember) -> tuple[AssignedPartitions, ...]:
    return tuple(
        AssignedPartitions(topic_id=entry.topic_id, partitions=entry.partitions) for entry in to_stored(member.assigned)
    )
