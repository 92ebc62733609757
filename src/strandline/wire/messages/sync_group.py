"""SyncGroup (14), versions 0 to 5, flexible from 4: the leader's assignment, and each member's share of it."""

from __future__ import annotations

from typing import ClassVar

from strandline.model.lazy_dataclass import dataclass
from strandline.wire.layout import Message, blob, int16, int32, many, text


@dataclass(slots=True)
class SyncGroupRequestAssignment:
    member_id: str = text()
    assignment: bytes = blob()


@dataclass(slots=True)
class SyncGroupRequest(Message):
    api_key: ClassVar[int] = 14
    group_id: str = text()
    generation_id: int = int32()
    member_id: str = text()
    group_instance_id: str | None = text(None, since=3, nullable_since=0)
    protocol_type: str | None = text(None, since=5, nullable_since=0)
    protocol_name: str | None = text(None, since=5, nullable_since=0)
    assignments: list[SyncGroupRequestAssignment] = many(SyncGroupRequestAssignment)


@dataclass(slots=True)
class SyncGroupResponse(Message):
    api_key: ClassVar[int] = 14
    throttle_time_ms: int = int32(since=1)
    error_code: int = int16()
    protocol_type: str | None = text(None, since=5, nullable_since=0)
    protocol_name: str | None = text(None, since=5, nullable_since=0)
    assignment: bytes = blob()
