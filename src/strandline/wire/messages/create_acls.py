"""CreateAcls (30), versions 1 to 3, flexible from 2: access rules to add."""

from __future__ import annotations

from typing import ClassVar

from strandline.model.lazy_dataclass import dataclass
from strandline.wire.layout import Message, int8, int16, int32, many, text


@dataclass(slots=True)
class AclCreation:
    resource_type: int = int8()
    resource_name: str = text()
    resource_pattern_type: int = int8(3)
    principal: str = text()
    host: str = text()
    operation: int = int8()
    permission_type: int = int8()


@dataclass(slots=True)
class CreateAclsRequest(Message):
    api_key: ClassVar[int] = 30
    creations: list[AclCreation] = many(AclCreation)


@dataclass(slots=True)
class AclCreationResult:
    error_code: int = int16()
    error_message: str | None = text(None, nullable_since=0)


@dataclass(slots=True)
class CreateAclsResponse(Message):
    api_key: ClassVar[int] = 30
    throttle_time_ms: int = int32()
    results: list[AclCreationResult] = many(AclCreationResult)
