"""A compacted log after a crash: it has gaps by nature, so nobody can tell what was lost above its recovery point."""

from __future__ import annotations

from uuid import UUID

import pytest
from tests.broker.partition_alone import FOLLOWER_ID, PartitionAlone

from strandline.log.log import Log
from strandline.log.recovery import open_log
from strandline.model.partitions import TopicPartition
from strandline.model.settings import LogSettings
from strandline.records.builder import build_batch
from strandline.records.record import Record
from strandline.replication.events import NO_LEADER, LeaderAndIsr
from strandline.simulation.disk import SimulatedDisk

PROFILES = TopicPartition("profiles", 0)
SYNCED = 2  # records


def log_with_a_hole(*, is_clean: bool = False, cleanup_policy: tuple[str, ...] = ("compact",)) -> Log:
    """Of six records, each with a segment of its own, the fourth was in the page cache when power went."""
    disk = SimulatedDisk()
    settings = LogSettings(segment_bytes=100, segment_index_bytes=12_000, cleanup_policy=cleanup_policy)
    log = open_log(disk, "/profiles-0", PROFILES, settings, now_ms=0)
    for number in range(6):
        log.append([build_batch([Record(0, 0, b"key", b"%d" % number)])], leader_epoch=0, now_ms=0)
    paths = [segment.path(".log") for segment in log.segments.all()]
    log.close(0)
    disk.open(paths[3]).truncate(0)
    return open_log(
        disk, "/profiles-0", PROFILES, settings, now_ms=0, recovery_point=6 if is_clean else SYNCED, is_clean=is_clean
    )


def told(log: Log, leader: int) -> PartitionAlone:
    partition = PartitionAlone(PROFILES, UUID(int=1).bytes, log, high_watermark=6)
    isr = (1,) if leader == 1 else (FOLLOWER_ID,)
    partition.decide(LeaderAndIsr(leader, 1, isr, (1, FOLLOWER_ID), 1), 0)
    return partition


def test_whoever_follows_takes_from_the_leader_what_is_in_doubt() -> None:
    """Seed 175027177 of the simulator: it went on from the end, joined the ISR, and had a hole."""
    partition = told(log_with_a_hole(), FOLLOWER_ID)
    assert (partition.log.log_end_offset, partition.high_watermark) == (SYNCED, SYNCED)


@pytest.mark.parametrize("leader", [1, NO_LEADER], ids=["it leads", "nobody leads"])
def test_what_nobody_else_may_have_is_kept(leader: int) -> None:
    assert told(log_with_a_hole(), leader).log.log_end_offset == 6


def test_what_crashed_together_is_kept_by_all() -> None:
    """They are all in the ISR still: to cut one would be to have committed records on one machine less."""
    partition = PartitionAlone(PROFILES, UUID(int=1).bytes, log_with_a_hole(), high_watermark=6)
    partition.decide(LeaderAndIsr(FOLLOWER_ID, 1, (1, FOLLOWER_ID), (1, FOLLOWER_ID), 1), 0)
    assert partition.log.log_end_offset == 6


def test_doubt_lasts_until_somebody_leads() -> None:
    partition = told(log_with_a_hole(), NO_LEADER)
    partition.decide(LeaderAndIsr(FOLLOWER_ID, 2, (FOLLOWER_ID,), (1, FOLLOWER_ID), 2), 0)
    assert partition.log.log_end_offset == SYNCED


def test_who_has_led_does_not_doubt_what_it_has_any_more() -> None:
    partition = told(log_with_a_hole(), 1)
    partition.decide(LeaderAndIsr(FOLLOWER_ID, 2, (FOLLOWER_ID,), (1, FOLLOWER_ID), 2), 0)
    assert partition.log.log_end_offset == 6


def test_after_a_clean_stop_there_is_no_doubt() -> None:
    assert told(log_with_a_hole(is_clean=True), FOLLOWER_ID).log.log_end_offset == 6


def test_a_log_that_was_never_compacted_ends_before_the_hole() -> None:
    """There it is seen, and nothing is in doubt."""
    assert told(log_with_a_hole(cleanup_policy=("delete",)), FOLLOWER_ID).log.log_end_offset == 3
