"""What the coordinator can be asked. No API version is known here: what a version changes is a field.

A command that cannot be served as a whole is answered by its own `refused`. Ids that must be unique come with the
command (`unique_id`), because nothing here draws random numbers.
"""

from __future__ import annotations

from uuid import UUID

from strandline.groups.replies import (
    ConsumerGroupDescribeReply,
    ConsumerGroupHeartbeatReply,
    DeletedGroup,
    DeleteGroupsReply,
    DescribedConsumerGroup,
    DescribedGroup,
    DescribeGroupsReply,
    HeartbeatReply,
    JoinGroupReply,
    LeaveGroupReply,
    LeftMember,
    ListGroupsReply,
    OffsetCommitReply,
    OffsetDeleteReply,
    OffsetFetchReply,
    PartitionResult,
    SyncGroupReply,
)
from strandline.model.failures import ErrorCode, Refused
from strandline.model.lazy_dataclass import dataclass
from strandline.model.partitions import TopicPartition
from strandline.model.text import OneLine

NO_GENERATION = -1
NO_TIME = -1
JOIN_EPOCH = 0
LEAVE_EPOCH = -1
LEAVE_STATIC_EPOCH = -2


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinProtocol(OneLine):
    name: str
    metadata: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinGroup(OneLine):
    group: str
    member_id: str = ""
    group_instance_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    session_timeout_ms: int
    rebalance_timeout_ms: int = NO_TIME  # version 0 has none: then the session's
    protocol_type: str
    protocols: tuple[JoinProtocol, ...]
    unique_id: str
    needs_member_id: bool = True  # version 4 on (KIP-394): a member joins with an id it was given before
    may_skip_assignment: bool = True  # version 9 on (KIP-814): a leader can be told to leave the assignment alone

    def refused(self, refusal: Refused) -> JoinGroupReply:
        return JoinGroupReply(error_code=refusal.error_code, member_id=self.member_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncGroup(OneLine):
    group: str
    member_id: str
    group_instance_id: str | None = None
    generation: int
    protocol_type: str | None = None
    protocol: str | None = None
    assignments: tuple[tuple[str, bytes], ...] = ()

    def refused(self, refusal: Refused) -> SyncGroupReply:
        return SyncGroupReply(error_code=refusal.error_code)


@dataclass(frozen=True, slots=True, kw_only=True)
class Heartbeat(OneLine):
    group: str
    member_id: str
    group_instance_id: str | None = None
    generation: int

    def refused(self, refusal: Refused) -> HeartbeatReply:
        return HeartbeatReply(error_code=refusal.error_code)


@dataclass(frozen=True, slots=True, kw_only=True)
class LeavingMember(OneLine):
    member_id: str = ""
    group_instance_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaveGroup(OneLine):
    group: str
    members: tuple[LeavingMember, ...]

    def refused(self, refusal: Refused) -> LeaveGroupReply:
        if refusal.error_code is not ErrorCode.UNKNOWN_MEMBER_ID:
            return LeaveGroupReply(error_code=refusal.error_code)
        # There is no such group: said of each member, since clients look there.
        return LeaveGroupReply(
            members=tuple(
                LeftMember(
                    error_code=refusal.error_code,
                    member_id=member.member_id,
                    group_instance_id=member.group_instance_id,
                )
                for member in self.members
            )
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetToCommit(OneLine):
    topic: str
    partition: int
    offset: int
    leader_epoch: int = -1
    metadata: str | None = None
    commit_timestamp_ms: int = NO_TIME  # only version 1 says it


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetCommit(OneLine):
    group: str
    member_id: str = ""
    group_instance_id: str | None = None
    generation: int = NO_GENERATION  # or the member's epoch
    retention_time_ms: int = NO_TIME  # versions 2 to 4 (before KIP-211)
    knows_epochs: bool = True  # version 9 on (KIP-848)
    offsets: tuple[OffsetToCommit, ...]

    def refused(self, refusal: Refused) -> OffsetCommitReply:
        return _all_refused(self.offsets, refusal.error_code)


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionalOffsetCommit(OneLine):
    """The records of its decision belong into a transactional batch of this producer (KIP-98)."""

    group: str
    member_id: str = ""
    group_instance_id: str | None = None
    generation: int = NO_GENERATION
    producer_id: int
    producer_epoch: int
    offsets: tuple[OffsetToCommit, ...]

    def refused(self, refusal: Refused) -> OffsetCommitReply:
        return _all_refused(self.offsets, refusal.error_code)


def _all_refused(offsets: tuple[OffsetToCommit, ...], error_code: ErrorCode) -> OffsetCommitReply:
    return OffsetCommitReply(
        results=tuple(
            PartitionResult(error_code=error_code, topic=entry.topic, partition=entry.partition) for entry in offsets
        )
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetFetch(OneLine):
    group: str
    member_id: str | None = None
    member_epoch: int = -1
    partitions: tuple[TopicPartition, ...] | None = None  # None: all there are
    require_stable: bool = False

    def refused(self, refusal: Refused) -> OffsetFetchReply:
        return OffsetFetchReply(error_code=refusal.error_code)


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetDelete(OneLine):
    group: str
    partitions: tuple[TopicPartition, ...]

    def refused(self, refusal: Refused) -> OffsetDeleteReply:
        return OffsetDeleteReply(error_code=refusal.error_code)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteGroups(OneLine):
    groups: tuple[str, ...]

    def refused(self, refusal: Refused) -> DeleteGroupsReply:
        return DeleteGroupsReply(
            groups=tuple(DeletedGroup(error_code=refusal.error_code, group=group) for group in self.groups)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionsDeleted(OneLine):
    """News, not a request: the offsets of these partitions mean nothing any more."""

    partitions: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeGroups(OneLine):
    groups: tuple[str, ...]

    def refused(self, refusal: Refused) -> DescribeGroupsReply:
        return DescribeGroupsReply(
            groups=tuple(DescribedGroup(error_code=refusal.error_code, group=group) for group in self.groups)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ListGroups(OneLine):
    """Empty filters let everything through."""

    states: tuple[str, ...] = ()
    types: tuple[str, ...] = ()

    def refused(self, refusal: Refused) -> ListGroupsReply:
        return ListGroupsReply(error_code=refusal.error_code, groups=())


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnedPartitions(OneLine):
    topic_id: UUID
    partitions: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupHeartbeat(OneLine):
    """None, and -1 for the timeout, mean: as before."""

    group: str
    member_id: str = ""
    member_epoch: int
    instance_id: str | None = None
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    rebalance_timeout_ms: int = NO_TIME
    subscribed_topic_names: tuple[str, ...] | None = None
    subscribed_topic_regex: str | None = None
    server_assignor: str | None = None
    owned_partitions: tuple[OwnedPartitions, ...] | None = None
    unique_id: str = ""  # version 0 lets the coordinator name the member

    def refused(self, refusal: Refused) -> ConsumerGroupHeartbeatReply:
        return ConsumerGroupHeartbeatReply(error_code=refusal.error_code, error_message=refusal.reason)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupDescribe(OneLine):
    groups: tuple[str, ...]

    def refused(self, refusal: Refused) -> ConsumerGroupDescribeReply:
        return ConsumerGroupDescribeReply(
            groups=tuple(DescribedConsumerGroup(error_code=refusal.error_code, group=group) for group in self.groups)
        )


RefusableCommand = (
    JoinGroup
    | SyncGroup
    | Heartbeat
    | LeaveGroup
    | OffsetCommit
    | TransactionalOffsetCommit
    | OffsetFetch
    | OffsetDelete
    | DeleteGroups
    | DescribeGroups
    | ListGroups
    | ConsumerGroupHeartbeat
    | ConsumerGroupDescribe
)
Command = RefusableCommand | PartitionsDeleted
