"""A partition just after its leader changed: what readers may have seen is more than its high watermark says yet."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast
from uuid import UUID

import pytest
from tests.broker.partition_alone import BROKER_ID, FOLLOWER_ID, PartitionAlone
from tests.broker.running_broker import batch_of

from strandline.broker.dispatch import Request
from strandline.broker.handlers.list_offsets import EARLIEST, LATEST, list_offsets_handler
from strandline.broker.partitions import Partitions
from strandline.log.log import Log
from strandline.log.recovery import open_log
from strandline.model.failures import ErrorCode, Refused
from strandline.model.partitions import TopicPartition
from strandline.model.settings import LogSettings
from strandline.simulation.disk import SimulatedDisk
from strandline.wire.codec import decode, encode
from strandline.wire.header import RequestHeader
from strandline.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from strandline.wire.versions import ApiKey

if TYPE_CHECKING:
    from strandline.broker.connection import Connection

NAME = TopicPartition("orders", 0)
REPLICAS = (BROKER_ID, FOLLOWER_ID)


def log_of(*values: bytes, settings: LogSettings = LogSettings(segment_index_bytes=12_000)) -> Log:  # noqa: B008
    """As a follower had it when its leader died."""
    log = open_log(SimulatedDisk(), f"/{NAME}", NAME, settings, now_ms=0)
    log.append([batch_of(value) for value in values], leader_epoch=0, now_ms=0)
    return log


def test_a_reader_ahead_of_a_new_leaders_high_watermark_waits_and_is_not_sent_back() -> None:
    """It has read what the old leader had committed. Kafka answers with nothing up to the log's end, not with an error:
    a client that is told "out of range" begins anew, at the beginning or the end."""
    partition = PartitionAlone(NAME, UUID(int=9).bytes, log_of(b"a", b"b", b"c"), min_insync_replicas=2)
    partition.lead(1, replicas=REPLICAS)
    assert partition.high_watermark == 0
    assert [partition.read(offset, 1000).length for offset in (0, 2, 3)] == [0, 0, 0]
    assert partition.read(2, 1000, committed_only=True).length == 0
    with pytest.raises(Refused) as refused:
        partition.read(4, 1000)
    assert refused.value.error_code is ErrorCode.OFFSET_OUT_OF_RANGE

    partition.replicate()
    assert partition.high_watermark == 3
    assert partition.read(2, 1000).length > 0


def listed(partition: PartitionAlone, timestamp: int, version: int = 7) -> tuple[int, int]:
    """The error and the offset that a consumer is told."""
    partitions = Partitions()
    partitions.add(partition)
    asked = ListOffsetsRequest(-1, topics=[ListOffsetsTopic(NAME.topic, [ListOffsetsPartition(0, -1, timestamp)])])
    header = RequestHeader(ApiKey.LIST_OFFSETS, version, 1, None, 0)
    request = Request(cast("Connection", None), header, memoryview(encode(asked, version)))
    answer = list_offsets_handler(partitions)(request)
    assert isinstance(answer, bytes)
    (topic,) = decode(ListOffsetsResponse, version, memoryview(answer)).topics
    return topic.partitions[0].error_code, topic.partitions[0].offset


def test_a_new_leader_knows_where_the_log_begins_and_not_yet_where_it_ends() -> None:
    """KIP-207; before version 5 clients knew only that a leader is not available."""
    partition = PartitionAlone(NAME, UUID(int=9).bytes, log_of(b"a", b"b", b"c"), min_insync_replicas=2)
    partition.lead(1, replicas=REPLICAS)
    assert listed(partition, EARLIEST) == (ErrorCode.NONE, 0)
    assert listed(partition, LATEST) == (ErrorCode.OFFSET_NOT_AVAILABLE, -1)
    assert listed(partition, LATEST, version=4) == (ErrorCode.LEADER_NOT_AVAILABLE, -1)
    assert listed(partition, 0) == (ErrorCode.OFFSET_NOT_AVAILABLE, -1), "the first record since then is not shown yet"

    partition.replicate()
    assert listed(partition, LATEST) == (ErrorCode.NONE, 3)
    assert listed(partition, 0)[0] == ErrorCode.NONE


def test_a_new_leader_whose_disk_is_slow_does_not_tell_an_older_end_than_the_last_one() -> None:
    """Found by the simulator. All in-sync replicas have the records, but where `flush.messages` says so nobody is shown
    what this disk has not got; the leader before has shown them."""
    log = log_of(b"a", b"b", b"c", settings=LogSettings(segment_index_bytes=12_000, flush_messages=1))
    partition = PartitionAlone(NAME, UUID(int=9).bytes, log, min_insync_replicas=2)
    partition.lead(1, replicas=REPLICAS)
    partition.replicate()
    assert listed(partition, LATEST) == (ErrorCode.OFFSET_NOT_AVAILABLE, -1)
    assert listed(partition, 0) == (ErrorCode.OFFSET_NOT_AVAILABLE, -1)

    partition.log.flush(0)
    partition.was_flushed()
    assert listed(partition, LATEST) == (ErrorCode.NONE, 3)
