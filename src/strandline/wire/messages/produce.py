"""Produce (0), versions 3 to 13, flexible from 9: batches to append, and where they went."""

from __future__ import annotations

from typing import ClassVar

from strandline.model.lazy_dataclass import dataclass
from strandline.wire.layout import Message, batches, int16, int32, int64, many, one, text, uuid
from strandline.wire.primitives import Buffer


@dataclass(slots=True)
class PartitionProduceData:
    index: int = int32()
    records: Buffer | None = batches(nullable_since=0)


@dataclass(slots=True)
class TopicProduceData:
    name: str = text(until=12)
    topic_id: bytes = uuid(since=13)
    partition_data: list[PartitionProduceData] = many(PartitionProduceData)


@dataclass(slots=True)
class ProduceRequest(Message):
    api_key: ClassVar[int] = 0
    transactional_id: str | None = text(None, nullable_since=0)
    acks: int = int16()
    timeout_ms: int = int32()
    topic_data: list[TopicProduceData] = many(TopicProduceData)


@dataclass(slots=True)
class BatchIndexAndErrorMessage:
    batch_index: int = int32()
    batch_index_error_message: str | None = text(None, nullable_since=0)


@dataclass(slots=True)
class LeaderIdAndEpoch:
    leader_id: int = int32(-1)
    leader_epoch: int = int32(-1)


@dataclass(slots=True)
class PartitionProduceResponse:
    index: int = int32()
    error_code: int = int16()
    base_offset: int = int64()
    log_append_time_ms: int = int64(-1)
    log_start_offset: int = int64(-1, since=5)
    record_errors: list[BatchIndexAndErrorMessage] = many(BatchIndexAndErrorMessage, since=8)
    error_message: str | None = text(None, since=8, nullable_since=0)
    current_leader: LeaderIdAndEpoch = one(LeaderIdAndEpoch, since=10, tag=0)


@dataclass(slots=True)
class TopicProduceResponse:
    name: str = text(until=12)
    topic_id: bytes = uuid(since=13)
    partition_responses: list[PartitionProduceResponse] = many(PartitionProduceResponse)


@dataclass(slots=True)
class NodeEndpoint:
    node_id: int = int32()
    host: str = text()
    port: int = int32()
    rack: str | None = text(None, nullable_since=0)


@dataclass(slots=True)
class ProduceResponse(Message):
    api_key: ClassVar[int] = 0
    responses: list[TopicProduceResponse] = many(TopicProduceResponse)
    throttle_time_ms: int = int32()
    node_endpoints: list[NodeEndpoint] = many(NodeEndpoint, since=10, tag=0)
