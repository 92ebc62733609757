"""ConsumerGroupHeartbeat (68), versions 0 to 1, flexible from 0: membership in a KIP-848 group, and its assignment."""

from __future__ import annotations

from typing import ClassVar

from strandline.model.lazy_dataclass import dataclass
from strandline.wire.layout import Message, int16, int32, many, one, text, uuid


@dataclass(slots=True)
class TopicPartitions:
    topic_id: bytes = uuid()
    partitions: list[int] = many("int32")


@dataclass(slots=True)
class ConsumerGroupHeartbeatRequest(Message):
    api_key: ClassVar[int] = 68
    group_id: str = text()
    member_id: str = text()
    member_epoch: int = int32()
    instance_id: str | None = text(None, nullable_since=0)
    rack_id: str | None = text(None, nullable_since=0)
    rebalance_timeout_ms: int = int32(-1)
    subscribed_topic_names: list[str] | None = many("string", None, nullable_since=0)
    subscribed_topic_regex: str | None = text(None, since=1, nullable_since=0)
    server_assignor: str | None = text(None, nullable_since=0)
    topic_partitions: list[TopicPartitions] | None = many(TopicPartitions, None, nullable_since=0)


@dataclass(slots=True)
class Assignment:
    topic_partitions: list[TopicPartitions] = many(TopicPartitions)


@dataclass(slots=True)
class ConsumerGroupHeartbeatResponse(Message):
    api_key: ClassVar[int] = 68
    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = text(None, nullable_since=0)
    member_id: str | None = text(None, nullable_since=0)
    member_epoch: int = int32()
    heartbeat_interval_ms: int = int32()
    assignment: Assignment | None = one(Assignment, None, nullable_since=0)
