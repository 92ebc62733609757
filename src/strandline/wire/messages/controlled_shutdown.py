"""ControlledShutdown (7), versions 0 to 3, flexible from 3: a broker asks the controller to take its leaderships away.

As in Kafka 3.9, between brokers only. `remaining_partitions` are those that it still leads: it asks again.
"""

from __future__ import annotations

from typing import ClassVar

from strandline.model.lazy_dataclass import dataclass
from strandline.wire.layout import Message, int16, int32, int64, many, text


@dataclass(slots=True)
class ControlledShutdownRequest(Message):
    api_key: ClassVar[int] = 7
    broker_id: int = int32()
    broker_epoch: int = int64(-1, since=2)


@dataclass(slots=True)
class RemainingPartition:
    topic_name: str = text()
    partition_index: int = int32()


@dataclass(slots=True)
class ControlledShutdownResponse(Message):
    api_key: ClassVar[int] = 7
    error_code: int = int16()
    remaining_partitions: list[RemainingPartition] = many(RemainingPartition)
