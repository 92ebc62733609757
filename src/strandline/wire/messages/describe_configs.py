"""DescribeConfigs (32), versions 1 to 4, flexible from 4: settings, their sources and synonyms."""

from __future__ import annotations

from typing import ClassVar

from strandline.model.lazy_dataclass import dataclass
from strandline.wire.layout import Message, boolean, int8, int16, int32, many, text


@dataclass(slots=True)
class DescribeConfigsResource:
    resource_type: int = int8()
    resource_name: str = text()
    configuration_keys: list[str] | None = many("string", nullable_since=0)


@dataclass(slots=True)
class DescribeConfigsRequest(Message):
    api_key: ClassVar[int] = 32
    resources: list[DescribeConfigsResource] = many(DescribeConfigsResource)
    include_synonyms: bool = boolean()
    include_documentation: bool = boolean(since=3)


@dataclass(slots=True)
class DescribeConfigsSynonym:
    name: str = text()
    value: str | None = text(None, nullable_since=0)
    source: int = int8()


@dataclass(slots=True)
class DescribeConfigsResourceResult:
    name: str = text()
    value: str | None = text(None, nullable_since=0)
    read_only: bool = boolean()
    config_source: int = int8(-1)
    is_sensitive: bool = boolean()
    synonyms: list[DescribeConfigsSynonym] = many(DescribeConfigsSynonym)
    config_type: int = int8(since=3)
    documentation: str | None = text(None, since=3, nullable_since=0)


@dataclass(slots=True)
class DescribeConfigsResult:
    error_code: int = int16()
    error_message: str | None = text(None, nullable_since=0)
    resource_type: int = int8()
    resource_name: str = text()
    configs: list[DescribeConfigsResourceResult] = many(DescribeConfigsResourceResult)


@dataclass(slots=True)
class DescribeConfigsResponse(Message):
    api_key: ClassVar[int] = 32
    throttle_time_ms: int = int32()
    results: list[DescribeConfigsResult] = many(DescribeConfigsResult)
