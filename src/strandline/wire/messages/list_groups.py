"""ListGroups (16), versions 0 to 5, flexible from 3: the groups of this broker."""

from __future__ import annotations

from typing import ClassVar

from strandline.model.lazy_dataclass import dataclass
from strandline.wire.layout import Message, int16, int32, many, text


@dataclass(slots=True)
class ListGroupsRequest(Message):
    api_key: ClassVar[int] = 16
    states_filter: list[str] = many("string", since=4)
    types_filter: list[str] = many("string", since=5)


@dataclass(slots=True)
class ListedGroup:
    group_id: str = text()
    protocol_type: str = text()
    group_state: str = text(since=4)
    group_type: str = text(since=5)


@dataclass(slots=True)
class ListGroupsResponse(Message):
    api_key: ClassVar[int] = 16
    throttle_time_ms: int = int32(since=1)
    error_code: int = int16()
    groups: list[ListedGroup] = many(ListedGroup)
