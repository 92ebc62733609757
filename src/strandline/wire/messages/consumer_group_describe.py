"""ConsumerGroupDescribe (69), versions 0 to 1, flexible from 0: state and members of KIP-848 groups."""

from __future__ import annotations

from typing import ClassVar

from strandline.model.lazy_dataclass import dataclass
from strandline.wire.layout import Message, boolean, int8, int16, int32, many, one, text, uuid


@dataclass(slots=True)
class ConsumerGroupDescribeRequest(Message):
    api_key: ClassVar[int] = 69
    group_ids: list[str] = many("string")
    include_authorized_operations: bool = boolean()


@dataclass(slots=True)
class TopicPartitions:
    topic_id: bytes = uuid()
    topic_name: str = text()
    partitions: list[int] = many("int32")


@dataclass(slots=True)
class Assignment:
    topic_partitions: list[TopicPartitions] = many(TopicPartitions)


@dataclass(slots=True)
class Member:
    member_id: str = text()
    instance_id: str | None = text(None, nullable_since=0)
    rack_id: str | None = text(None, nullable_since=0)
    member_epoch: int = int32()
    client_id: str = text()
    client_host: str = text()
    subscribed_topic_names: list[str] = many("string")
    subscribed_topic_regex: str | None = text(None, nullable_since=0)
    assignment: Assignment = one(Assignment)
    target_assignment: Assignment = one(Assignment)
    member_type: int = int8(-1, since=1)


@dataclass(slots=True)
class DescribedGroup:
    error_code: int = int16()
    error_message: str | None = text(None, nullable_since=0)
    group_id: str = text()
    group_state: str = text()
    group_epoch: int = int32()
    assignment_epoch: int = int32()
    assignor_name: str = text()
    members: list[Member] = many(Member)
    authorized_operations: int = int32(-2147483648)


@dataclass(slots=True)
class ConsumerGroupDescribeResponse(Message):
    api_key: ClassVar[int] = 69
    throttle_time_ms: int = int32()
    groups: list[DescribedGroup] = many(DescribedGroup)
