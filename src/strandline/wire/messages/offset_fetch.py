"""OffsetFetch (9), versions 1 to 10, flexible from 6: a group's remembered positions."""

from __future__ import annotations

from typing import ClassVar

from strandline.model.lazy_dataclass import dataclass
from strandline.wire.layout import Message, boolean, int16, int32, int64, many, text, uuid


@dataclass(slots=True)
class OffsetFetchRequestTopic:
    name: str = text()
    partition_indexes: list[int] = many("int32")


@dataclass(slots=True)
class OffsetFetchRequestTopics:
    name: str = text(until=9)
    topic_id: bytes = uuid(since=10)
    partition_indexes: list[int] = many("int32")


@dataclass(slots=True)
class OffsetFetchRequestGroup:
    group_id: str = text()
    member_id: str | None = text(None, since=9, nullable_since=0)
    member_epoch: int = int32(-1, since=9)
    topics: list[OffsetFetchRequestTopics] | None = many(OffsetFetchRequestTopics, None, nullable_since=0)


@dataclass(slots=True)
class OffsetFetchRequest(Message):
    api_key: ClassVar[int] = 9
    group_id: str = text(until=7)
    topics: list[OffsetFetchRequestTopic] | None = many(OffsetFetchRequestTopic, None, until=7, nullable_since=2)
    groups: list[OffsetFetchRequestGroup] = many(OffsetFetchRequestGroup, since=8)
    require_stable: bool = boolean(since=7)


@dataclass(slots=True)
class OffsetFetchResponsePartition:
    partition_index: int = int32()
    committed_offset: int = int64()
    committed_leader_epoch: int = int32(-1, since=5)
    metadata: str | None = text(None, nullable_since=0)
    error_code: int = int16()


@dataclass(slots=True)
class OffsetFetchResponseTopic:
    name: str = text()
    partitions: list[OffsetFetchResponsePartition] = many(OffsetFetchResponsePartition)


@dataclass(slots=True)
class OffsetFetchResponsePartitions:
    partition_index: int = int32()
    committed_offset: int = int64()
    committed_leader_epoch: int = int32(-1)
    metadata: str | None = text(None, nullable_since=0)
    error_code: int = int16()


@dataclass(slots=True)
class OffsetFetchResponseTopics:
    name: str = text(until=9)
    topic_id: bytes = uuid(since=10)
    partitions: list[OffsetFetchResponsePartitions] = many(OffsetFetchResponsePartitions)


@dataclass(slots=True)
class OffsetFetchResponseGroup:
    group_id: str = text()
    topics: list[OffsetFetchResponseTopics] = many(OffsetFetchResponseTopics)
    error_code: int = int16()


@dataclass(slots=True)
class OffsetFetchResponse(Message):
    api_key: ClassVar[int] = 9
    throttle_time_ms: int = int32(since=3)
    topics: list[OffsetFetchResponseTopic] = many(OffsetFetchResponseTopic, until=7)
    error_code: int = int16(since=2, until=7)
    groups: list[OffsetFetchResponseGroup] = many(OffsetFetchResponseGroup, since=8)
