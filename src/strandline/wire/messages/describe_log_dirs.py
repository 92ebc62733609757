"""DescribeLogDirs (35), versions 1 to 5, flexible from 2: log directories and the sizes of what lies in them."""

from __future__ import annotations

from typing import ClassVar

from strandline.model.lazy_dataclass import dataclass
from strandline.wire.layout import Message, boolean, int16, int32, int64, many, text


@dataclass(slots=True)
class DescribableLogDirTopic:
    topic: str = text()
    partitions: list[int] = many("int32")


@dataclass(slots=True)
class DescribeLogDirsRequest(Message):
    api_key: ClassVar[int] = 35
    topics: list[DescribableLogDirTopic] | None = many(DescribableLogDirTopic, None, nullable_since=0)


@dataclass(slots=True)
class DescribeLogDirsPartition:
    partition_index: int = int32()
    partition_size: int = int64()
    offset_lag: int = int64()
    is_future_key: bool = boolean()


@dataclass(slots=True)
class DescribeLogDirsTopic:
    name: str = text()
    partitions: list[DescribeLogDirsPartition] = many(DescribeLogDirsPartition)


@dataclass(slots=True)
class DescribeLogDirsResult:
    error_code: int = int16()
    log_dir: str = text()
    topics: list[DescribeLogDirsTopic] = many(DescribeLogDirsTopic)
    total_bytes: int = int64(-1, since=4)
    usable_bytes: int = int64(-1, since=4)
    is_cordoned: bool = boolean(since=5)


@dataclass(slots=True)
class DescribeLogDirsResponse(Message):
    api_key: ClassVar[int] = 35
    throttle_time_ms: int = int32()
    error_code: int = int16(since=3)
    results: list[DescribeLogDirsResult] = many(DescribeLogDirsResult)
