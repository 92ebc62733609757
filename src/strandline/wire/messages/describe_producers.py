"""DescribeProducers (61), version 0, flexible from 0: the producers a partition remembers."""

from __future__ import annotations

from typing import ClassVar

from strandline.model.lazy_dataclass import dataclass
from strandline.wire.layout import Message, int16, int32, int64, many, text


@dataclass(slots=True)
class TopicRequest:
    name: str = text()
    partition_indexes: list[int] = many("int32")


@dataclass(slots=True)
class DescribeProducersRequest(Message):
    api_key: ClassVar[int] = 61
    topics: list[TopicRequest] = many(TopicRequest)


@dataclass(slots=True)
class ProducerState:
    producer_id: int = int64()
    producer_epoch: int = int32()
    last_sequence: int = int32(-1)
    last_timestamp: int = int64(-1)
    coordinator_epoch: int = int32()
    current_txn_start_offset: int = int64(-1)


@dataclass(slots=True)
class PartitionResponse:
    partition_index: int = int32()
    error_code: int = int16()
    error_message: str | None = text(None, nullable_since=0)
    active_producers: list[ProducerState] = many(ProducerState)


@dataclass(slots=True)
class TopicResponse:
    name: str = text()
    partitions: list[PartitionResponse] = many(PartitionResponse)


@dataclass(slots=True)
class DescribeProducersResponse(Message):
    api_key: ClassVar[int] = 61
    throttle_time_ms: int = int32()
    topics: list[TopicResponse] = many(TopicResponse)
