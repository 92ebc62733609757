"""What an answer to Fetch says about a partition, to consumers and followers alike."""

from __future__ import annotations

from strandline.broker.fetch_sessions import FollowedPartition, TopicKey
from strandline.broker.partition import Partition
from strandline.broker.partitions import NO_PARTITIONS, Partitions, TopicPartitions
from strandline.log.leader_epochs import UNDEFINED_EPOCH, UNDEFINED_OFFSET
from strandline.log.log_slice import LogSlice
from strandline.model.failures import ErrorCode, Refused
from strandline.wire.messages.fetch import EpochEndOffset, FetchableTopicResponse, PartitionData


def partitions_of(partitions: Partitions, topic: TopicKey) -> TopicPartitions:
    if isinstance(topic, bytes):
        return partitions.by_id.get(topic, NO_PARTITIONS)
    return partitions.by_name.get(topic, NO_PARTITIONS)


def partition_of(partitions: Partitions, followed: FollowedPartition) -> Partition:
    of_topic = partitions_of(partitions, followed.topic)
    partition = of_topic.get(followed.partition)
    if partition is None:
        by_id = isinstance(followed.topic, bytes)
        unknown = ErrorCode.UNKNOWN_TOPIC_ID if by_id and not of_topic else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        raise Refused(unknown, "this broker has no such partition")
    return partition


def placed(
    followed: FollowedPartition,
    partition: Partition,
    *,
    records: LogSlice | bytes = b"",
    diverging_epoch: EpochEndOffset | None = None,
) -> PartitionData:
    data = PartitionData(
        followed.partition,
        0,
        partition.high_watermark,
        partition.last_stable_offset,
        partition.log.log_start_offset,
        records=records,
    )
    if diverging_epoch is not None:
        data.diverging_epoch = diverging_epoch
    return data


def diverging_epoch(partition: Partition, followed: FollowedPartition) -> EpochEndOffset | None:
    """Where the asker's log and ours parted, if they did (KIP-595)."""
    if followed.last_fetched_epoch < 0:
        return None
    log = partition.log
    if followed.last_fetched_epoch == log.epochs.latest_epoch and followed.fetch_offset <= log.log_end_offset:
        return None  # nearly always
    end = log.epochs.end_offset_for(followed.last_fetched_epoch, log.log_end_offset)
    if end.epoch == UNDEFINED_EPOCH or end.end_offset == UNDEFINED_OFFSET:
        raise Refused(ErrorCode.OFFSET_OUT_OF_RANGE, f"epoch {followed.last_fetched_epoch} is newer than the log")
    if end.epoch < followed.last_fetched_epoch or end.end_offset < followed.fetch_offset:
        return EpochEndOffset(end.epoch, end.end_offset)
    return None


def topic_response(topic: TopicKey) -> FetchableTopicResponse:
    if isinstance(topic, bytes):
        return FetchableTopicResponse(topic_id=topic)
    return FetchableTopicResponse(topic)
