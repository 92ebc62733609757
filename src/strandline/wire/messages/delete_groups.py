"""DeleteGroups (42), versions 0 to 2, flexible from 2: groups to forget."""

from __future__ import annotations

from typing import ClassVar

from strandline.model.lazy_dataclass import dataclass
from strandline.wire.layout import Message, int16, int32, many, text


@dataclass(slots=True)
class DeleteGroupsRequest(Message):
    api_key: ClassVar[int] = 42
    groups_names: list[str] = many("string")


@dataclass(slots=True)
class DeletableGroupResult:
    group_id: str = text()
    error_code: int = int16()


@dataclass(slots=True)
class DeleteGroupsResponse(Message):
    api_key: ClassVar[int] = 42
    throttle_time_ms: int = int32()
    results: list[DeletableGroupResult] = many(DeletableGroupResult)
