"""InitProducerId (22), versions 0 to 5, flexible from 2: an identity for an idempotent producer."""

from __future__ import annotations

from typing import ClassVar

from strandline.model.lazy_dataclass import dataclass
from strandline.wire.layout import Message, int16, int32, int64, text


@dataclass(slots=True)
class InitProducerIdRequest(Message):
    api_key: ClassVar[int] = 22
    transactional_id: str | None = text(None, nullable_since=0)
    transaction_timeout_ms: int = int32()
    producer_id: int = int64(-1, since=3)
    producer_epoch: int = int16(-1, since=3)


@dataclass(slots=True)
class InitProducerIdResponse(Message):
    api_key: ClassVar[int] = 22
    throttle_time_ms: int = int32()
    error_code: int = int16()
    producer_id: int = int64(-1)
    producer_epoch: int = int16()
