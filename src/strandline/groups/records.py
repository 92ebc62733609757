"""What the coordinator writes to `__consumer_offsets`: a key that says whose state, a value that is the state.

The topic is compacted, so a record replaces every earlier one with its key, and one without a value removes them.
These classes carry Kafka's names; `formats` writes them as bytes. Nothing but `GroupShard.apply` reads them.
"""

from __future__ import annotations

from typing import NamedTuple
from uuid import UUID

from strandline.model.lazy_dataclass import dataclass
from strandline.model.text import OneLine, text_of

NONE_MS = -1


@dataclass(frozen=True, slots=True)
class OffsetCommitKey(OneLine):
    group: str
    topic: str
    partition: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetCommitValue(OneLine):
    offset: int
    leader_epoch: int = -1
    metadata: str = ""
    commit_timestamp: int
    # Only in version 1, from clients that asked for their own retention (before KIP-211).
    expire_timestamp: int = NONE_MS


@dataclass(frozen=True, slots=True)
class GroupMetadataKey(OneLine):
    group: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberMetadata(OneLine):
    member_id: str
    group_instance_id: str | None = None
    client_id: str
    client_host: str
    rebalance_timeout: int = -1
    session_timeout: int
    subscription: bytes
    assignment: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupMetadataValue(OneLine):
    protocol_type: str = ""
    generation: int
    protocol: str | None = None
    leader: str | None = None
    current_state_timestamp: int = NONE_MS
    members: tuple[MemberMetadata, ...] = ()


@dataclass(frozen=True, slots=True)
class ConsumerGroupMetadataKey(OneLine):
    group: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupMetadataValue(OneLine):
    epoch: int


@dataclass(frozen=True, slots=True)
class ConsumerGroupPartitionMetadataKey(OneLine):
    group: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionRacks(OneLine):
    partition: int
    racks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicMetadata(OneLine):
    topic_id: UUID
    topic_name: str
    num_partitions: int
    # Read from older logs, never written (Kafka dropped it with 4.0).
    partition_metadata: tuple[PartitionRacks, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupPartitionMetadataValue(OneLine):
    topics: tuple[TopicMetadata, ...]


@dataclass(frozen=True, slots=True)
class ConsumerGroupMemberMetadataKey(OneLine):
    group: str
    member_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassicProtocol(OneLine):
    name: str
    metadata: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassicMemberMetadata(OneLine):
    """Of a member that speaks the classic protocol in a consumer group; Kafka writes it, we only keep it."""

    session_timeout_ms: int
    supported_protocols: tuple[ClassicProtocol, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupMemberMetadataValue(OneLine):
    instance_id: str | None = None
    rack_id: str | None = None
    client_id: str
    client_host: str
    subscribed_topic_names: tuple[str, ...]
    subscribed_topic_regex: str | None = None
    rebalance_timeout_ms: int = -1
    server_assignor: str | None = None
    classic_member_metadata: ClassicMemberMetadata | None = None


@dataclass(frozen=True, slots=True)
class ConsumerGroupTargetAssignmentMetadataKey(OneLine):
    group: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupTargetAssignmentMetadataValue(OneLine):
    assignment_epoch: int


@dataclass(frozen=True, slots=True)
class ConsumerGroupTargetAssignmentMemberKey(OneLine):
    group: str
    member_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicPartitions(OneLine):
    topic_id: UUID
    partitions: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupTargetAssignmentMemberValue(OneLine):
    topic_partitions: tuple[TopicPartitions, ...]


@dataclass(frozen=True, slots=True)
class ConsumerGroupCurrentMemberAssignmentKey(OneLine):
    group: str
    member_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupCurrentMemberAssignmentValue(OneLine):
    member_epoch: int
    previous_member_epoch: int
    state: int
    assigned_partitions: tuple[TopicPartitions, ...] = ()
    partitions_pending_revocation: tuple[TopicPartitions, ...] = ()


Key = (
    OffsetCommitKey
    | GroupMetadataKey
    | ConsumerGroupMetadataKey
    | ConsumerGroupPartitionMetadataKey
    | ConsumerGroupMemberMetadataKey
    | ConsumerGroupTargetAssignmentMetadataKey
    | ConsumerGroupTargetAssignmentMemberKey
    | ConsumerGroupCurrentMemberAssignmentKey
)
Value = (
    OffsetCommitValue
    | GroupMetadataValue
    | ConsumerGroupMetadataValue
    | ConsumerGroupPartitionMetadataValue
    | ConsumerGroupMemberMetadataValue
    | ConsumerGroupTargetAssignmentMetadataValue
    | ConsumerGroupTargetAssignmentMemberValue
    | ConsumerGroupCurrentMemberAssignmentValue
)


class GroupRecord(NamedTuple):
    key: Key
    value: Value | None  # None removes

    def __str__(self) -> str:
        key = str(self.key).replace("Key ", " ", 1)
        return f"{key} -> {'removed' if self.value is None else text_of(self.value)}"
