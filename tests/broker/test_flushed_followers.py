"""With flush.messages=1 whatever is acknowledged is on the disk of every in-sync replica, not of the leader alone (SPEC
L9): a follower says that it has a record when its disk has it, as in Kafka."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

import pytest
from tests.broker.partition_alone import BROKER_ID, PartitionAlone
from tests.broker.running_broker import batch_of
from tests.broker.running_cluster import RunningCluster

from strandline.broker.housekeeping.flusher import Flusher
from strandline.log.log import Log
from strandline.log.recovery import open_log
from strandline.model.failures import ErrorCode
from strandline.model.partitions import TopicPartition
from strandline.model.settings import LogSettings
from strandline.replication.effects import Adopt, AppendFetched
from strandline.replication.events import LeaderAndIsr
from strandline.simulation.disk import SimulatedDisk
from strandline.wire.messages.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData

NAME = TopicPartition("orders", 0)


def test_a_follower_whose_disk_is_slow_holds_up_the_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held: list[tuple[Flusher, Log, int]] = []
    begin_one = Flusher._begin_one

    def hold(flusher: Flusher, log: Log, up_to_offset: int) -> None:
        if log.partition == NAME and flusher is cluster.brokers[2].housekeeping.flusher:
            held.append((flusher, log, up_to_offset))
        else:
            begin_one(flusher, log, up_to_offset)

    with RunningCluster(tmp_path, brokers=2, log_flush_interval_messages="1") as cluster:
        cluster.create("orders", (1, 2), min_insync_replicas="2")
        cluster.produce(NAME, b"before")
        monkeypatch.setattr(Flusher, "_begin_one", hold)
        with cluster.peer(1) as peer:
            data = TopicProduceData("orders", partition_data=[PartitionProduceData(0, bytes(batch_of(b"slow")))])
            answer = peer.ask(ProduceRequest(None, -1, 300, [data]), 9, ProduceResponse)
        assert answer.responses[0].partition_responses[0].error_code == ErrorCode.REQUEST_TIMED_OUT
        leader = cluster.brokers[1].partitions.by_name["orders"][0]
        assert (leader.high_watermark, cluster.log_end(2, NAME)) == (1, 2), "it has it, in its page cache"
        monkeypatch.undo()
        cluster.call(lambda: [begin_one(*each) for each in held])
        cluster.wait_until(lambda: leader.high_watermark == 2)


def test_what_a_follower_knows_to_be_committed_counts_once_its_disk_has_it() -> None:
    """Found by the simulator: it was told of the commit before its disk had the record, then led, and nobody told it
    again; its consumers waited for the next record."""
    settings = LogSettings(flush_messages=1)
    partition = PartitionAlone(NAME, UUID(int=9).bytes, open_log(SimulatedDisk(), f"/{NAME}", NAME, settings, now_ms=0))
    partition.lead(0, now_ms=0)
    partition.append([batch_of(b"slow")], 0)
    partition.decide(LeaderAndIsr(BROKER_ID + 1, 1, (BROKER_ID + 1, BROKER_ID), (BROKER_ID, BROKER_ID + 1), 1), 0)
    assert partition.high_watermark == 0, "it is on no disk yet"
    partition.log.flush(0)
    partition.was_flushed()
    assert partition.high_watermark == 1


def test_a_log_start_above_what_its_disk_has_waits_for_the_disk() -> None:
    """Its leader deleted records that this disk does not have yet: the answer is taken all the same."""
    settings = LogSettings(flush_messages=1)
    partition = PartitionAlone(NAME, UUID(int=9).bytes, open_log(SimulatedDisk(), f"/{NAME}", NAME, settings, now_ms=0))
    partition.lead(0, now_ms=0)
    partition.append([batch_of(b"slow")], 0)
    partition.decide(LeaderAndIsr(BROKER_ID + 1, 1, (BROKER_ID + 1, BROKER_ID), (BROKER_ID, BROKER_ID + 1), 1), 0)
    deleted = (AppendFetched(Adopt(leader_high_watermark=1, leader_log_start_offset=1)),)
    partition.follow(deleted, 0)
    assert partition.log.log_start_offset == 0
    partition.log.flush(0)
    partition.was_flushed()
    partition.follow(deleted, 0)
    assert partition.log.log_start_offset == 1
