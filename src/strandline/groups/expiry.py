"""When offsets and groups end (KIP-211).

An offset expires `offsets.retention.minutes` after its group became empty; in a group without members of its own after
the last commit; in a group with members only for topics that none of them reads, and never during a rebalance. Offsets
that old clients committed with a time of their own go by that. A group without members goes with its last offset.
"""

from __future__ import annotations

from strandline.groups.commands import DeleteGroups
from strandline.groups.decisions import EXPIRY_TIMER
from strandline.groups.draft import CoordinatorState, Draft, Group
from strandline.groups.offset_requests import tombstone
from strandline.groups.offsets import CommittedOffset
from strandline.groups.replies import DeletedGroup, DeleteGroupsReply
from strandline.model.failures import ErrorCode, Refused


def watch_expiry(state: CoordinatorState, draft: Draft) -> None:
    draft.set_timer(EXPIRY_TIMER, state.settings.offsets_retention_check_interval_ms)


def expire(state: CoordinatorState, draft: Draft) -> None:
    for group_id, group in state.groups.items():
        nothing_left = _expire_offsets(state, draft, group_id, group)
        if nothing_left and group.is_empty and not group.has_pending_members:
            draft.append(*group.tombstones())
    watch_expiry(state, draft)


def _expire_offsets(state: CoordinatorState, draft: Draft, group_id: str, group: Group) -> bool:
    """Whether the group then has no offsets left."""
    nothing_left = not state.offsets.has_open_transaction(group_id)
    for partition, offset in state.offsets.of_group(group_id).items():
        if (
            not group.is_subscribed_to(partition.topic)
            and _has_expired(state, draft, group, offset)
            and not state.offsets.is_pending(group_id, partition)
        ):
            draft.append(tombstone(group_id, partition))
        else:
            nothing_left = False
    return nothing_left


def _has_expired(state: CoordinatorState, draft: Draft, group: Group, offset: CommittedOffset) -> bool:
    start_ms = group.retention_start_ms(offset.commit_timestamp_ms)
    if start_ms is None:
        return False
    if offset.expire_timestamp_ms is not None:
        return draft.now_ms >= offset.expire_timestamp_ms
    return draft.now_ms - start_ms >= state.settings.offsets_retention_ms


def delete_groups(state: CoordinatorState, draft: Draft, command: DeleteGroups) -> DeleteGroupsReply:
    return DeleteGroupsReply(groups=tuple(_delete_group(state, draft, group_id) for group_id in command.groups))


def _delete_group(state: CoordinatorState, draft: Draft, group_id: str) -> DeletedGroup:
    try:
        group = state.groups.get(group_id)
        if group is None:
            raise Refused(ErrorCode.GROUP_ID_NOT_FOUND, f"there is no group {group_id}")
        group.check_deletion()
    except Refused as refusal:
        return DeletedGroup(error_code=refusal.error_code, group=group_id)
    draft.append(*(tombstone(group_id, partition) for partition in state.offsets.partitions(group_id)))
    draft.append(*group.tombstones())
    return DeletedGroup(group=group_id)
