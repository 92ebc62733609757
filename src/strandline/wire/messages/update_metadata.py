"""UpdateMetadata (6), versions 0 to 8, flexible from 6: the controller tells a broker of all brokers and leaders.

As in Kafka 3.9, between brokers only. It feeds what brokers answer to Metadata.
"""

from __future__ import annotations

from typing import ClassVar

from strandline.model.lazy_dataclass import dataclass
from strandline.wire.layout import Message, boolean, int8, int16, int32, int64, many, text, uuid


@dataclass(slots=True)
class UpdateMetadataPartitionState:
    topic_name: str = text(until=4)
    partition_index: int = int32()
    controller_epoch: int = int32()
    leader: int = int32()
    leader_epoch: int = int32()
    isr: list[int] = many("int32")
    zk_version: int = int32()
    replicas: list[int] = many("int32")
    offline_replicas: list[int] = many("int32", since=4)


@dataclass(slots=True)
class UpdateMetadataTopicState:
    topic_name: str = text()
    topic_id: bytes = uuid(since=7)
    partition_states: list[UpdateMetadataPartitionState] = many(UpdateMetadataPartitionState)


@dataclass(slots=True)
class UpdateMetadataEndpoint:
    port: int = int32()
    host: str = text()
    listener: str = text(since=3)
    security_protocol: int = int16()


@dataclass(slots=True)
class UpdateMetadataBroker:
    id: int = int32()
    v0_host: str = text(until=0)
    v0_port: int = int32(until=0)
    endpoints: list[UpdateMetadataEndpoint] = many(UpdateMetadataEndpoint, since=1)
    rack: str | None = text(None, since=2, nullable_since=0)


@dataclass(slots=True)
class UpdateMetadataRequest(Message):
    api_key: ClassVar[int] = 6
    controller_id: int = int32()
    is_kraft_controller: bool = boolean(since=8)
    type: int = int8(since=8, tag=0)
    controller_epoch: int = int32()
    broker_epoch: int = int64(-1, since=5)
    ungrouped_partition_states: list[UpdateMetadataPartitionState] = many(UpdateMetadataPartitionState, until=4)
    topic_states: list[UpdateMetadataTopicState] = many(UpdateMetadataTopicState, since=5)
    live_brokers: list[UpdateMetadataBroker] = many(UpdateMetadataBroker)


@dataclass(slots=True)
class UpdateMetadataResponse(Message):
    api_key: ClassVar[int] = 6
    error_code: int = int16()
