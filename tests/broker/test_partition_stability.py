"""The last stable offset of a partition whose log was read anew: markers below the high watermark count at once."""

from __future__ import annotations

from uuid import UUID

from tests.broker.partition_alone import PartitionAlone

from strandline.log.log import Log
from strandline.log.recovery import open_log
from strandline.model.partitions import TopicPartition
from strandline.model.settings import LogSettings
from strandline.records.builder import build_batch
from strandline.records.control import build_marker
from strandline.records.record import Record
from strandline.replication.effects import TruncateTo
from strandline.simulation.disk import SimulatedDisk

NAME = TopicPartition("orders", 0)
NOW_MS = 1_000


def opened(disk: SimulatedDisk) -> Log:
    return open_log(disk, f"/{NAME}", NAME, LogSettings(segment_index_bytes=12_000), now_ms=NOW_MS)


def transact(log: Log, sequence: int) -> None:
    batch = build_batch(
        [Record(0, NOW_MS, None, b"a")],
        producer_id=7,
        producer_epoch=0,
        base_sequence=sequence,
        is_transactional=True,
    )
    marker = build_marker(producer_id=7, producer_epoch=0, is_commit=True, coordinator_epoch=0, timestamp=NOW_MS)
    for each in (batch, marker):
        log.append([each], leader_epoch=0, now_ms=NOW_MS, from_client=False)


def test_after_a_crash() -> None:
    """Nothing moves the high watermark of a quiet partition any more: readers stood before its last transactions."""
    disk = SimulatedDisk()
    log = opened(disk)
    for sequence in range(3):
        transact(log, sequence)
    partition = PartitionAlone(NAME, UUID(int=1).bytes, opened(disk.kill()), high_watermark=6)
    assert (partition.high_watermark, partition.last_stable_offset) == (6, 6)


def test_after_a_truncation() -> None:
    log = opened(SimulatedDisk())
    for sequence in range(3):
        transact(log, sequence)
    partition = PartitionAlone(NAME, UUID(int=1).bytes, log, high_watermark=4)
    partition.follow([TruncateTo(4, "diverged")], NOW_MS)
    assert (log.log_end_offset, partition.high_watermark, partition.last_stable_offset) == (4, 4, 4)


def test_after_the_log_start_has_passed_the_beginning_of_an_open_transaction() -> None:
    """As in Kafka: "latest" for committed records must be an offset that can be fetched, or consumers go in circles."""
    log = opened(SimulatedDisk())
    partition = PartitionAlone(NAME, UUID(int=1).bytes, log)
    partition.lead(now_ms=NOW_MS)
    transactional = build_batch(
        [Record(0, NOW_MS, None, b"a")], producer_id=7, producer_epoch=0, base_sequence=0, is_transactional=True
    )
    plain = [build_batch([Record(0, NOW_MS, None, b"b")]) for _ in range(6)]
    partition.append([transactional, *plain], NOW_MS, from_client=False)
    assert (partition.high_watermark, partition.last_stable_offset) == (7, 0)
    partition.advance_log_start(5)
    assert partition.last_stable_offset == 5
    assert partition.read(5, 1000, committed_only=True).length == 0
    log.roll(NOW_MS)
    log.remove_segments([log.segments.first], now_ms=NOW_MS)
    assert (log.log_start_offset, partition.last_stable_offset) == (7, 7)
    marker = build_marker(producer_id=7, producer_epoch=0, is_commit=False, coordinator_epoch=0, timestamp=NOW_MS)
    partition.append([marker, plain[0]], NOW_MS, from_client=False)
    assert (partition.high_watermark, partition.last_stable_offset) == (9, 9)
