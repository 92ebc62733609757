"""IncrementalAlterConfigs (44), versions 0 to 1, flexible from 1: settings to change one by one."""

from __future__ import annotations

from typing import ClassVar

from strandline.model.lazy_dataclass import dataclass
from strandline.wire.layout import Message, boolean, int8, int16, int32, many, text


@dataclass(slots=True)
class AlterableConfig:
    name: str = text()
    config_operation: int = int8()
    value: str | None = text(None, nullable_since=0)


@dataclass(slots=True)
class AlterConfigsResource:
    resource_type: int = int8()
    resource_name: str = text()
    configs: list[AlterableConfig] = many(AlterableConfig)


@dataclass(slots=True)
class IncrementalAlterConfigsRequest(Message):
    api_key: ClassVar[int] = 44
    resources: list[AlterConfigsResource] = many(AlterConfigsResource)
    validate_only: bool = boolean()


@dataclass(slots=True)
class AlterConfigsResourceResponse:
    error_code: int = int16()
    error_message: str | None = text(None, nullable_since=0)
    resource_type: int = int8()
    resource_name: str = text()


@dataclass(slots=True)
class IncrementalAlterConfigsResponse(Message):
    api_key: ClassVar[int] = 44
    throttle_time_ms: int = int32()
    responses: list[AlterConfigsResourceResponse] = many(AlterConfigsResourceResponse)
