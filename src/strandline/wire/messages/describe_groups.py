"""DescribeGroups (15), versions 0 to 6, flexible from 5: state and members of classic groups."""

from __future__ import annotations

from typing import ClassVar

from strandline.model.lazy_dataclass import dataclass
from strandline.wire.layout import Message, blob, boolean, int16, int32, many, text


@dataclass(slots=True)
class DescribeGroupsRequest(Message):
    api_key: ClassVar[int] = 15
    groups: list[str] = many("string")
    include_authorized_operations: bool = boolean(since=3)


@dataclass(slots=True)
class DescribedGroupMember:
    member_id: str = text()
    group_instance_id: str | None = text(None, since=4, nullable_since=0)
    client_id: str = text()
    client_host: str = text()
    member_metadata: bytes = blob()
    member_assignment: bytes = blob()


@dataclass(slots=True)
class DescribedGroup:
    error_code: int = int16()
    error_message: str | None = text(None, since=6, nullable_since=0)
    group_id: str = text()
    group_state: str = text()
    protocol_type: str = text()
    protocol_data: str = text()
    members: list[DescribedGroupMember] = many(DescribedGroupMember)
    authorized_operations: int = int32(-2147483648, since=3)


@dataclass(slots=True)
class DescribeGroupsResponse(Message):
    api_key: ClassVar[int] = 15
    throttle_time_ms: int = int32(since=1)
    groups: list[DescribedGroup] = many(DescribedGroup)
