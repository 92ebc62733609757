"""OffsetForLeaderEpoch, v2-v4: where an epoch ended, for consumers and followers that find out whether their log and
ours have parted (KIP-101, KIP-320)."""

from __future__ import annotations

from strandline.broker.dispatch import Handler, Request
from strandline.broker.partitions import Partitions
from strandline.model.failures import ErrorCode, Refused, StorageFailed
from strandline.wire.codec import decode, encode
from strandline.wire.messages.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopicResult,
)


def offset_for_leader_epoch_handler(partitions: Partitions) -> Handler:
    def find(topic: str, asked: OffsetForLeaderPartition) -> EpochEndOffset:
        try:
            log = partitions.leader_of(topic, asked.partition, asked.current_leader_epoch).log
            log.check_usable()
        except Refused as refused:
            return EpochEndOffset(refused.error_code, asked.partition)
        except StorageFailed:
            return EpochEndOffset(ErrorCode.KAFKA_STORAGE_ERROR, asked.partition)
        end = log.epochs.end_offset_for(asked.leader_epoch, log.log_end_offset)
        return EpochEndOffset(ErrorCode.NONE, asked.partition, end.epoch, end.end_offset)

    def handle(request: Request) -> bytes:
        asked = decode(OffsetForLeaderEpochRequest, request.api_version, request.body)
        topics = [
            OffsetForLeaderTopicResult(topic.topic, [find(topic.topic, partition) for partition in topic.partitions])
            for topic in asked.topics
        ]
        return encode(OffsetForLeaderEpochResponse(topics=topics), request.api_version)

    return handle
