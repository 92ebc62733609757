"""EndTxn (26), versions 0 to 5, flexible from 3: commit or abort; from 5 on the answer has the next epoch (KIP-890)."""

from __future__ import annotations

from typing import ClassVar

from strandline.model.lazy_dataclass import dataclass
from strandline.wire.layout import Message, boolean, int16, int32, int64, text


@dataclass(slots=True)
class EndTxnRequest(Message):
    api_key: ClassVar[int] = 26
    transactional_id: str = text()
    producer_id: int = int64()
    producer_epoch: int = int16()
    committed: bool = boolean()


@dataclass(slots=True)
class EndTxnResponse(Message):
    api_key: ClassVar[int] = 26
    throttle_time_ms: int = int32()
    error_code: int = int16()
    producer_id: int = int64(-1, since=5)
    producer_epoch: int = int16(-1, since=5)
