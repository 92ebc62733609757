"""What the coordinator answers. Handlers turn these into responses of the version the client speaks."""

from __future__ import annotations

from uuid import UUID

from strandline.model.failures import ErrorCode
from strandline.model.lazy_dataclass import dataclass
from strandline.model.text import OneLine

NO_OFFSET = -1
NO_EPOCH = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinedMember(OneLine):
    member_id: str
    group_instance_id: str | None = None
    metadata: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinGroupReply(OneLine):
    error_code: ErrorCode = ErrorCode.NONE
    member_id: str = ""
    generation: int = -1
    protocol_type: str | None = None
    protocol: str | None = None
    leader: str = ""
    skip_assignment: bool = False
    members: tuple[JoinedMember, ...] = ()  # only the leader gets them


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncGroupReply(OneLine):
    error_code: ErrorCode = ErrorCode.NONE
    protocol_type: str | None = None
    protocol: str | None = None
    assignment: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeartbeatReply(OneLine):
    error_code: ErrorCode = ErrorCode.NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftMember(OneLine):
    error_code: ErrorCode = ErrorCode.NONE
    member_id: str
    group_instance_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaveGroupReply(OneLine):
    error_code: ErrorCode = ErrorCode.NONE
    members: tuple[LeftMember, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionResult(OneLine):
    error_code: ErrorCode = ErrorCode.NONE
    topic: str
    partition: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetCommitReply(OneLine):
    """Also the answer to a commit within a transaction. As many results as offsets, in their order."""

    results: tuple[PartitionResult, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchedOffset(OneLine):
    error_code: ErrorCode = ErrorCode.NONE
    topic: str
    partition: int
    offset: int = NO_OFFSET
    leader_epoch: int = NO_EPOCH
    metadata: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetFetchReply(OneLine):
    """The offsets in the order in which they were asked for."""

    error_code: ErrorCode = ErrorCode.NONE
    offsets: tuple[FetchedOffset, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetDeleteReply(OneLine):
    error_code: ErrorCode = ErrorCode.NONE
    results: tuple[PartitionResult, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletedGroup(OneLine):
    error_code: ErrorCode = ErrorCode.NONE
    group: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteGroupsReply(OneLine):
    groups: tuple[DeletedGroup, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedGroup(OneLine):
    group: str
    protocol_type: str
    state: str
    type: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ListGroupsReply(OneLine):
    error_code: ErrorCode = ErrorCode.NONE
    groups: tuple[ListedGroup, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedMember(OneLine):
    member_id: str
    group_instance_id: str | None = None
    client_id: str
    client_host: str
    metadata: bytes = b""
    assignment: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedGroup(OneLine):
    error_code: ErrorCode = ErrorCode.NONE
    group: str
    state: str = ""
    protocol_type: str = ""
    protocol: str = ""
    members: tuple[DescribedMember, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeGroupsReply(OneLine):
    groups: tuple[DescribedGroup, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedPartitions(OneLine):
    topic_id: UUID
    topic: str
    partitions: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedConsumer(OneLine):
    member_id: str
    instance_id: str | None = None
    rack_id: str | None = None
    member_epoch: int
    client_id: str
    client_host: str
    subscribed_topic_names: tuple[str, ...]
    subscribed_topic_regex: str | None = None
    assignment: tuple[NamedPartitions, ...] = ()
    target_assignment: tuple[NamedPartitions, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedConsumerGroup(OneLine):
    error_code: ErrorCode = ErrorCode.NONE
    group: str
    state: str = ""
    group_epoch: int = 0
    assignment_epoch: int = 0
    assignor: str = ""
    members: tuple[DescribedConsumer, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupDescribeReply(OneLine):
    groups: tuple[DescribedConsumerGroup, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignedPartitions(OneLine):
    topic_id: UUID
    partitions: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupHeartbeatReply(OneLine):
    error_code: ErrorCode = ErrorCode.NONE
    error_message: str | None = None
    member_id: str | None = None
    member_epoch: int = 0
    heartbeat_interval_ms: int = 0
    assignment: tuple[AssignedPartitions, ...] | None = None  # None: as it was


@dataclass(frozen=True, slots=True)
class Done(OneLine):
    """The answer to what no client asked, such as news of deleted partitions."""


Reply = (
    JoinGroupReply
    | SyncGroupReply
    | HeartbeatReply
    | LeaveGroupReply
    | OffsetCommitReply
    | OffsetFetchReply
    | OffsetDeleteReply
    | DeleteGroupsReply
    | ListGroupsReply
    | DescribeGroupsReply
    | ConsumerGroupDescribeReply
    | ConsumerGroupHeartbeatReply
    | Done
)
