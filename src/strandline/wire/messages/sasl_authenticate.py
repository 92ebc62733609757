"""SaslAuthenticate (36), versions 0 to 2, flexible from 2: one step of a SASL exchange."""

from __future__ import annotations

from typing import ClassVar

from strandline.model.lazy_dataclass import dataclass
from strandline.wire.layout import Message, blob, int16, int64, text


@dataclass(slots=True)
class SaslAuthenticateRequest(Message):
    api_key: ClassVar[int] = 36
    auth_bytes: bytes = blob()


@dataclass(slots=True)
class SaslAuthenticateResponse(Message):
    api_key: ClassVar[int] = 36
    error_code: int = int16()
    error_message: str | None = text(None, nullable_since=0)
    auth_bytes: bytes = blob()
    session_lifetime_ms: int = int64(since=1)
