"""LeaveGroup (13), versions 0 to 5, flexible from 4: members that go."""

from __future__ import annotations

from typing import ClassVar

from strandline.model.lazy_dataclass import dataclass
from strandline.wire.layout import Message, int16, int32, many, text


@dataclass(slots=True)
class MemberIdentity:
    member_id: str = text()
    group_instance_id: str | None = text(None, nullable_since=0)
    reason: str | None = text(None, since=5, nullable_since=0)


@dataclass(slots=True)
class LeaveGroupRequest(Message):
    api_key: ClassVar[int] = 13
    group_id: str = text()
    member_id: str = text(until=2)
    members: list[MemberIdentity] = many(MemberIdentity, since=3)


@dataclass(slots=True)
class MemberResponse:
    member_id: str = text()
    group_instance_id: str | None = text(None, nullable_since=0)
    error_code: int = int16()


@dataclass(slots=True)
class LeaveGroupResponse(Message):
    api_key: ClassVar[int] = 13
    throttle_time_ms: int = int32(since=1)
    error_code: int = int16()
    members: list[MemberResponse] = many(MemberResponse, since=3)
