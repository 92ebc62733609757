"""ElectLeaders (43), versions 0 to 2, flexible from 2: have preferred or unclean leaders elected (KIP-460)."""

from __future__ import annotations

from typing import ClassVar

from strandline.model.lazy_dataclass import dataclass
from strandline.wire.layout import Message, int8, int16, int32, many, text


@dataclass(slots=True)
class TopicPartitions:
    topic: str = text()
    partitions: list[int] = many("int32")


@dataclass(slots=True)
class ElectLeadersRequest(Message):
    api_key: ClassVar[int] = 43
    election_type: int = int8(since=1)
    topic_partitions: list[TopicPartitions] | None = many(TopicPartitions, None, nullable_since=0)
    timeout_ms: int = int32(60000)


@dataclass(slots=True)
class PartitionResult:
    partition_id: int = int32()
    error_code: int = int16()
    error_message: str | None = text(None, nullable_since=0)


@dataclass(slots=True)
class ReplicaElectionResult:
    topic: str = text()
    partition_result: list[PartitionResult] = many(PartitionResult)


@dataclass(slots=True)
class ElectLeadersResponse(Message):
    api_key: ClassVar[int] = 43
    throttle_time_ms: int = int32()
    error_code: int = int16(since=1)
    replica_election_results: list[ReplicaElectionResult] = many(ReplicaElectionResult)
