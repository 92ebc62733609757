"""CreateTopics (19), versions 2 to 7, flexible from 5: topics to create."""

from __future__ import annotations

from typing import ClassVar

from strandline.model.lazy_dataclass import dataclass
from strandline.wire.layout import Message, boolean, int8, int16, int32, many, text, uuid


@dataclass(slots=True)
class CreatableReplicaAssignment:
    partition_index: int = int32()
    broker_ids: list[int] = many("int32")


@dataclass(slots=True)
class CreatableTopicConfig:
    name: str = text()
    value: str | None = text(None, nullable_since=0)


@dataclass(slots=True)
class CreatableTopic:
    name: str = text()
    num_partitions: int = int32()
    replication_factor: int = int16()
    assignments: list[CreatableReplicaAssignment] = many(CreatableReplicaAssignment)
    configs: list[CreatableTopicConfig] = many(CreatableTopicConfig)


@dataclass(slots=True)
class CreateTopicsRequest(Message):
    api_key: ClassVar[int] = 19
    topics: list[CreatableTopic] = many(CreatableTopic)
    timeout_ms: int = int32(60000)
    validate_only: bool = boolean()


@dataclass(slots=True)
class CreatableTopicConfigs:
    name: str = text()
    value: str | None = text(None, nullable_since=0)
    read_only: bool = boolean()
    config_source: int = int8(-1)
    is_sensitive: bool = boolean()


@dataclass(slots=True)
class CreatableTopicResult:
    name: str = text()
    topic_id: bytes = uuid(since=7)
    error_code: int = int16()
    error_message: str | None = text(None, nullable_since=0)
    topic_config_error_code: int = int16(since=5, tag=0)
    num_partitions: int = int32(-1, since=5)
    replication_factor: int = int16(-1, since=5)
    configs: list[CreatableTopicConfigs] | None = many(CreatableTopicConfigs, None, since=5, nullable_since=0)


@dataclass(slots=True)
class CreateTopicsResponse(Message):
    api_key: ClassVar[int] = 19
    throttle_time_ms: int = int32()
    topics: list[CreatableTopicResult] = many(CreatableTopicResult)
