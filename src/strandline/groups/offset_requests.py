"""OffsetCommit, OffsetFetch and OffsetDelete, and the offsets of deleted partitions."""

from __future__ import annotations

from strandline.groups.classic_group import ClassicGroup
from strandline.groups.classic_rebalance import renew_session
from strandline.groups.commands import (
    NO_GENERATION,
    NO_TIME,
    OffsetCommit,
    OffsetDelete,
    OffsetFetch,
    OffsetToCommit,
    PartitionsDeleted,
    TransactionalOffsetCommit,
)
from strandline.groups.draft import CoordinatorState, Draft, Group
from strandline.groups.records import NONE_MS, GroupRecord, OffsetCommitKey, OffsetCommitValue
from strandline.groups.replies import (
    Done,
    FetchedOffset,
    OffsetCommitReply,
    OffsetDeleteReply,
    OffsetFetchReply,
    PartitionResult,
)
from strandline.groups.states import ClassicState
from strandline.model.coordinators import STORED_STRING_BYTES_MAX, check_storable
from strandline.model.failures import ErrorCode, Refused
from strandline.model.partitions import TopicPartition
from strandline.model.settings import LONG_MAX


def tombstone(group_id: str, partition: TopicPartition) -> GroupRecord:
    return GroupRecord(OffsetCommitKey(group_id, partition.topic, partition.partition), None)


def commit_offsets(state: CoordinatorState, draft: Draft, command: OffsetCommit) -> OffsetCommitReply:
    group = _group_to_commit(state, command, unknown=_unknown_group(command))
    if isinstance(group, ClassicGroup):
        group.check_commit(command.member_id, command.group_instance_id, command.generation, is_transactional=False)
        _commit_is_a_heartbeat(draft, group, command.member_id)
    elif group is not None:
        group.check_commit(
            command.member_id, command.generation, is_transactional=False, knows_epochs=command.knows_epochs
        )
    retention_ms = command.retention_time_ms
    expire_timestamp_ms = NONE_MS if retention_ms == NO_TIME else min(draft.now_ms + retention_ms, LONG_MAX)
    return _commit(state, draft, command.group, command.offsets, expire_timestamp_ms)


def commit_offsets_in_transaction(
    state: CoordinatorState, draft: Draft, command: TransactionalOffsetCommit
) -> OffsetCommitReply:
    group = _group_to_commit(state, command, unknown=ErrorCode.ILLEGAL_GENERATION)
    if isinstance(group, ClassicGroup):
        group.check_commit(command.member_id, command.group_instance_id, command.generation, is_transactional=True)
    elif group is not None:
        group.check_commit(command.member_id, command.generation, is_transactional=True, knows_epochs=False)
    return _commit(state, draft, command.group, command.offsets, NONE_MS)


def _unknown_group(command: OffsetCommit) -> ErrorCode:
    return ErrorCode.GROUP_ID_NOT_FOUND if command.knows_epochs else ErrorCode.ILLEGAL_GENERATION


def _group_to_commit(
    state: CoordinatorState, command: OffsetCommit | TransactionalOffsetCommit, unknown: ErrorCode
) -> Group | None:
    """None where there is no group yet, and the first offset is to make one that has no members."""
    check_storable(command.group)
    group = state.groups.get(command.group)
    if group is None and command.generation > NO_GENERATION:
        raise Refused(unknown, f"there is no group {command.group}")
    return group


def _commit_is_a_heartbeat(draft: Draft, group: ClassicGroup, member_id: str) -> None:
    member = group.members.get(member_id)
    if member is not None and group.state in (ClassicState.STABLE, ClassicState.PREPARING_REBALANCE):
        renew_session(draft, group, member)


def _commit(
    state: CoordinatorState,
    draft: Draft,
    group_id: str,
    offsets: tuple[OffsetToCommit, ...],
    expire_timestamp_ms: int,
) -> OffsetCommitReply:
    results = []
    for entry in offsets:
        error_code = _error_of(state, entry)
        if error_code is ErrorCode.NONE:
            draft.append(_committed(group_id, entry, draft.now_ms, expire_timestamp_ms))
        results.append(PartitionResult(error_code=error_code, topic=entry.topic, partition=entry.partition))
    return OffsetCommitReply(results=tuple(results))


