"""DescribeTransactions (65), version 0, flexible: what the coordinator knows of transactional ids (KIP-664)."""

from __future__ import annotations

from typing import ClassVar

from strandline.model.lazy_dataclass import dataclass
from strandline.wire.layout import Message, int16, int32, int64, many, text


@dataclass(slots=True)
class DescribeTransactionsRequest(Message):
    api_key: ClassVar[int] = 65
    transactional_ids: list[str] = many("string")


@dataclass(slots=True)
class TopicData:
    topic: str = text()
    partitions: list[int] = many("int32")


@dataclass(slots=True)
class TransactionState:
    error_code: int = int16()
    transactional_id: str = text()
    transaction_state: str = text()
    transaction_timeout_ms: int = int32()
    transaction_start_time_ms: int = int64()
    producer_id: int = int64()
    producer_epoch: int = int16()
    topics: list[TopicData] = many(TopicData)


@dataclass(slots=True)
class DescribeTransactionsResponse(Message):
    api_key: ClassVar[int] = 65
    throttle_time_ms: int = int32()
    transaction_states: list[TransactionState] = many(TransactionState)
