"""ListPartitionReassignments (46), version 0, flexible: which replicas are on the move (KIP-455)."""

from __future__ import annotations

from typing import ClassVar

from strandline.model.lazy_dataclass import dataclass
from strandline.wire.layout import Message, int16, int32, many, text


@dataclass(slots=True)
class ListPartitionReassignmentsTopics:
    name: str = text()
    partition_indexes: list[int] = many("int32")


@dataclass(slots=True)
class ListPartitionReassignmentsRequest(Message):
    api_key: ClassVar[int] = 46
    timeout_ms: int = int32(60000)
    topics: list[ListPartitionReassignmentsTopics] | None = many(
        ListPartitionReassignmentsTopics, None, nullable_since=0
    )


@dataclass(slots=True)
class OngoingPartitionReassignment:
    partition_index: int = int32()
    replicas: list[int] = many("int32")
    adding_replicas: list[int] = many("int32")
    removing_replicas: list[int] = many("int32")


@dataclass(slots=True)
class OngoingTopicReassignment:
    name: str = text()
    partitions: list[OngoingPartitionReassignment] = many(OngoingPartitionReassignment)


@dataclass(slots=True)
class ListPartitionReassignmentsResponse(Message):
    api_key: ClassVar[int] = 46
    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = text(None, nullable_since=0)
    topics: list[OngoingTopicReassignment] = many(OngoingTopicReassignment)
