"""AlterPartitionReassignments (45), versions 0 to 1, flexible from 0: move replicas, or cancel a move (KIP-455)."""

from __future__ import annotations

from typing import ClassVar

from strandline.model.lazy_dataclass import dataclass
from strandline.wire.layout import Message, boolean, int16, int32, many, text


@dataclass(slots=True)
class ReassignablePartition:
    """Without `replicas` a move that is under way is cancelled."""

    partition_index: int = int32()
    replicas: list[int] | None = many("int32", None, nullable_since=0)


@dataclass(slots=True)
class ReassignableTopic:
    name: str = text()
    partitions: list[ReassignablePartition] = many(ReassignablePartition)


@dataclass(slots=True)
class AlterPartitionReassignmentsRequest(Message):
    api_key: ClassVar[int] = 45
    timeout_ms: int = int32(60000)
    allow_replication_factor_change: bool = boolean(True, since=1)
    topics: list[ReassignableTopic] = many(ReassignableTopic)


@dataclass(slots=True)
class ReassignablePartitionResponse:
    partition_index: int = int32()
    error_code: int = int16()
    error_message: str | None = text(None, nullable_since=0)


@dataclass(slots=True)
class ReassignableTopicResponse:
    name: str = text()
    partitions: list[ReassignablePartitionResponse] = many(ReassignablePartitionResponse)


@dataclass(slots=True)
class AlterPartitionReassignmentsResponse(Message):
    api_key: ClassVar[int] = 45
    throttle_time_ms: int = int32()
    allow_replication_factor_change: bool = boolean(True, since=1)
    error_code: int = int16()
    error_message: str | None = text(None, nullable_since=0)
    responses: list[ReassignableTopicResponse] = many(ReassignableTopicResponse)
