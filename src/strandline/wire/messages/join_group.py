"""JoinGroup (11), versions 0 to 9, flexible from 6: membership in a classic group."""

from __future__ import annotations

from typing import ClassVar

from strandline.model.lazy_dataclass import dataclass
from strandline.wire.layout import Message, blob, boolean, int16, int32, many, text


@dataclass(slots=True)
class JoinGroupRequestProtocol:
    name: str = text()
    metadata: bytes = blob()


@dataclass(slots=True)
class JoinGroupRequest(Message):
    api_key: ClassVar[int] = 11
    group_id: str = text()
    session_timeout_ms: int = int32()
    rebalance_timeout_ms: int = int32(-1, since=1)
    member_id: str = text()
    group_instance_id: str | None = text(None, since=5, nullable_since=0)
    protocol_type: str = text()
    protocols: list[JoinGroupRequestProtocol] = many(JoinGroupRequestProtocol)
    reason: str | None = text(None, since=8, nullable_since=0)


@dataclass(slots=True)
class JoinGroupResponseMember:
    member_id: str = text()
    group_instance_id: str | None = text(None, since=5, nullable_since=0)
    metadata: bytes = blob()


@dataclass(slots=True)
class JoinGroupResponse(Message):
    api_key: ClassVar[int] = 11
    throttle_time_ms: int = int32(since=2)
    error_code: int = int16()
    generation_id: int = int32(-1)
    protocol_type: str | None = text(None, since=7, nullable_since=0)
    protocol_name: str | None = text(None, nullable_since=7)
    leader: str = text()
    skip_assignment: bool = boolean(since=9)
    member_id: str = text()
    members: list[JoinGroupResponseMember] = many(JoinGroupResponseMember)
