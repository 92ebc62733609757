"""DeleteRecords, v0-v2: everything below an offset is hidden at once; its files go with the next retention (SPEC C4).

The new log start is on the disk when the answer goes out: what a client was told is gone does not come back.
"""

from __future__ import annotations

from strandline.broker.cluster_image import INTERNAL_TOPICS
from strandline.broker.dispatch import Handler, Request
from strandline.broker.partitions import Partitions
from strandline.log.log_directories import LogDirectories
from strandline.log.log_directory import LogDirectory
from strandline.model.failures import ErrorCode, Refused, StorageFailed
from strandline.model.partitions import TopicPartition
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


def delete_records_handler(partitions: Partitions, directories: LogDirectories) -> Handler:
    def delete(topic: str, asked: DeleteRecordsPartition) -> int:
        """Gives the log start offset."""
        if topic in INTERNAL_TOPICS:
            raise Refused(ErrorCode.INVALID_TOPIC_EXCEPTION, f"{topic} is the cluster's own: its records stay")
        partition = partitions.leader_of(topic, asked.partition_index)
        if not partition.log.settings.deletes:
            raise Refused(ErrorCode.POLICY_VIOLATION, f"the cleanup.policy of {topic} does not have delete")
        offset = partition.high_watermark if asked.offset == HIGH_WATERMARK else asked.offset
        if offset < 0:
            raise Refused(ErrorCode.OFFSET_OUT_OF_RANGE, f"{offset} is not an offset")
        partition.log.advance_log_start(offset, high_watermark=partition.high_watermark)
        return partition.log.log_start_offset

    def result(topic: str, asked: DeleteRecordsPartition, changed: set[LogDirectory]) -> DeleteRecordsPartitionResult:
        try:
            low_watermark = delete(topic, asked)
        except Refused as refused:
            return DeleteRecordsPartitionResult(asked.partition_index, NO_OFFSET, refused.error_code)
        except StorageFailed:
            return DeleteRecordsPartitionResult(asked.partition_index, NO_OFFSET, ErrorCode.KAFKA_STORAGE_ERROR)
        directory = directories.directory_of(TopicPartition(topic, asked.partition_index))
        if directory is not None:
            changed.add(directory)
        return DeleteRecordsPartitionResult(asked.partition_index, low_watermark, ErrorCode.NONE)

    def handle(request: Request) -> bytes:
        asked = decode(DeleteRecordsRequest, request.api_version, request.body)
        changed: set[LogDirectory] = set()
        topics = [
            DeleteRecordsTopicResult(topic.name, [result(topic.name, each, changed) for each in topic.partitions])
            for topic in asked.topics
        ]
        for directory in changed:
            _write_log_starts(directory, topics)
        return encode(DeleteRecordsResponse(topics=topics), request.api_version)

    return handle


def _write_log_starts(directory: LogDirectory, topics: list[DeleteRecordsTopicResult]) -> None:
    try:
        directory.write_log_starts()
    except StorageFailed:
        for topic in topics:
            for partition in topic.partitions:
                if TopicPartition(topic.name, partition.partition_index) in directory.logs:
                    partition.low_watermark, partition.error_code = NO_OFFSET, ErrorCode.KAFKA_STORAGE_ERROR
