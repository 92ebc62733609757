"""DescribeReplicas (24000), our own: what a broker knows of its replicas and, where it leads, of those that follow.

Kafka tells who is in sync, and not why somebody is not. With an offset, the answer also says where that record lies.
"""

from __future__ import annotations

from typing import ClassVar

from strandline.model.lazy_dataclass import dataclass
from strandline.wire.layout import Message, boolean, int16, int32, int64, many, text


@dataclass(slots=True)
class DescribeReplicasPartition:
    partition_index: int = int32()
    offset: int = int64(-1)  # of a record to look for, or -1


@dataclass(slots=True)
class DescribeReplicasTopic:
    name: str = text()
    partitions: list[DescribeReplicasPartition] = many(DescribeReplicasPartition)


@dataclass(slots=True)
class DescribeReplicasRequest(Message):
    api_key: ClassVar[int] = 24_000
    topics: list[DescribeReplicasTopic] = many(DescribeReplicasTopic)


@dataclass(slots=True)
class FollowerDescription:
    """As the leader knows it in this epoch; -1 is what it does not know."""

    replica_id: int = int32()
    log_end_offset: int = int64(-1)
    fetched_ms_ago: int = int64(-1)
    caught_up_ms_ago: int = int64(-1)  # since it last had all that the leader had
    is_in_sync: bool = boolean()


@dataclass(slots=True)
class RecordPlace:
    """Where a record lies on this replica."""

    segment_base_offset: int = int64()
    position: int = int64()
    batch_base_offset: int = int64()
    batch_last_offset: int = int64()
    batch_leader_epoch: int = int32()
    batch_bytes: int = int32()
    timestamp_ms: int = int64()
    producer_id: int = int64()
    is_transactional: bool = boolean()
    is_control: bool = boolean()
    is_aborted: bool = boolean()  # its transaction was, so readers of committed records never see it


@dataclass(slots=True)
class ReplicaDescription:
    partition_index: int = int32()
    error_code: int = int16()
    is_leader: bool = boolean()
    leader_epoch: int = int32(-1)
    log_start_offset: int = int64(-1)
    last_stable_offset: int = int64(-1)
    high_watermark: int = int64(-1)
    log_end_offset: int = int64(-1)
    min_insync_replicas: int = int32(-1)  # of the leader, as the following
    pending_change: str | None = text(None, nullable_since=0)  # of the ISR, which the store has not confirmed
    followers: list[FollowerDescription] = many(FollowerDescription)
    places: list[RecordPlace] = many(RecordPlace)  # one, if the record was asked for and is here


@dataclass(slots=True)
class DescribeReplicasTopicResult:
    name: str = text()
    partitions: list[ReplicaDescription] = many(ReplicaDescription)


@dataclass(slots=True)
class DescribeReplicasResponse(Message):
    api_key: ClassVar[int] = 24_000
    topics: list[DescribeReplicasTopicResult] = many(DescribeReplicasTopicResult)
