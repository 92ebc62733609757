"""Metadata (3), versions 0 to 13, flexible from 9: brokers, topics, partitions and their leaders."""

from __future__ import annotations

from typing import ClassVar

from strandline.model.lazy_dataclass import dataclass
from strandline.wire.layout import Message, boolean, int16, int32, many, text, uuid


@dataclass(slots=True)
class MetadataRequestTopic:
    topic_id: bytes = uuid(since=10)
    name: str | None = text(None, nullable_since=10)


@dataclass(slots=True)
class MetadataRequest(Message):
    api_key: ClassVar[int] = 3
    topics: list[MetadataRequestTopic] | None = many(MetadataRequestTopic, None, nullable_since=1)
    allow_auto_topic_creation: bool = boolean(True, since=4)
    include_cluster_authorized_operations: bool = boolean(since=8, until=10)
    include_topic_authorized_operations: bool = boolean(since=8)


@dataclass(slots=True)
class MetadataResponseBroker:
    node_id: int = int32()
    host: str = text()
    port: int = int32()
    rack: str | None = text(None, since=1, nullable_since=0)


@dataclass(slots=True)
class MetadataResponsePartition:
    error_code: int = int16()
    partition_index: int = int32()
    leader_id: int = int32()
    leader_epoch: int = int32(-1, since=7)
    replica_nodes: list[int] = many("int32")
    isr_nodes: list[int] = many("int32")
    offline_replicas: list[int] = many("int32", since=5)


@dataclass(slots=True)
class MetadataResponseTopic:
    error_code: int = int16()
    name: str | None = text(None, nullable_since=12)
    topic_id: bytes = uuid(since=10)
    is_internal: bool = boolean(since=1)
    partitions: list[MetadataResponsePartition] = many(MetadataResponsePartition)
    topic_authorized_operations: int = int32(-2147483648, since=8)


@dataclass(slots=True)
class MetadataResponse(Message):
    api_key: ClassVar[int] = 3
    throttle_time_ms: int = int32(since=3)
    brokers: list[MetadataResponseBroker] = many(MetadataResponseBroker)
    cluster_id: str | None = text(None, since=2, nullable_since=0)
    controller_id: int = int32(-1, since=1)
    topics: list[MetadataResponseTopic] = many(MetadataResponseTopic)
    cluster_authorized_operations: int = int32(-2147483648, since=8, until=10)
    error_code: int = int16(since=13)
