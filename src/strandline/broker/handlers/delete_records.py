"""DeleteRecords, v0-v2: everything below an offset is hidden at once; its files go with the next retention (SPEC C4).

The new log start is on the disk when the answer goes out: what a client was told is gone does not come back. And it is
gone on every live replica: the answer is the low watermark, the smallest log start of all, for which it waits until
`timeout_ms` is over. Followers hear of it with their fetches.
"""

from __future__ import annotations

from dataclasses import dataclass

from strandline.broker.cluster_image import INTERNAL_TOPICS
from strandline.broker.dispatch import Handler, Request
from strandline.broker.host import Host
from strandline.broker.partition import Partition
from strandline.broker.partitions import Partitions
from strandline.broker.procedures import by_procedure, pause
from strandline.log.log_directories import LogDirectories
from strandline.log.log_directory import LogDirectory
from strandline.model.failures import ErrorCode, Refused, StorageFailed
from strandline.wire.codec import decode, encode
from strandline.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)

HIGH_WATERMARK = -1
NO_OFFSET = -1
LOOK_MS = 20


@dataclass(slots=True)
class Deletion:
    """Done here, and not yet on every replica."""

    partition: Partition
    directory: LogDirectory | None
    offset: int
    result: DeleteRecordsPartitionResult

    @property
    def is_over(self) -> bool:
        return self.result.error_code != ErrorCode.REQUEST_TIMED_OUT

    def look(self) -> None:
        """At how far the replicas are."""
        leader = self.partition.leader
        if self.is_over:
            return
        if leader is None:
            self.fail(ErrorCode.NOT_LEADER_OR_FOLLOWER)
            return
        low_watermark = leader.low_watermark(self.partition.log.log_start_offset)
        self.result.low_watermark = low_watermark
        if low_watermark >= self.offset:
            self.result.error_code = ErrorCode.NONE

    def fail(self, error_code: ErrorCode) -> None:
        self.result.low_watermark, self.result.error_code = NO_OFFSET, error_code


def delete_records_handler(partitions: Partitions, directories: LogDirectories, host: Host) -> Handler:
    def delete(topic: str, asked: DeleteRecordsPartition) -> tuple[Partition, int]:
        """Gives the new log start too."""
        if topic in INTERNAL_TOPICS:
            raise Refused(ErrorCode.INVALID_TOPIC_EXCEPTION, f"{topic} is the cluster's own: its records stay")
        partition = partitions.leader_of(topic, asked.partition_index)
        if not partition.log.settings.deletes:
            raise Refused(ErrorCode.POLICY_VIOLATION, f"the cleanup.policy of {topic} does not have delete")
        offset = partition.high_watermark if asked.offset == HIGH_WATERMARK else asked.offset
        if offset < 0:
            raise Refused(ErrorCode.OFFSET_OUT_OF_RANGE, f"{offset} is not an offset")
        partition.advance_log_start(offset)
        return partition, offset

    def begin_one(topic: str, asked: DeleteRecordsPartition, deletions: list[Deletion]) -> DeleteRecordsPartitionResult:
        result = DeleteRecordsPartitionResult(asked.partition_index, NO_OFFSET, ErrorCode.REQUEST_TIMED_OUT)
        try:
            partition, offset = delete(topic, asked)
        except Refused as refused:
            result.error_code = refused.error_code
        except StorageFailed:
            result.error_code = ErrorCode.KAFKA_STORAGE_ERROR
        else:
            deletions.append(Deletion(partition, directories.directory_of(partition.name), offset, result))
        return result

    async def until_over(deletions: list[Deletion], timeout_ms: int) -> None:
        until_ms = host.elapsed_ms() + timeout_ms
        while True:
            for deletion in deletions:
                deletion.look()
            left_ms = until_ms - host.elapsed_ms()
            if left_ms <= 0 or all(deletion.is_over for deletion in deletions):
                return
            await pause(host, min(LOOK_MS, left_ms))

    async def answer(request: Request) -> bytes:
        asked = decode(DeleteRecordsRequest, request.api_version, request.body)
        deletions: list[Deletion] = []
        topics = [
            DeleteRecordsTopicResult(topic.name, [begin_one(topic.name, each, deletions) for each in topic.partitions])
            for topic in asked.topics
        ]
        _write_log_starts(deletions)
        await until_over(deletions, asked.timeout_ms)
        return encode(DeleteRecordsResponse(topics=topics), request.api_version)

    return by_procedure(answer)


def _write_log_starts(deletions: list[Deletion]) -> None:
    for directory in {each.directory for each in deletions if each.directory is not None}:
        try:
            directory.write_log_starts()
        except StorageFailed:
            for deletion in deletions:
                if deletion.directory is directory:
                    deletion.fail(ErrorCode.KAFKA_STORAGE_ERROR)
