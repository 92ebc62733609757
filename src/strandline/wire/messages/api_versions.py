"""ApiVersions (18), versions 0 to 4, flexible from 3: what the broker can do, in which versions."""

from __future__ import annotations

from typing import ClassVar

from strandline.model.lazy_dataclass import dataclass
from strandline.wire.layout import Message, boolean, int16, int32, int64, many, text


@dataclass(slots=True)
class ApiVersionsRequest(Message):
    api_key: ClassVar[int] = 18
    client_software_name: str = text(since=3)
    client_software_version: str = text(since=3)


@dataclass(slots=True)
class ApiVersion:
    api_key: int = int16()
    min_version: int = int16()
    max_version: int = int16()


@dataclass(slots=True)
class SupportedFeatureKey:
    name: str = text()
    min_version: int = int16()
    max_version: int = int16()


@dataclass(slots=True)
class FinalizedFeatureKey:
    name: str = text()
    max_version_level: int = int16()
    min_version_level: int = int16()


@dataclass(slots=True)
class ApiVersionsResponse(Message):
    api_key: ClassVar[int] = 18
    error_code: int = int16()
    api_keys: list[ApiVersion] = many(ApiVersion)
    throttle_time_ms: int = int32(since=1)
    supported_features: list[SupportedFeatureKey] = many(SupportedFeatureKey, since=3, tag=0)
    finalized_features_epoch: int = int64(-1, since=3, tag=1)
    finalized_features: list[FinalizedFeatureKey] = many(FinalizedFeatureKey, since=3, tag=2)
    zk_migration_ready: bool = boolean(since=3, tag=3)
