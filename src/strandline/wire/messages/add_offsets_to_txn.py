"""AddOffsetsToTxn (25), versions 0 to 4, flexible from 3: a group whose positions a transaction will commit."""

from __future__ import annotations

from typing import ClassVar

from strandline.model.lazy_dataclass import dataclass
from strandline.wire.layout import Message, int16, int32, int64, text


@dataclass(slots=True)
class AddOffsetsToTxnRequest(Message):
    api_key: ClassVar[int] = 25
    transactional_id: str = text()
    producer_id: int = int64()
    producer_epoch: int = int16()
    group_id: str = text()


@dataclass(slots=True)
class AddOffsetsToTxnResponse(Message):
    api_key: ClassVar[int] = 25
    throttle_time_ms: int = int32()
    error_code: int = int16()
