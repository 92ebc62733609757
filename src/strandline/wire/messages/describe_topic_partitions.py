"""DescribeTopicPartitions (75), version 0, flexible from 0: topics by pages, with eligible leaders (KIP-966)."""

from __future__ import annotations

from typing import ClassVar

from strandline.model.lazy_dataclass import dataclass
from strandline.wire.layout import Message, boolean, int16, int32, many, one, text, uuid


@dataclass(slots=True)
class TopicRequest:
    name: str = text()


@dataclass(slots=True)
class Cursor:
    topic_name: str = text()
    partition_index: int = int32()


@dataclass(slots=True)
class DescribeTopicPartitionsRequest(Message):
    api_key: ClassVar[int] = 75
    topics: list[TopicRequest] = many(TopicRequest)
    response_partition_limit: int = int32(2000)
    cursor: Cursor | None = one(Cursor, None, nullable_since=0)


@dataclass(slots=True)
class DescribeTopicPartitionsResponsePartition:
    error_code: int = int16()
    partition_index: int = int32()
    leader_id: int = int32()
    leader_epoch: int = int32(-1)
    replica_nodes: list[int] = many("int32")
    isr_nodes: list[int] = many("int32")
    eligible_leader_replicas: list[int] | None = many("int32", None, nullable_since=0)
    last_known_elr: list[int] | None = many("int32", None, nullable_since=0)
    offline_replicas: list[int] = many("int32")


@dataclass(slots=True)
class DescribeTopicPartitionsResponseTopic:
    error_code: int = int16()
    name: str | None = text(None, nullable_since=0)
    topic_id: bytes = uuid()
    is_internal: bool = boolean()
    partitions: list[DescribeTopicPartitionsResponsePartition] = many(DescribeTopicPartitionsResponsePartition)
    topic_authorized_operations: int = int32(-2147483648)


@dataclass(slots=True)
class DescribeTopicPartitionsResponse(Message):
    api_key: ClassVar[int] = 75
    throttle_time_ms: int = int32()
    topics: list[DescribeTopicPartitionsResponseTopic] = many(DescribeTopicPartitionsResponseTopic)
    next_cursor: Cursor | None = one(Cursor, None, nullable_since=0)
