"""CreatePartitions (37), versions 0 to 3, flexible from 2: topics that shall have more partitions."""

from __future__ import annotations

from typing import ClassVar

from strandline.model.lazy_dataclass import dataclass
from strandline.wire.layout import Message, boolean, int16, int32, many, text


@dataclass(slots=True)
class CreatePartitionsAssignment:
    broker_ids: list[int] = many("int32")


@dataclass(slots=True)
class CreatePartitionsTopic:
    name: str = text()
    count: int = int32()
    assignments: list[CreatePartitionsAssignment] | None = many(CreatePartitionsAssignment, None, nullable_since=0)


@dataclass(slots=True)
class CreatePartitionsRequest(Message):
    api_key: ClassVar[int] = 37
    topics: list[CreatePartitionsTopic] = many(CreatePartitionsTopic)
    timeout_ms: int = int32()
    validate_only: bool = boolean()


@dataclass(slots=True)
class CreatePartitionsTopicResult:
    name: str = text()
    error_code: int = int16()
    error_message: str | None = text(None, nullable_since=0)


@dataclass(slots=True)
class CreatePartitionsResponse(Message):
    api_key: ClassVar[int] = 37
    throttle_time_ms: int = int32()
    results: list[CreatePartitionsTopicResult] = many(CreatePartitionsTopicResult)
