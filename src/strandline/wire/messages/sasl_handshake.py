"""SaslHandshake (17), versions 0 to 1, never flexible: the mechanism a client wants to prove itself by."""

from __future__ import annotations

from typing import ClassVar

from strandline.model.lazy_dataclass import dataclass
from strandline.wire.layout import Message, int16, many, text


@dataclass(slots=True)
class SaslHandshakeRequest(Message):
    api_key: ClassVar[int] = 17
    mechanism: str = text()


@dataclass(slots=True)
class SaslHandshakeResponse(Message):
    api_key: ClassVar[int] = 17
    error_code: int = int16()
    mechanisms: list[str] = many("string")
