"""A partition just after its leader changed: what readers may have seen is more than its high watermark says yet."""

from __future__ import annotations

from uuid import UUID

import pytest
from tests.broker.partition_alone import BROKER_ID, FOLLOWER_ID, PartitionAlone
from tests.broker.running_broker import batch_of

from strandline.log.log import Log
from strandline.log.recovery import open_log
from strandline.model.failures import ErrorCode, Refused
from strandline.model.partitions import TopicPartition
from strandline.model.settings import LogSettings
from strandline.simulation.disk import SimulatedDisk

NAME = TopicPartition("orders", 0)
REPLICAS = (BROKER_ID, FOLLOWER_ID)


def log_of(*values: bytes) -> Log:
    """As a follower had it when its leader died."""
    log = open_log(SimulatedDisk(), f"/{NAME}", NAME, LogSettings(segment_index_bytes=12_000), now_ms=0)
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
