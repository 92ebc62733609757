"""WriteTxnMarkers (27), versions 1 to 2, flexible: a coordinator has leaders write the ends of transactions."""

from __future__ import annotations

from typing import ClassVar

from strandline.model.lazy_dataclass import dataclass
from strandline.wire.layout import Message, boolean, int8, int16, int32, int64, many, text


@dataclass(slots=True)
class WritableTxnMarkerTopic:
    name: str = text()
    partition_indexes: list[int] = many("int32")


@dataclass(slots=True)
class WritableTxnMarker:
    producer_id: int = int64()
    producer_epoch: int = int16()
    transaction_result: bool = boolean()
    topics: list[WritableTxnMarkerTopic] = many(WritableTxnMarkerTopic)
    coordinator_epoch: int = int32()
    transaction_version: int = int8(since=2)


@dataclass(slots=True)
class WriteTxnMarkersRequest(Message):
    api_key: ClassVar[int] = 27
    markers: list[WritableTxnMarker] = many(WritableTxnMarker)


@dataclass(slots=True)
class WritableTxnMarkerPartitionResult:
    partition_index: int = int32()
    error_code: int = int16()


@dataclass(slots=True)
class WritableTxnMarkerTopicResult:
    name: str = text()
    partitions: list[WritableTxnMarkerPartitionResult] = many(WritableTxnMarkerPartitionResult)


@dataclass(slots=True)
class WritableTxnMarkerResult:
    producer_id: int = int64()
    topics: list[WritableTxnMarkerTopicResult] = many(WritableTxnMarkerTopicResult)


@dataclass(slots=True)
class WriteTxnMarkersResponse(Message):
    api_key: ClassVar[int] = 27
    markers: list[WritableTxnMarkerResult] = many(WritableTxnMarkerResult)
