"""AddPartitionsToTxn (24), versions 0 to 5, flexible from 3: partitions that a transaction will write to.

Clients send up to version 3, one transaction each; from 4 on brokers ask for many at once, to verify (KIP-890).
"""

from __future__ import annotations

from typing import ClassVar

from strandline.model.lazy_dataclass import dataclass
from strandline.wire.layout import Message, boolean, int16, int32, int64, many, text


@dataclass(slots=True)
class AddPartitionsToTxnTopic:
    name: str = text()
    partitions: list[int] = many("int32")


@dataclass(slots=True)
class AddPartitionsToTxnTransaction:
    transactional_id: str = text()
    producer_id: int = int64()
    producer_epoch: int = int16()
    verify_only: bool = boolean()
    topics: list[AddPartitionsToTxnTopic] = many(AddPartitionsToTxnTopic)


@dataclass(slots=True)
class AddPartitionsToTxnRequest(Message):
    api_key: ClassVar[int] = 24
    transactions: list[AddPartitionsToTxnTransaction] = many(AddPartitionsToTxnTransaction, since=4)
    v3_and_below_transactional_id: str = text(until=3)
    v3_and_below_producer_id: int = int64(until=3)
    v3_and_below_producer_epoch: int = int16(until=3)
    v3_and_below_topics: list[AddPartitionsToTxnTopic] = many(AddPartitionsToTxnTopic, until=3)


@dataclass(slots=True)
class AddPartitionsToTxnPartitionResult:
    partition_index: int = int32()
    partition_error_code: int = int16()


@dataclass(slots=True)
class AddPartitionsToTxnTopicResult:
    name: str = text()
    results_by_partition: list[AddPartitionsToTxnPartitionResult] = many(AddPartitionsToTxnPartitionResult)


@dataclass(slots=True)
class AddPartitionsToTxnResult:
    transactional_id: str = text()
    topic_results: list[AddPartitionsToTxnTopicResult] = many(AddPartitionsToTxnTopicResult)


@dataclass(slots=True)
class AddPartitionsToTxnResponse(Message):
    api_key: ClassVar[int] = 24
    throttle_time_ms: int = int32()
    error_code: int = int16(since=4)
    results_by_transaction: list[AddPartitionsToTxnResult] = many(AddPartitionsToTxnResult, since=4)
    results_by_topic_v3_and_below: list[AddPartitionsToTxnTopicResult] = many(AddPartitionsToTxnTopicResult, until=3)