def _error_of(state: CoordinatorState, entry: OffsetToCommit) -> ErrorCode:
    metadata = entry.metadata or ""
    # Kafka counts characters here, for all that the setting says; what is stored has its own limit in bytes.
    too_long = len(metadata) > state.settings.offset_metadata_max_bytes
    if too_long or len(metadata.encode()) > STORED_STRING_BYTES_MAX:
        return ErrorCode.OFFSET_METADATA_TOO_LARGE
    if len(entry.topic.encode()) > STORED_STRING_BYTES_MAX:
        return ErrorCode.INVALID_TOPIC_EXCEPTION
    return ErrorCode.NONE


def _committed(group_id: str, entry: OffsetToCommit, now_ms: int, expire_timestamp_ms: int) -> GroupRecord:
    return GroupRecord(
        OffsetCommitKey(group_id, entry.topic, entry.partition),
        OffsetCommitValue(
            offset=entry.offset,
            leader_epoch=entry.leader_epoch,
            metadata=entry.metadata or "",
            commit_timestamp=now_ms if entry.commit_timestamp_ms == NO_TIME else entry.commit_timestamp_ms,
            expire_timestamp=expire_timestamp_ms,
        ),
    )


def fetch_offsets(state: CoordinatorState, _draft: Draft, command: OffsetFetch) -> OffsetFetchReply:
    group = state.groups.get(command.group)
    if group is not None and not isinstance(group, ClassicGroup):
        group.check_fetch(command.member_id, command.member_epoch)
    partitions = command.partitions
    if partitions is None:
        partitions = tuple(sorted(state.offsets.of_group(command.group)))
    return OffsetFetchReply(
        offsets=tuple(_fetched(state, command.group, partition, command.require_stable) for partition in partitions)
    )


def _fetched(state: CoordinatorState, group_id: str, partition: TopicPartition, require_stable: bool) -> FetchedOffset:
    topic, index = partition
    if require_stable and state.offsets.is_pending(group_id, partition):
        # KIP-447: an open transaction is about to move this offset; the client asks again.
        return FetchedOffset(error_code=ErrorCode.UNSTABLE_OFFSET_COMMIT, topic=topic, partition=index)
    committed = state.offsets.get(group_id, partition)
    if committed is None:
        return FetchedOffset(topic=topic, partition=index)
    return FetchedOffset(
        topic=topic,
        partition=index,
        offset=committed.offset,
        leader_epoch=committed.leader_epoch,
        metadata=committed.metadata,
    )


def delete_offsets(state: CoordinatorState, draft: Draft, command: OffsetDelete) -> OffsetDeleteReply:
    if not command.group:
        raise Refused(ErrorCode.INVALID_GROUP_ID, "a group must have a name")
    group = state.groups.get(command.group)
    if group is None:
        raise Refused(ErrorCode.GROUP_ID_NOT_FOUND, f"there is no group {command.group}")
    group.check_offset_delete()
    known = frozenset(state.offsets.partitions(command.group))
    results = []
    for partition in command.partitions:
        error_code = ErrorCode.NONE
        if group.is_subscribed_to(partition.topic):
            error_code = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
        elif partition in known:
            draft.append(tombstone(command.group, partition))
        results.append(PartitionResult(error_code=error_code, topic=partition.topic, partition=partition.partition))
    return OffsetDeleteReply(results=tuple(results))


def forget_partitions(state: CoordinatorState, draft: Draft, command: PartitionsDeleted) -> Done:
    deleted = frozenset(command.partitions)
    for group_id in state.offsets.groups():
        for partition in state.offsets.partitions(group_id):
            if partition in deleted:
                draft.append(tombstone(group_id, partition))
    return Done()
