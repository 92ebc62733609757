"""ListOffsets (2), versions 1 to 11, flexible from 6: offsets by time, or by a number below 0 that stands for one."""

from __future__ import annotations

from typing import ClassVar

from strandline.model.lazy_dataclass import dataclass
from strandline.wire.layout import Message, int8, int16, int32, int64, many, text


@dataclass(slots=True)
class ListOffsetsPartition:
    partition_index: int = int32()
    current_leader_epoch: int = int32(-1, since=4)
    timestamp: int = int64()


@dataclass(slots=True)
class ListOffsetsTopic:
    name: str = text()
    partitions: list[ListOffsetsPartition] = many(ListOffsetsPartition)


@dataclass(slots=True)
class ListOffsetsRequest(Message):
    api_key: ClassVar[int] = 2
    replica_id: int = int32()
    isolation_level: int = int8(since=2)
    topics: list[ListOffsetsTopic] = many(ListOffsetsTopic)
    timeout_ms: int = int32(since=10)


@dataclass(slots=True)
class ListOffsetsPartitionResponse:
    partition_index: int = int32()
    error_code: int = int16()
    timestamp: int = int64(-1)
    offset: int = int64(-1)
    leader_epoch: int = int32(-1, since=4)


@dataclass(slots=True)
class ListOffsetsTopicResponse:
    name: str = text()
    partitions: list[ListOffsetsPartitionResponse] = many(ListOffsetsPartitionResponse)


@dataclass(slots=True)
class ListOffsetsResponse(Message):
    api_key: ClassVar[int] = 2
    throttle_time_ms: int = int32(since=2)
    topics: list[ListOffsetsTopicResponse] = many(ListOffsetsTopicResponse)
