"""Heartbeat (12), versions 0 to 4, flexible from 4: a sign of life from a member of a classic group."""

from __future__ import annotations

from typing import ClassVar

from strandline.model.lazy_dataclass import dataclass
from strandline.wire.layout import Message, int16, int32, text


@dataclass(slots=True)
class HeartbeatRequest(Message):
    api_key: ClassVar[int] = 12
    group_id: str = text()
    generation_id: int = int32()
    member_id: str = text()
    group_instance_id: str | None = text(None, since=3, nullable_since=0)


@dataclass(slots=True)
class HeartbeatResponse(Message):
    api_key: ClassVar[int] = 12
    throttle_time_ms: int = int32(since=1)
    error_code: int = int16()
