"""DescribeLogDirs, v1-v5: the data directories, how full they are, and what lies in them (SPEC L10)."""

from __future__ import annotations

import os

from strandline.broker.dispatch import Handler, Request
from strandline.broker.partitions import Partitions
from strandline.log.log import Log
from strandline.log.log_directories import LogDirectories
from strandline.log.log_directory import LogDirectory
from strandline.model.failures import ErrorCode
from strandline.wire.codec import decode, encode
from strandline.wire.messages.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)

NO_LAG_KNOWN = -1


def describe_log_dirs_handler(directories: LogDirectories, partitions: Partitions) -> Handler:
    def lag_of(log: Log) -> int:
        """How far the log is behind what is committed, as its leader has said."""
        partition = partitions.find(log.partition)
        if partition is None:
            return NO_LAG_KNOWN
        follower = partition.follower
        committed = partition.high_watermark if follower is None else follower.leader_high_watermark
        return NO_LAG_KNOWN if committed is None else max(0, committed - log.log_end_offset)

    def topics_in(directory: LogDirectory, asked: DescribeLogDirsRequest) -> list[DescribeLogDirsTopic]:
        wanted = None
        if asked.topics is not None:
            wanted = {(topic.topic, index) for topic in asked.topics for index in topic.partitions}
        topics: dict[str, DescribeLogDirsTopic] = {}
        for name, log in sorted(directory.logs.items()):
            if wanted is None or name in wanted:
                topic = topics.setdefault(name.topic, DescribeLogDirsTopic(name.topic))
                topic.partitions.append(DescribeLogDirsPartition(name.partition, log.size_bytes, lag_of(log)))
        return list(topics.values())

    def describe(directory: LogDirectory, asked: DescribeLogDirsRequest) -> DescribeLogDirsResult:
        path = os.path.abspath(directory.path)
        try:
            space = directory.filesystem.space(directory.path)
        except OSError:
            return DescribeLogDirsResult(ErrorCode.KAFKA_STORAGE_ERROR, path)
        if not directory.is_usable():
            return DescribeLogDirsResult(ErrorCode.KAFKA_STORAGE_ERROR, path)
        return DescribeLogDirsResult(0, path, topics_in(directory, asked), space.total_bytes, space.usable_bytes)

    def handle(request: Request) -> bytes:
        asked = decode(DescribeLogDirsRequest, request.api_version, request.body)
        results = [describe(directory, asked) for directory in directories.directories]
        return encode(DescribeLogDirsResponse(results=results), request.api_version)

    return handle
