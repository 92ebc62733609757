"""OffsetForLeaderEpoch (23), versions 2 to 4, flexible from 4: where epochs ended, to find where logs part."""

from __future__ import annotations

from typing import ClassVar

from strandline.model.lazy_dataclass import dataclass
from strandline.wire.layout import Message, int16, int32, int64, many, text


@dataclass(slots=True)
class OffsetForLeaderPartition:
    partition: int = int32()
    current_leader_epoch: int = int32(-1)
    leader_epoch: int = int32()


@dataclass(slots=True)
class OffsetForLeaderTopic:
    topic: str = text()
    partitions: list[OffsetForLeaderPartition] = many(OffsetForLeaderPartition)


@dataclass(slots=True)
class OffsetForLeaderEpochRequest(Message):
    api_key: ClassVar[int] = 23
    replica_id: int = int32(-2, since=3)
    topics: list[OffsetForLeaderTopic] = many(OffsetForLeaderTopic)


@dataclass(slots=True)
class EpochEndOffset:
    error_code: int = int16()
    partition: int = int32()
    leader_epoch: int = int32(-1)
    end_offset: int = int64(-1)


@dataclass(slots=True)
class OffsetForLeaderTopicResult:
    topic: str = text()
    partitions: list[EpochEndOffset] = many(EpochEndOffset)


@dataclass(slots=True)
class OffsetForLeaderEpochResponse(Message):
    api_key: ClassVar[int] = 23
    throttle_time_ms: int = int32()
    topics: list[OffsetForLeaderTopicResult] = many(OffsetForLeaderTopicResult)
