"""Fetch (1), versions 4 to 18, flexible from 12: batches from offsets on, for consumers and followers."""

from __future__ import annotations

from typing import ClassVar

from strandline.model.lazy_dataclass import dataclass
from strandline.wire.layout import Message, batches, int8, int16, int32, int64, many, one, text, uuid
from strandline.wire.primitives import Buffer, FileSlice


@dataclass(slots=True)
class FetchPartition:
    partition: int = int32()
    current_leader_epoch: int = int32(-1, since=9)
    fetch_offset: int = int64()
    last_fetched_epoch: int = int32(-1, since=12)
    log_start_offset: int = int64(-1, since=5)
    partition_max_bytes: int = int32()
    replica_directory_id: bytes = uuid(since=17, tag=0)
    high_watermark: int = int64(9223372036854775807, since=18, tag=1)


@dataclass(slots=True)
class FetchTopic:
    topic: str = text(until=12)
    topic_id: bytes = uuid(since=13)
    partitions: list[FetchPartition] = many(FetchPartition)


@dataclass(slots=True)
class ForgottenTopic:
    topic: str = text(until=12)
    topic_id: bytes = uuid(since=13)
    partitions: list[int] = many("int32")


@dataclass(slots=True)
class ReplicaState:
    replica_id: int = int32(-1)
    replica_epoch: int = int64(-1)


@dataclass(slots=True)
class FetchRequest(Message):
    api_key: ClassVar[int] = 1
    cluster_id: str | None = text(None, since=12, nullable_since=0, tag=0)
    replica_id: int = int32(-1, until=14)
    replica_state: ReplicaState = one(ReplicaState, since=15, tag=1)
    max_wait_ms: int = int32()
    min_bytes: int = int32()
    max_bytes: int = int32(2147483647)
    isolation_level: int = int8()
    session_id: int = int32(since=7)
    session_epoch: int = int32(-1, since=7)
    topics: list[FetchTopic] = many(FetchTopic)
    forgotten_topics_data: list[ForgottenTopic] = many(ForgottenTopic, since=7)
    rack_id: str = text(since=11)


@dataclass(slots=True)
class AbortedTransaction:
    producer_id: int = int64()
    first_offset: int = int64()


@dataclass(slots=True)
class EpochEndOffset:
    epoch: int = int32(-1)
    end_offset: int = int64(-1)


@dataclass(slots=True)
class LeaderIdAndEpoch:
    leader_id: int = int32(-1)
    leader_epoch: int = int32(-1)


@dataclass(slots=True)
class SnapshotId:
    end_offset: int = int64(-1)
    epoch: int = int32(-1)


@dataclass(slots=True)
class PartitionData:
    partition_index: int = int32()
    error_code: int = int16()
    high_watermark: int = int64()
    last_stable_offset: int = int64(-1)
    log_start_offset: int = int64(-1, since=5)
    diverging_epoch: EpochEndOffset = one(EpochEndOffset, since=12, tag=0)
    current_leader: LeaderIdAndEpoch = one(LeaderIdAndEpoch, since=12, tag=1)
    snapshot_id: SnapshotId = one(SnapshotId, since=12, tag=2)
    aborted_transactions: list[AbortedTransaction] | None = many(AbortedTransaction, None, nullable_since=0)
    preferred_read_replica: int = int32(-1, since=11)
    records: Buffer | FileSlice | None = batches(nullable_since=0)


@dataclass(slots=True)
class FetchableTopicResponse:
    topic: str = text(until=12)
    topic_id: bytes = uuid(since=13)
    partitions: list[PartitionData] = many(PartitionData)


@dataclass(slots=True)
class NodeEndpoint:
    node_id: int = int32()
    host: str = text()
    port: int = int32()
    rack: str | None = text(None, nullable_since=0)


@dataclass(slots=True)
class FetchResponse(Message):
    api_key: ClassVar[int] = 1
    throttle_time_ms: int = int32()
    error_code: int = int16(since=7)
    session_id: int = int32(since=7)
    responses: list[FetchableTopicResponse] = many(FetchableTopicResponse)
    node_endpoints: list[NodeEndpoint] = many(NodeEndpoint, since=16, tag=0)
