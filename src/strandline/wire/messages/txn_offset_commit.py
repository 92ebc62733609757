"""TxnOffsetCommit (28), versions 0 to 5, flexible from 3: positions that count if the transaction is committed."""

from __future__ import annotations

from typing import ClassVar

from strandline.model.lazy_dataclass import dataclass
from strandline.wire.layout import Message, int16, int32, int64, many, text


@dataclass(slots=True)
class TxnOffsetCommitRequestPartition:
    partition_index: int = int32()
    committed_offset: int = int64()
    committed_leader_epoch: int = int32(-1, since=2)
    committed_metadata: str | None = text(None, nullable_since=0)


@dataclass(slots=True)
class TxnOffsetCommitRequestTopic:
    name: str = text()
    partitions: list[TxnOffsetCommitRequestPartition] = many(TxnOffsetCommitRequestPartition)


@dataclass(slots=True)
class TxnOffsetCommitRequest(Message):
    api_key: ClassVar[int] = 28
    transactional_id: str = text()
    group_id: str = text()
    producer_id: int = int64()
    producer_epoch: int = int16()
    generation_id: int = int32(-1, since=3)
    member_id: str = text(since=3)
    group_instance_id: str | None = text(None, since=3, nullable_since=3)
    topics: list[TxnOffsetCommitRequestTopic] = many(TxnOffsetCommitRequestTopic)


@dataclass(slots=True)
class TxnOffsetCommitResponsePartition:
    partition_index: int = int32()
    error_code: int = int16()


@dataclass(slots=True)
class TxnOffsetCommitResponseTopic:
    name: str = text()
    partitions: list[TxnOffsetCommitResponsePartition] = many(TxnOffsetCommitResponsePartition)


@dataclass(slots=True)
class TxnOffsetCommitResponse(Message):
    api_key: ClassVar[int] = 28
    throttle_time_ms: int = int32()
    topics: list[TxnOffsetCommitResponseTopic] = many(TxnOffsetCommitResponseTopic)
