"""DeleteAcls (31), versions 1 to 3, flexible from 2: access rules to remove, by filters."""

from __future__ import annotations

from typing import ClassVar

from strandline.model.lazy_dataclass import dataclass
from strandline.wire.layout import Message, int8, int16, int32, many, text


@dataclass(slots=True)
class DeleteAclsFilter:
    resource_type_filter: int = int8()
    resource_name_filter: str | None = text(None, nullable_since=0)
    pattern_type_filter: int = int8(3)
    principal_filter: str | None = text(None, nullable_since=0)
    host_filter: str | None = text(None, nullable_since=0)
    operation: int = int8()
    permission_type: int = int8()


@dataclass(slots=True)
class DeleteAclsRequest(Message):
    api_key: ClassVar[int] = 31
    filters: list[DeleteAclsFilter] = many(DeleteAclsFilter)


@dataclass(slots=True)
class DeleteAclsMatchingAcl:
    error_code: int = int16()
    error_message: str | None = text(None, nullable_since=0)
    resource_type: int = int8()
    resource_name: str = text()
    pattern_type: int = int8(3)
    principal: str = text()
    host: str = text()
    operation: int = int8()
    permission_type: int = int8()


@dataclass(slots=True)
class DeleteAclsFilterResult:
    error_code: int = int16()
    error_message: str | None = text(None, nullable_since=0)
    matching_acls: list[DeleteAclsMatchingAcl] = many(DeleteAclsMatchingAcl)


@dataclass(slots=True)
class DeleteAclsResponse(Message):
    api_key: ClassVar[int] = 31
    throttle_time_ms: int = int32()
    filter_results: list[DeleteAclsFilterResult] = many(DeleteAclsFilterResult)
