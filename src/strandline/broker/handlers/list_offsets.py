"""ListOffsets, v1-v11: the first offset, the next one, or that of a time (SPEC L5)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from strandline.broker.dispatch import Handler, Request
from strandline.broker.partition import Partition
from strandline.broker.partitions import Partitions
from strandline.model.failures import ErrorCode, Refused, StorageFailed
from strandline.wire.list_offsets import decode_list_offsets_request, encode_list_offsets_response
from strandline.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopic,
    ListOffsetsTopicResponse,
)

LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED, EARLIEST_PENDING_UPLOAD = -1, -2, -3, -4, -5, -6
SINCE = {MAX_TIMESTAMP: 7, EARLIEST_LOCAL: 8, LATEST_TIERED: 9, EARLIEST_PENDING_UPLOAD: 11}
OFFSET_NOT_AVAILABLE_SINCE = 5
READ_COMMITTED = 1
NO_REPLICA = -1


def list_offsets_handler(partitions: Partitions) -> Handler:
    def handle(request: Request) -> bytes:
        version = request.api_version
        asked = decode_list_offsets_request(version, request.body)
        repeated = _repeated(asked.topics)
        response = ListOffsetsResponse()
        for topic in asked.topics:
            answer = ListOffsetsTopicResponse(topic.name)
            for wanted in topic.partitions:
                found = ListOffsetsPartitionResponse(wanted.partition_index)
                answer.partitions.append(found)
                try:
                    _check(version, topic.name, wanted, repeated)
                    leader = partitions.leader_of(topic.name, wanted.partition_index, wanted.current_leader_epoch)
                    is_consumer = asked.replica_id <= NO_REPLICA
                    limit = _limit(leader, is_consumer, asked.isolation_level)
                    _find(leader, wanted.timestamp, limit, found, is_consumer=is_consumer)
                except Refused as refused:
                    found.error_code = _in_version(version, refused.error_code)
                except StorageFailed:
                    found.error_code = ErrorCode.KAFKA_STORAGE_ERROR
            response.topics.append(answer)
        return encode_list_offsets_response(version, response)

    return handle


def _repeated(topics: Sequence[ListOffsetsTopic]) -> set[tuple[str, int]]:
    """Partitions that are asked for more than once. No answer would tell which of the questions it is for."""
    counts = Counter((topic.name, wanted.partition_index) for topic in topics for wanted in topic.partitions)
    return {key for key, count in counts.items() if count > 1} if len(counts) < counts.total() else set()


def _check(version: int, topic: str, wanted: ListOffsetsPartition, repeated: set[tuple[str, int]]) -> None:
    if (topic, wanted.partition_index) in repeated:
        raise Refused(ErrorCode.INVALID_REQUEST, f"{topic}-{wanted.partition_index} is asked for twice")
    if wanted.timestamp < EARLIEST_PENDING_UPLOAD or version < SINCE.get(wanted.timestamp, 0):
        raise Refused(ErrorCode.UNSUPPORTED_VERSION, f"version {version} does not know timestamp {wanted.timestamp}")


def _limit(partition: Partition, is_consumer: bool, isolation_level: int) -> int:
    """What lies at or above it is not for the asker."""
    if not is_consumer:
        return partition.log.log_end_offset
    return partition.last_stable_offset if isolation_level == READ_COMMITTED else partition.high_watermark


def _find(
    partition: Partition, timestamp: int, limit: int, found: ListOffsetsPartitionResponse, *, is_consumer: bool
) -> None:
    log = partition.log
    if timestamp == LATEST:
        _check_end_is_known(partition, is_consumer)
        found.offset, found.leader_epoch = limit, partition.leader_epoch
    elif timestamp in (EARLIEST, EARLIEST_LOCAL):
        epoch = log.epochs.epoch_at(log.log_start_offset)
        found.offset, found.leader_epoch = log.log_start_offset, -1 if epoch is None else epoch
    elif timestamp in (LATEST_TIERED, EARLIEST_PENDING_UPLOAD):
        return  # nothing is tiered
    else:
        record = log.find_max_timestamp() if timestamp == MAX_TIMESTAMP else log.find_by_timestamp(timestamp)
        if record is not None and record.offset < limit:
            found.timestamp, found.offset, found.leader_epoch = record.timestamp, record.offset, record.leader_epoch
        else:
            _check_end_is_known(partition, is_consumer)


def _check_end_is_known(partition: Partition, is_consumer: bool) -> None:
    """A new leader does not know yet how far readers have come. Where the log begins it knows (KIP-207)."""
    if is_consumer and partition.leader is not None:
        partition.leader.check_offsets_available(partition.high_watermark)


def _in_version(version: int, error_code: ErrorCode) -> ErrorCode:
    """Older clients do not know that an offset can be unavailable."""
    if error_code is ErrorCode.OFFSET_NOT_AVAILABLE and version < OFFSET_NOT_AVAILABLE_SINCE:
        return ErrorCode.LEADER_NOT_AVAILABLE
    return error_code
