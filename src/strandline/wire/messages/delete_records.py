"""DeleteRecords (21), versions 0 to 2, flexible from 2: offsets below which records may go."""

from __future__ import annotations

from typing import ClassVar

from strandline.model.lazy_dataclass import dataclass
from strandline.wire.layout import Message, int16, int32, int64, many, text


@dataclass(slots=True)
class DeleteRecordsPartition:
    partition_index: int = int32()
    offset: int = int64()


@dataclass(slots=True)
class DeleteRecordsTopic:
    name: str = text()
    partitions: list[DeleteRecordsPartition] = many(DeleteRecordsPartition)


@dataclass(slots=True)
class DeleteRecordsRequest(Message):
    api_key: ClassVar[int] = 21
    topics: list[DeleteRecordsTopic] = many(DeleteRecordsTopic)
    timeout_ms: int = int32()


@dataclass(slots=True)
class DeleteRecordsPartitionResult:
    partition_index: int = int32()
    low_watermark: int = int64()
    error_code: int = int16()


@dataclass(slots=True)
class DeleteRecordsTopicResult:
    name: str = text()
    partitions: list[DeleteRecordsPartitionResult] = many(DeleteRecordsPartitionResult)


@dataclass(slots=True)
class DeleteRecordsResponse(Message):
    api_key: ClassVar[int] = 21
    throttle_time_ms: int = int32()
    topics: list[DeleteRecordsTopicResult] = many(DeleteRecordsTopicResult)
