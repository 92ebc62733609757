"""What followers ask their leader beside fetching: where epochs ended, and where its log begins or ends."""

from __future__ import annotations

from collections.abc import Iterable

from strandline.broker.partition import Partition
from strandline.replication.requests import AskEpochEnd, AskOffset
from strandline.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from strandline.wire.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)

EARLIEST, LATEST = -2, -1


def epoch_ends_request(broker_id: int, asked: Iterable[tuple[Partition, AskEpochEnd]]) -> OffsetForLeaderEpochRequest:
    topics = [
        OffsetForLeaderTopic(
            partition.name.topic,
            [OffsetForLeaderPartition(partition.name.partition, request.leader_epoch, request.epoch)],
        )
        for partition, request in asked
    ]
    return OffsetForLeaderEpochRequest(broker_id, topics)


def offsets_request(broker_id: int, asked: Iterable[tuple[Partition, AskOffset]]) -> ListOffsetsRequest:
    topics = [
        ListOffsetsTopic(
            partition.name.topic,
            [
                ListOffsetsPartition(
                    partition.name.partition, request.leader_epoch, EARLIEST if request.earliest else LATEST
                )
            ],
        )
        for partition, request in asked
    ]
    return ListOffsetsRequest(broker_id, 0, topics)
