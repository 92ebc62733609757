"""ListTransactions (66), versions 0 to 2, flexible: transactional ids of a coordinator (KIP-664, KIP-994, KIP-1152)."""

from __future__ import annotations

from typing import ClassVar

from strandline.model.lazy_dataclass import dataclass
from strandline.wire.layout import Message, int16, int32, int64, many, text


@dataclass(slots=True)
class ListTransactionsRequest(Message):
    api_key: ClassVar[int] = 66
    state_filters: list[str] = many("string")
    producer_id_filters: list[int] = many("int64")
    duration_filter: int = int64(-1, since=1)
    transactional_id_pattern: str | None = text(None, since=2, nullable_since=2)


@dataclass(slots=True)
class TransactionState:
    transactional_id: str = text()
    producer_id: int = int64()
    transaction_state: str = text()


@dataclass(slots=True)
class ListTransactionsResponse(Message):
    api_key: ClassVar[int] = 66
    throttle_time_ms: int = int32()
    error_code: int = int16()
    unknown_state_filters: list[str] = many("string")
    transaction_states: list[TransactionState] = many(TransactionState)
