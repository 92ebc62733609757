"""After a fail-over the new leader's high watermark is behind what consumers have read: they wait there (KIP-207)."""

from __future__ import annotations

from uuid import UUID

import pytest
from tests.broker.partition_alone import BROKER_ID, FOLLOWER_ID, PartitionAlone

from strandline.log.recovery import open_log
from strandline.model.failures import ErrorCode, Refused
from strandline.model.partitions import TopicPartition
from strandline.model.settings import LogSettings
from strandline.records.builder import build_batch
from strandline.records.record import Record
from strandline.simulation.disk import SimulatedDisk

NAME = TopicPartition("orders", 0)
NOW_MS = 1_000


def led_and_not_committed() -> PartitionAlone:
    disk = SimulatedDisk()
    disk.make_directories("/data/orders-0")
    log = open_log(disk, "/data/orders-0", NAME, LogSettings(), now_ms=NOW_MS)
    partition = PartitionAlone(NAME, UUID(int=1).bytes, log, min_insync_replicas=2)
    partition.lead(replicas=(BROKER_ID, FOLLOWER_ID), now_ms=NOW_MS)
    partition.append([build_batch([Record(0, NOW_MS, None, b"one"), Record(1, NOW_MS, None, b"two")])], NOW_MS)
    return partition


def test_a_position_that_is_not_committed_yet_is_no_bad_offset() -> None:
    partition = led_and_not_committed()
    assert (partition.high_watermark, partition.log.log_end_offset) == (0, 2)
    assert partition.read(2, 1_000).length == 0
    assert partition.read(1, 1_000).length == 0


def test_beyond_the_log_end_there_is_nothing() -> None:
    with pytest.raises(Refused) as refused:
        led_and_not_committed().read(3, 1_000)
    assert refused.value.error_code is ErrorCode.OFFSET_OUT_OF_RANGE
