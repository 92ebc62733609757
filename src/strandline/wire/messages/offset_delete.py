"""OffsetDelete (47), version 0, never flexible: a group's positions, to forget."""

from __future__ import annotations

from typing import ClassVar

from strandline.model.lazy_dataclass import dataclass
from strandline.wire.layout import Message, int16, int32, many, text


@dataclass(slots=True)
class OffsetDeleteRequestPartition:
    partition_index: int = int32()


@dataclass(slots=True)
class OffsetDeleteRequestTopic:
    name: str = text()
    partitions: list[OffsetDeleteRequestPartition] = many(OffsetDeleteRequestPartition)


@dataclass(slots=True)
class OffsetDeleteRequest(Message):
    api_key: ClassVar[int] = 47
    group_id: str = text()
    topics: list[OffsetDeleteRequestTopic] = many(OffsetDeleteRequestTopic)


@dataclass(slots=True)
class OffsetDeleteResponsePartition:
    partition_index: int = int32()
    error_code: int = int16()


@dataclass(slots=True)
class OffsetDeleteResponseTopic:
    name: str = text()
    partitions: list[OffsetDeleteResponsePartition] = many(OffsetDeleteResponsePartition)


@dataclass(slots=True)
class OffsetDeleteResponse(Message):
    api_key: ClassVar[int] = 47
    error_code: int = int16()
    throttle_time_ms: int = int32()
    topics: list[OffsetDeleteResponseTopic] = many(OffsetDeleteResponseTopic)
