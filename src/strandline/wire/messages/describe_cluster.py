"""DescribeCluster (60), versions 0 to 2, flexible from 0: the cluster and its brokers."""

from __future__ import annotations

from typing import ClassVar

from strandline.model.lazy_dataclass import dataclass
from strandline.wire.layout import Message, boolean, int8, int16, int32, many, text


@dataclass(slots=True)
class DescribeClusterRequest(Message):
    api_key: ClassVar[int] = 60
    include_cluster_authorized_operations: bool = boolean()
    endpoint_type: int = int8(1, since=1)
    include_fenced_brokers: bool = boolean(since=2)


@dataclass(slots=True)
class DescribeClusterBroker:
    broker_id: int = int32()
    host: str = text()
    port: int = int32()
    rack: str | None = text(None, nullable_since=0)
    is_fenced: bool = boolean(since=2)


@dataclass(slots=True)
class DescribeClusterResponse(Message):
    api_key: ClassVar[int] = 60
    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = text(None, nullable_since=0)
    endpoint_type: int = int8(1, since=1)
    cluster_id: str = text()
    controller_id: int = int32(-1)
    brokers: list[DescribeClusterBroker] = many(DescribeClusterBroker)
    cluster_authorized_operations: int = int32(-2147483648)
