"""OffsetCommit (8), versions 2 to 10, flexible from 8: a group's positions, to remember."""

from __future__ import annotations

from typing import ClassVar

from strandline.model.lazy_dataclass import dataclass
from strandline.wire.layout import Message, int16, int32, int64, many, text, uuid


@dataclass(slots=True)
class OffsetCommitRequestPartition:
    partition_index: int = int32()
    committed_offset: int = int64()
    committed_leader_epoch: int = int32(-1, since=6)
    committed_metadata: str | None = text(None, nullable_since=0)


@dataclass(slots=True)
class OffsetCommitRequestTopic:
    name: str = text(until=9)
    topic_id: bytes = uuid(since=10)
    partitions: list[OffsetCommitRequestPartition] = many(OffsetCommitRequestPartition)


@dataclass(slots=True)
class OffsetCommitRequest(Message):
    api_key: ClassVar[int] = 8
    group_id: str = text()
    generation_id_or_member_epoch: int = int32(-1)
    member_id: str = text()
    retention_time_ms: int = int64(-1, until=4)
    group_instance_id: str | None = text(None, since=7, nullable_since=0)
    topics: list[OffsetCommitRequestTopic] = many(OffsetCommitRequestTopic)


@dataclass(slots=True)
class OffsetCommitResponsePartition:
    partition_index: int = int32()
    error_code: int = int16()


@dataclass(slots=True)
class OffsetCommitResponseTopic:
    name: str = text(until=9)
    topic_id: bytes = uuid(since=10)
    partitions: list[OffsetCommitResponsePartition] = many(OffsetCommitResponsePartition)


@dataclass(slots=True)
class OffsetCommitResponse(Message):
    api_key: ClassVar[int] = 8
    throttle_time_ms: int = int32(since=3)
    topics: list[OffsetCommitResponseTopic] = many(OffsetCommitResponseTopic)
