"""DescribeReplicas, our own: our replicas in numbers and, where we lead, how far the others are (SPEC T6)."""

from __future__ import annotations

from strandline.broker.dispatch import Handler, Request
from strandline.broker.host import Host
from strandline.broker.partition import Partition
from strandline.broker.partitions import Partitions
from strandline.log.log import Log
from strandline.model.failures import CorruptData, ErrorCode, StorageFailed
from strandline.model.partitions import TopicPartition
from strandline.replication.leader import Leader
from strandline.replication.progress import NEVER_MS, FollowerProgress
from strandline.wire.codec import decode, encode
from strandline.wire.messages.describe_replicas import (
    DescribeReplicasPartition,
    DescribeReplicasRequest,
    DescribeReplicasResponse,
    DescribeReplicasTopicResult,
    FollowerDescription,
    RecordPlace,
    ReplicaDescription,
)

NO_OFFSET, UNKNOWN = -1, -1


def describe_replicas_handler(partitions: Partitions, host: Host) -> Handler:
    def describe(topic: str, asked: DescribeReplicasPartition) -> ReplicaDescription:
        partition = partitions.find(TopicPartition(topic, asked.partition_index))
        if partition is None:
            return ReplicaDescription(asked.partition_index, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        description = _describe(partition, host.elapsed_ms())
        try:
            if asked.offset != NO_OFFSET:
                description.places = _places(partition.log, asked.offset)
        except (StorageFailed, CorruptData):
            description.error_code = ErrorCode.KAFKA_STORAGE_ERROR
        return description

    def handle(request: Request) -> bytes:
        asked = decode(DescribeReplicasRequest, request.api_version, request.body)
        topics = [
            DescribeReplicasTopicResult(topic.name, [describe(topic.name, each) for each in topic.partitions])
            for topic in asked.topics
        ]
        return encode(DescribeReplicasResponse(topics), request.api_version)

    return handle


def _describe(partition: Partition, now_ms: int) -> ReplicaDescription:
    log, leader = partition.log, partition.leader
    description = ReplicaDescription(
        partition.name.partition,
        ErrorCode.NONE if log.failure is None else ErrorCode.KAFKA_STORAGE_ERROR,
        leader is not None,
        partition.leader_epoch,
        log.log_start_offset,
        partition.last_stable_offset,
        partition.high_watermark,
        log.log_end_offset,
    )
    if leader is not None:
        _add_what_a_leader_knows(description, leader, now_ms)
    return description


def _add_what_a_leader_knows(description: ReplicaDescription, leader: Leader, now_ms: int) -> None:
    description.min_insync_replicas = leader.min_insync_replicas
    description.pending_change = None if leader.pending is None else str(leader.pending)
    description.followers = [_follower(progress, leader, now_ms) for progress in leader.followers.values()]


def _follower(progress: FollowerProgress, leader: Leader, now_ms: int) -> FollowerDescription:
    is_at_end = progress.log_end_offset == leader.log_end_offset
    return FollowerDescription(
        progress.replica_id,
        progress.log_end_offset,
        _ms_ago(progress.last_fetch_ms, now_ms),
        0 if is_at_end else _ms_ago(progress.last_caught_up_ms, now_ms),
        progress.replica_id in leader.isr,
    )


def _ms_ago(then_ms: int, now_ms: int) -> int:
    return UNKNOWN if then_ms == NEVER_MS else max(0, now_ms - then_ms)


def _places(log: Log, offset: int) -> list[RecordPlace]:
    found = log.find_batch(offset)
    if found is None:
        return []
    head = found.head
    aborted = log.aborted_transactions(offset, offset + 1) if head.is_transactional else []
    return [
        RecordPlace(
            found.segment_base_offset,
            found.position,
            head.base_offset,
            head.last_offset,
            head.leader_epoch,
            head.size_bytes,
            head.max_timestamp,
            head.producer_id,
            head.is_transactional,
            head.is_control,
            any(each.producer_id == head.producer_id for each in aborted),
        )
    ]
