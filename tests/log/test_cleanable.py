"""Which part of a log may be compacted, and which log comes first (SPEC C6)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from strandline.log.cleanable import Cleanability, cleanability_of, filthiest
from strandline.log.log import Log
from strandline.log.recovery import open_log
from strandline.log.segment_view import LogView
from strandline.model.failures import Refused
from strandline.model.partitions import TopicPartition
from strandline.model.settings import DAY_MS, HOUR_MS, LogSettings
from strandline.records.builder import build_batch
from strandline.records.record import Record
from strandline.simulation.disk import SimulatedDisk

PARTITION = TopicPartition("users", 0)
NOW_MS = 1_720_000_000_000
COMPACT = LogSettings(cleanup_policy=("compact",))


def append(log: Log, *timestamps: int) -> None:
    """One batch of two records for each timestamp."""
    for timestamp in timestamps:
        records = [Record(0, timestamp, b"a", b"1"), Record(1, timestamp, b"b", b"2")]
        (outcome,) = log.append([build_batch(records)], leader_epoch=0, now_ms=NOW_MS)
        assert not isinstance(outcome, Refused), outcome


def log_of_segments(*timestamps: int, settings: LogSettings = COMPACT, disk: SimulatedDisk | None = None) -> Log:
    """One segment of two offsets for each timestamp; the last is the active one."""
    log = open_log(disk or SimulatedDisk(), "/data/users-0", PARTITION, settings, now_ms=NOW_MS)
    for number, timestamp in enumerate(timestamps):
        if number:
            log.roll(NOW_MS)
        append(log, timestamp)
    return log


def judge(
    log: Log, checkpoint_offset: int | None = None, *, high_watermark: int | None = None, stable: int | None = None
) -> Cleanability:
    bound = log.log_end_offset if high_watermark is None else high_watermark
    view = LogView.of(log, now_ms=NOW_MS, high_watermark=bound, last_stable_offset=stable)
    return cleanability_of(view, checkpoint_offset)


def test_a_log_that_was_never_compacted_is_dirty_up_to_its_active_segment() -> None:
    log = log_of_segments(NOW_MS, NOW_MS, NOW_MS)
    found = judge(log)
    assert (found.first_dirty_offset, found.first_uncleanable_offset) == (0, 4)
    assert (found.clean_bytes, found.cleanable_bytes) == (0, 2 * log.segments.first.size_bytes)
    assert found.dirty_ratio == 1.0
    assert found.is_cleanable
    assert found.reason == "dirty ratio 1.00 is above 0.50"
    assert not found.checkpoint_was_wrong


@pytest.mark.parametrize(
    ("checkpoint", "ratio", "is_cleanable"), [(2, 0.75, True), (4, 0.5, False), (6, 0.25, False), (8, 0.0, False)]
)
def test_the_dirty_ratio_must_be_above_the_limit(checkpoint: int, ratio: float, is_cleanable: bool) -> None:
    """Above, not at, as in Kafka."""
    found = judge(log_of_segments(*[NOW_MS] * 5), checkpoint)
    assert (found.dirty_ratio, found.is_cleanable) == (ratio, is_cleanable)
    assert found.first_dirty_offset == checkpoint


def test_the_reason_tells_both_ratios() -> None:
    assert judge(log_of_segments(*[NOW_MS] * 5), 6).reason == "dirty ratio 0.25 is not above 0.50"


def test_a_limit_of_zero_does_not_clean_the_clean() -> None:
    settings = LogSettings(cleanup_policy=("compact",), min_cleanable_dirty_ratio=0.0)
    assert judge(log_of_segments(*[NOW_MS] * 3, settings=settings), 2).is_cleanable
    found = judge(log_of_segments(*[NOW_MS] * 3, settings=settings), 4)
    assert not found.is_cleanable
    assert found.reason == (
        "nothing is cleanable: 00000000000000000004.log cannot be compacted: it is the active segment"
    )


@pytest.mark.parametrize(("policy", "is_cleanable"), [(("delete",), False), (("compact", "delete"), True)])
def test_only_a_topic_that_compacts_is_compacted(policy: tuple[str, ...], is_cleanable: bool) -> None:
    found = judge(log_of_segments(*[NOW_MS] * 3, settings=LogSettings(cleanup_policy=policy)))
    assert found.is_cleanable is is_cleanable
    if not is_cleanable:
        assert found.reason == "cleanup.policy=delete does not compact"


@pytest.mark.parametrize(("high_watermark", "expected"), [(8, 6), (6, 6), (5, 4), (4, 4), (3, 2), (1, 0), (0, 0)])
def test_row_42_nothing_above_the_high_watermark_is_compacted(high_watermark: int, expected: int) -> None:
    """KAFKA-13194: an uncommitted record would have pushed out the committed one before it."""
    found = judge(log_of_segments(*[NOW_MS] * 4), high_watermark=high_watermark)
    assert found.first_uncleanable_offset == expected
    assert found.is_cleanable is (expected > 0)


def test_row_42_nothing_above_the_last_stable_offset_is_compacted() -> None:
    found = judge(log_of_segments(*[NOW_MS] * 4), stable=3)
    assert found.first_uncleanable_offset == 2
    found = judge(log_of_segments(*[NOW_MS] * 4), stable=0)
    assert not found.is_cleanable
    assert found.reason == (
        "nothing is cleanable: 00000000000000000000.log cannot be compacted:"
        " it ends at offset 2, above the last stable offset 0: a transaction is open"
    )


def test_a_segment_younger_than_the_minimum_lag_bars_all_behind_it() -> None:
    settings = LogSettings(cleanup_policy=("compact",), min_compaction_lag_ms=HOUR_MS)
    log = log_of_segments(NOW_MS - HOUR_MS, NOW_MS - HOUR_MS + 1, NOW_MS - DAY_MS, NOW_MS, settings=settings)
    assert judge(log).first_uncleanable_offset == 2
    found = judge(log, 2)
    assert (found.first_dirty_offset, found.first_uncleanable_offset, found.is_cleanable) == (2, 2, False)
    assert found.reason.endswith("min.compaction.lag.ms=3600000 protects it until 2024-07-03 09:46:40.001 UTC")


def test_the_minimum_lag_does_not_ask_about_clean_segments() -> None:
    """They were compacted once; a record in them cannot have become younger."""
    settings = LogSettings(cleanup_policy=("compact",), min_compaction_lag_ms=HOUR_MS)
    log = log_of_segments(NOW_MS, NOW_MS - DAY_MS, NOW_MS - DAY_MS, NOW_MS, settings=settings)
    assert judge(log, 2).first_uncleanable_offset == 6


@pytest.mark.parametrize(
    ("lag_ms", "is_overdue"), [(HOUR_MS - 1, True), (HOUR_MS, False), (HOUR_MS + 1, False), (2**63 - 1, False)]
)
def test_a_dirty_segment_that_began_too_long_ago_must_be_compacted_now(lag_ms: int, is_overdue: bool) -> None:
    """KIP-354: however small the dirty ratio."""
    log = log_of_segments(*[NOW_MS - DAY_MS] * 4, NOW_MS - HOUR_MS, NOW_MS)
    log.change_settings(LogSettings(cleanup_policy=("compact",), max_compaction_lag_ms=lag_ms))
    found = judge(log, 8)
    assert found.dirty_ratio == 0.2
    assert (found.needs_compaction_now, found.is_cleanable) == (is_overdue, is_overdue)
    if is_overdue:
        assert found.reason == f"a dirty segment is older than max.compaction.lag.ms={lag_ms}"


def test_an_overdue_log_waits_while_nothing_of_it_may_be_compacted() -> None:
    log = log_of_segments(NOW_MS - DAY_MS, NOW_MS - DAY_MS, NOW_MS)
    log.change_settings(LogSettings(cleanup_policy=("compact",), max_compaction_lag_ms=1))
    found = judge(log, high_watermark=1)
    assert not found.needs_compaction_now
    assert not found.is_cleanable


def test_the_active_segment_rolls_early_enough_for_the_maximum_lag() -> None:
    """KIP-354: what lies in the active segment cannot be compacted, so it must not lie there longer than that."""
    settings = LogSettings(cleanup_policy=("compact",), max_compaction_lag_ms=HOUR_MS)
    log = log_of_segments(NOW_MS - 2 * HOUR_MS, settings=settings)
    append(log, NOW_MS - HOUR_MS)
    assert len(log.segments) == 1
    append(log, NOW_MS)
    assert len(log.segments) == 2
    log = log_of_segments(NOW_MS - 2 * HOUR_MS, settings=replace(settings, cleanup_policy=("delete",)))
    append(log, NOW_MS)
    assert len(log.segments) == 1


def test_a_checkpoint_below_the_log_start_is_reset_to_it() -> None:
    log = log_of_segments(*[NOW_MS] * 4)
    log.advance_log_start(3, high_watermark=8)
    found = judge(log, 1)
    assert (found.first_dirty_offset, found.checkpoint_was_wrong) == (3, True)
    assert found.first_uncleanable_offset == 6
    # The segment that the log start lies in is dirty, and counted once.
    segment_bytes = log.segments.first.size_bytes
    assert (found.clean_bytes, found.cleanable_bytes) == (segment_bytes, 2 * segment_bytes)


def test_a_checkpoint_beyond_the_log_end_is_reset_to_the_log_start() -> None:
    """The tail was lost, and with it the proof of what was compacted."""
    log = log_of_segments(*[NOW_MS] * 3)
    found = judge(log, 7)
    assert (found.first_dirty_offset, found.checkpoint_was_wrong) == (0, True)
    assert not judge(log, 4).checkpoint_was_wrong


@pytest.mark.parametrize("checkpoint", [5, 6])
def test_row_43_a_dirty_offset_in_the_active_segment_is_no_endless_loop(checkpoint: int) -> None:
    """KAFKA-8764, 9826: nothing is cleanable, the bounds do not cross, and no one picks this log again and again."""
    found = judge(log_of_segments(*[NOW_MS] * 3), checkpoint)
    assert (found.first_dirty_offset, found.first_uncleanable_offset) == (checkpoint, checkpoint)
    assert (found.cleanable_bytes, found.is_cleanable) == (0, False)
    assert filthiest([("users", found)]) is None


def test_row_43_a_log_start_in_the_active_segment_is_no_endless_loop() -> None:
    """The checkpoint is behind, all closed segments are hidden: KAFKA-9826 as it came up."""
    log = log_of_segments(*[NOW_MS] * 3)
    log.advance_log_start(5, high_watermark=6)
    found = judge(log, 2)
    assert (found.first_dirty_offset, found.first_uncleanable_offset, found.is_cleanable) == (5, 5, False)


def test_an_empty_log_is_left_alone() -> None:
    found = judge(log_of_segments())
    assert (found.is_cleanable, found.dirty_ratio) == (False, 0.0)


def test_without_a_maximum_lag_no_segment_is_opened() -> None:
    """Ten thousand logs are judged every few seconds: not at the price of a file each."""
    disk = SimulatedDisk()
    log = log_of_segments(*[NOW_MS] * 3, disk=disk)
    log.close(NOW_MS)
    again = open_log(disk, "/data/users-0", PARTITION, COMPACT, now_ms=NOW_MS, is_clean=True)
    for suffix in (".log", ".index", ".timeindex"):
        disk.fail_next("open", path_contains=suffix)
    assert judge(again).is_cleanable


def sample(ratio: float, *, now: bool = False, is_cleanable: bool = True) -> Cleanability:
    return Cleanability(
        first_dirty_offset=0,
        first_uncleanable_offset=10,
        clean_bytes=1000 - int(1000 * ratio),
        cleanable_bytes=int(1000 * ratio),
        needs_compaction_now=now,
        is_cleanable=is_cleanable,
        reason="",
        checkpoint_was_wrong=False,
    )


def test_the_filthiest_comes_first_and_the_overdue_before_it() -> None:
    dirty, dirtier, overdue, barred = sample(0.6), sample(0.9), sample(0.1, now=True), sample(1.0, is_cleanable=False)
    assert filthiest([("dirty", dirty), ("dirtier", dirtier), ("barred", barred)]) == "dirtier"
    assert filthiest([("dirtier", dirtier), ("overdue", overdue), ("more", sample(0.05, now=True))]) == "overdue"
    assert filthiest([("one", dirty), ("two", dirty)]) == "one"
    assert filthiest([("barred", barred)]) is None
    assert filthiest([]) is None
