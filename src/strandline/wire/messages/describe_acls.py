"""DescribeAcls (29), versions 1 to 3, flexible from 2: access rules that match a filter."""

from __future__ import annotations

from typing import ClassVar

from strandline.model.lazy_dataclass import dataclass
from strandline.wire.layout import Message, int8, int16, int32, many, text


@dataclass(slots=True)
class DescribeAclsRequest(Message):
    api_key: ClassVar[int] = 29
    resource_type_filter: int = int8()
    resource_name_filter: str | None = text(None, nullable_since=0)
    pattern_type_filter: int = int8(3)
    principal_filter: str | None = text(None, nullable_since=0)
    host_filter: str | None = text(None, nullable_since=0)
    operation: int = int8()
    permission_type: int = int8()


@dataclass(slots=True)
class AclDescription:
    principal: str = text()
    host: str = text()
    operation: int = int8()
    permission_type: int = int8()


@dataclass(slots=True)
class DescribeAclsResource:
    resource_type: int = int8()
    resource_name: str = text()
    pattern_type: int = int8(3)
    acls: list[AclDescription] = many(AclDescription)


@dataclass(slots=True)
class DescribeAclsResponse(Message):
    api_key: ClassVar[int] = 29
    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = text(None, nullable_since=0)
    resources: list[DescribeAclsResource] = many(DescribeAclsResource)
