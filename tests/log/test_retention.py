"""Retention lets whole segments go, oldest first, and never more than it may (SPEC C1-C5)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import repeat

import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from strandline.log import checkpoints
from strandline.log.filesystem import RealFileSystem
from strandline.log.log import Log
from strandline.log.recovery import open_log
from strandline.log.retention import (
    DEFAULT_POLICIES,
    RetentionPlan,
    Verdict,
    apply_retention,
    by_log_start,
    by_size,
    plan_for,
    plan_retention,
)
from strandline.log.segment_view import LogView, SegmentView
from strandline.model.failures import ErrorCode, Refused, StorageFailed
from strandline.model.partitions import TopicPartition
from strandline.model.settings import DAY_MS, HOUR_MS, LogSettings
from strandline.records.builder import build_batch
from strandline.records.control import build_marker
from strandline.records.record import Record, read_records
from strandline.simulation.crash_matrix import run_with_power_loss_at_every_step
from strandline.simulation.disk import SimulatedDisk

PARTITION = TopicPartition("orders", 0)
FOLDER = "/data/orders-0"
NOW_MS = 1_720_000_000_000


def batch_of(*values: str, timestamp: int = NOW_MS) -> bytearray:
    return build_batch([Record(offset, timestamp, None, value.encode()) for offset, value in enumerate(values)])


def open_at(disk: SimulatedDisk, settings: LogSettings, *, log_start_offset: int = 0) -> Log:
    return open_log(disk, FOLDER, PARTITION, settings, now_ms=NOW_MS, log_start_offset=log_start_offset)


def log_of_segments(
    *timestamps: int, disk: SimulatedDisk | None = None, settings: LogSettings | None = None, batches: int = 2
) -> Log:
    """One segment for each timestamp, each of `batches` batches of two records: four offsets by default."""
    log = open_at(disk or SimulatedDisk(), settings or LogSettings())
    for number, timestamp in enumerate(timestamps):
        if number:
            log.roll(NOW_MS)
        for _ in range(batches):
            (outcome,) = log.append([batch_of("a", "b", timestamp=timestamp)], leader_epoch=0, now_ms=NOW_MS)
            assert not isinstance(outcome, Refused), outcome
    return log


def plan_of(log: Log, *, high_watermark: int | None = None, now_ms: int = NOW_MS) -> RetentionPlan:
    bound = log.log_end_offset if high_watermark is None else high_watermark
    return plan_for(LogView.of(log, now_ms=now_ms, high_watermark=bound))


def retain(log: Log, *, high_watermark: int | None = None, now_ms: int = NOW_MS) -> int:
    bound = log.log_end_offset if high_watermark is None else high_watermark
    return apply_retention(log, plan_retention(log, now_ms=now_ms, high_watermark=bound), now_ms)


def bases_of(log: Log) -> list[int]:
    return log.segments.base_offsets


def values_of(log: Log, offset: int) -> list[tuple[int, bytes | None]]:
    """Offset and value of every record from `offset` to the end, across segments."""
    found: list[tuple[int, bytes | None]] = []
    while offset < log.log_end_offset:
        data = log.read(offset, 1).read()
        records = [record for record in read_records(data) if record.offset >= offset]
        found += [(record.offset, record.value) for record in records]
        offset = records[-1].offset + 1
    return found


# By time.


def test_segments_older_than_the_retention_time_go() -> None:
    """SPEC C2: judged by the largest timestamp of each segment, strictly older."""
    week = 7 * DAY_MS
    log = log_of_segments(NOW_MS - week - 2, NOW_MS - week - 1, NOW_MS - week, NOW_MS)
    assert retain(log) == 2
    assert bases_of(log) == [8, 12]
    assert log.log_start_offset == 8


def test_a_reason_names_the_timestamp_the_limit_and_the_day_it_goes() -> None:
    log = log_of_segments(NOW_MS - 7 * DAY_MS - 1, NOW_MS - 7 * DAY_MS)
    going, staying = plan_of(log).verdicts
    assert going.goes
    assert going.reason == "its newest timestamp is 2024-06-26 09:46:39.999 UTC, older than retention.ms=604800000"
    assert not staying.goes
    assert staying.reason == (
        "its newest timestamp is 2024-06-26 09:46:40.000 UTC: with retention.ms=604800000"
        " it stays until 2024-07-03 09:46:40.001 UTC"
    )


def test_without_timestamps_the_file_tells_the_age() -> None:
    """SPEC C2: the modification time counts only where no record has a timestamp."""
    disk = SimulatedDisk()
    disk.now_ms = NOW_MS - 8 * DAY_MS
    log = log_of_segments(-1, NOW_MS, disk=disk)
    verdicts = plan_of(log).verdicts
    assert [verdict.goes for verdict in verdicts] == [True, False]
    assert verdicts[0].reason.startswith("no record has a timestamp, its file is of 2024-06-25")
    disk.now_ms = NOW_MS
    log.segments.first.file.write(0, log.segments.first.file.read(0, 1))  # touched
    assert not plan_of(log).verdicts[0].goes


def test_no_time_limit_keeps_everything() -> None:
    log = log_of_segments(0, 1, 2, settings=LogSettings(retention_ms=-1))
    assert {(verdict.goes, verdict.reason) for verdict in plan_of(log).verdicts} == {(False, "no limit is set")}


def test_a_timestamp_in_the_future_keeps_its_segment_and_the_plan_says_so() -> None:
    """A client whose clock is off: Kafka keeps the segment and all behind it, we say why."""
    settings = LogSettings(message_timestamp_after_max_ms=2**62)
    log = log_of_segments(NOW_MS + 400 * DAY_MS, NOW_MS - 30 * DAY_MS, NOW_MS, settings=settings)
    ahead, behind, _ = plan_of(log).verdicts
    assert not ahead.goes
    assert "which lies in the future" in ahead.reason
    assert "until 2025-08-14" in ahead.reason
    assert not behind.goes
    assert behind.reason.endswith("but an older segment stays")
    assert retain(log) == 0


def test_a_timestamp_beyond_any_calendar_does_not_break_the_plan() -> None:
    log = log_of_segments(2**61, NOW_MS, settings=LogSettings(message_timestamp_after_max_ms=2**62))
    assert f"{2**61} ms after 1970" in plan_of(log).verdicts[0].reason


# By size.


@pytest.mark.parametrize(
    ("spare_segments", "gone"),
    [(4.0, 0), (3.0, 1), (2.5, 1), (2.0, 2), (1.0, 3), (0.5, 3), (0.0, 4)],
)
def test_the_oldest_go_while_the_log_stays_at_or_above_its_size_limit(spare_segments: float, gone: int) -> None:
    """SPEC C3, computed as Kafka does: a segment goes if the rest still fills retention.bytes."""
    log = log_of_segments(NOW_MS, NOW_MS, NOW_MS, NOW_MS)
    segment_bytes = log.segments.first.size_bytes
    log.change_settings(LogSettings(retention_bytes=int(spare_segments * segment_bytes), retention_ms=-1))
    assert len(plan_of(log).going) == gone
    assert retain(log) == gone
    assert log.log_start_offset == 4 * gone
    assert log.size_bytes >= log.settings.retention_bytes or gone == 0


def test_size_reasons_count_the_bytes_behind() -> None:
    log = log_of_segments(NOW_MS, NOW_MS, NOW_MS)
    segment_bytes = log.segments.first.size_bytes
    limit = segment_bytes + 1
    log.change_settings(LogSettings(retention_bytes=limit, retention_ms=-1))
    assert [verdict.reason for verdict in plan_of(log).verdicts] == [
        f"{2 * segment_bytes} bytes come after it, which is all that retention.bytes={limit} keeps",
        f"{segment_bytes} bytes come after it, and retention.bytes={limit} keeps more",
        f"0 bytes come after it, and retention.bytes={limit} keeps more",
    ]


def test_an_old_segment_goes_by_time_where_size_would_keep_it() -> None:
    log = log_of_segments(NOW_MS - 9 * DAY_MS, NOW_MS - 8 * DAY_MS, NOW_MS)
    log.change_settings(LogSettings(retention_bytes=2 * log.segments.first.size_bytes))
    going = [verdict for verdict in plan_of(log).verdicts if verdict.goes]
    assert ["retention.bytes" in verdict.reason for verdict in going] == [True, False]
    assert retain(log) == 2


# By log start offset.


def test_segments_below_the_log_start_go_even_if_the_topic_is_only_compacted() -> None:
    """SPEC C4: the next segment's base offset at or below the log start; time and size have no say."""
    settings = LogSettings(cleanup_policy=("compact",), retention_ms=1, retention_bytes=0)
    log = open_at(SimulatedDisk(), settings)
    for number in range(3):
        if number:
            log.roll(NOW_MS)
        keyed = build_batch([Record(0, 1, b"k", b"v"), Record(1, 1, b"l", b"w")])
        log.append([keyed], leader_epoch=0, now_ms=NOW_MS)
    assert retain(log) == 0
    log.advance_log_start(3, high_watermark=6)
    plan = plan_of(log)
    assert [verdict.goes for verdict in plan.verdicts] == [True, False, False]
    assert plan.verdicts[0].reason == "it lies below the log start offset 3"
    assert plan.verdicts[1].reason == "cleanup.policy=compact does not delete"
    assert retain(log) == 1
    assert bases_of(log) == [2, 4]
    assert log.log_start_offset == 3


def test_row_34_the_log_start_may_lie_inside_a_batch() -> None:
    """KAFKA-6975: nothing below it is served as its own, nothing at or above it is lost, now and after a restart."""
    disk = SimulatedDisk()
    log = log_of_segments(NOW_MS, NOW_MS, disk=disk)
    log.advance_log_start(5, high_watermark=8)  # the second record of the second segment's first batch
    assert retain(log) == 1
    assert (bases_of(log), log.log_start_offset) == ([4], 5)
    with pytest.raises(Refused) as refused:
        log.read(4, 1000)
    assert refused.value.error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    assert [offset for offset, _ in values_of(log, 5)] == [5, 6, 7]
    log.flush(NOW_MS)

    again = open_at(disk.kill(), log.settings, log_start_offset=5)
    assert (again.log_start_offset, again.log_end_offset) == (5, 8)
    assert [offset for offset, _ in values_of(again, 5)] == [5, 6, 7]
    assert retain(again) == 0


def test_row_34_the_log_start_may_lie_in_the_active_segment() -> None:
    """KAFKA-8306, 9133: all closed segments go; the active one stays, with what is hidden in it."""
    disk = SimulatedDisk()
    log = log_of_segments(NOW_MS, NOW_MS, NOW_MS, disk=disk)
    log.advance_log_start(12, high_watermark=12)  # everything: the log start is the log end
    assert retain(log) == 2
    assert (bases_of(log), log.log_start_offset, log.log_end_offset) == ([8], 12, 12)
    assert log.read(12, 1000).length == 0
    assert retain(log) == 0

    log.append([batch_of("c")], leader_epoch=0, now_ms=NOW_MS)
    assert values_of(log, 12) == [(12, b"c")]
    log.flush(NOW_MS)
    again = open_at(disk.kill(), log.settings, log_start_offset=12)
    assert (again.log_start_offset, again.log_end_offset) == (12, 13)
    assert values_of(again, 12) == [(12, b"c")]


def test_row_34_a_log_start_beyond_the_active_segment_survives_its_loss() -> None:
    """The checkpoint outlived the bytes: the log begins anew at its start, and offsets are not used twice."""
    disk = SimulatedDisk()
    log = log_of_segments(NOW_MS, disk=disk)
    again = open_at(disk.kill(), log.settings, log_start_offset=9)
    assert (again.log_start_offset, again.log_end_offset, bases_of(again)) == (9, 9, [9])
    again.append([batch_of("c")], leader_epoch=1, now_ms=NOW_MS)
    assert retain(again) == 0
    assert values_of(again, 9) == [(9, b"c")]


# What no policy can undo.


def test_row_33_nothing_above_the_high_watermark_goes() -> None:
    """KAFKA-5634: a slow follower holds the high watermark back; retention must not pass it."""
    log = log_of_segments(1, 1, 1, 1)
    plan = plan_of(log, high_watermark=7)
    assert [verdict.goes for verdict in plan.verdicts] == [True, False, False, False]
    assert plan.verdicts[1].reason.endswith("but it ends at offset 8, above the high watermark 7")
    assert retain(log, high_watermark=7) == 1
    assert log.log_start_offset == 4
    assert retain(log, high_watermark=8) == 1
    assert log.log_start_offset == 8


def test_row_33_the_active_segment_goes_only_once_all_of_it_is_committed() -> None:
    log = log_of_segments(1)
    assert retain(log, high_watermark=3) == 0
    assert retain(log, high_watermark=4) == 1
    assert (log.log_start_offset, log.log_end_offset) == (4, 4)


def test_behind_a_segment_that_stays_all_stay() -> None:
    log = log_of_segments(1, NOW_MS, 1, 1)
    plan = plan_of(log)
    assert [verdict.goes for verdict in plan.verdicts] == [True, False, False, False]
    assert plan.verdicts[2].reason.endswith("but an older segment stays")
    assert plan.bytes_going == log.segments.first.size_bytes
    assert retain(log) == 1


def test_when_all_is_old_the_active_segment_is_rolled_and_goes_too() -> None:
    log = log_of_segments(1, 1)
    assert retain(log) == 2
    assert bases_of(log) == [8]
    assert (log.log_start_offset, log.log_end_offset, log.size_bytes) == (8, 8, 0)
    assert plan_of(log).verdicts[0].reason == "the active segment is empty"
    assert retain(log, now_ms=NOW_MS + 100 * DAY_MS) == 0
    (appended,) = log.append([batch_of("c")], leader_epoch=0, now_ms=NOW_MS)
    assert not isinstance(appended, Refused)
    assert appended.base_offset == 8


def test_an_empty_log_keeps_its_only_segment() -> None:
    log = open_at(SimulatedDisk(), LogSettings(retention_ms=0, retention_bytes=0))
    assert retain(log, now_ms=NOW_MS + DAY_MS) == 0
    assert bases_of(log) == [0]


def test_what_goes_takes_its_epochs_and_its_unreplicated_transactions_along() -> None:
    """As DeleteRecords does: no leader epoch and no transaction may point below the log start."""
    log = open_at(SimulatedDisk(), LogSettings())
    data = build_batch(
        [Record(0, 1, b"k", b"v")], producer_id=7, producer_epoch=0, base_sequence=0, is_transactional=True
    )
    marker = build_marker(producer_id=7, producer_epoch=0, is_commit=True, coordinator_epoch=0, timestamp=1)
    log.append([data], leader_epoch=3, now_ms=NOW_MS)
    log.append([marker], leader_epoch=3, now_ms=NOW_MS, from_client=False)
    assert log.producers.first_unstable_offset == 0
    log.roll(NOW_MS)
    log.append([batch_of("young")], leader_epoch=4, now_ms=NOW_MS)
    assert retain(log) == 1
    assert log.producers.first_unstable_offset is None
    assert [entry.start_offset for entry in log.epochs.entries()] == [2]


def test_epochs_that_go_leave_their_file_when_the_log_is_closed_and_do_no_harm_before() -> None:
    """To save them at once would wait for the disk twice; whoever opens the log cuts off what begins below it."""
    disk = SimulatedDisk()
    log = log_of_segments(1, NOW_MS, disk=disk)
    log.flush(NOW_MS)
    path = f"{FOLDER}/leader-epoch-checkpoint"
    whole = checkpoints.read_leader_epochs(disk, path)
    assert retain(log) == 1
    left = list(log.epochs.entries())
    assert [entry.start_offset for entry in left] == [4]
    assert checkpoints.read_leader_epochs(disk, path) == whole != left
    again = open_log(disk.kill(), FOLDER, PARTITION, log.settings, now_ms=NOW_MS)
    assert list(again.epochs.entries()) == left
    log.close(NOW_MS)
    assert checkpoints.read_leader_epochs(disk, path) == left


def test_a_failing_disk_takes_the_log_offline_at_whatever_step() -> None:
    """SPEC L10: also when only a new name could not be made durable, after the segment had left the log."""
    disk = SimulatedDisk()
    log = log_of_segments(1, 1, disk=disk)
    log.append([batch_of("young")], leader_epoch=1, now_ms=NOW_MS)
    log.flush(NOW_MS)
    disk.fail_next("sync_directory")
    with pytest.raises(StorageFailed):
        retain(log)
    with pytest.raises(StorageFailed):
        log.read(8, 1000)


def test_a_time_index_that_cannot_be_read_takes_the_log_offline() -> None:
    disk = SimulatedDisk()
    log = log_of_segments(1, NOW_MS, disk=disk)
    log.close(NOW_MS)
    again = open_log(disk, FOLDER, PARTITION, log.settings, now_ms=NOW_MS, is_clean=True)
    disk.fail_next("open", path_contains="00000000000000000000.timeindex")
    with pytest.raises(StorageFailed):
        plan_retention(again, now_ms=NOW_MS, high_watermark=8)
    assert again.failure is not None


def test_row_36_offsets_keep_their_values_whatever_goes() -> None:
    """RP#2326, 2284: eviction shifts nothing. Every offset that is left reads as it was written."""
    log = open_at(SimulatedDisk(), LogSettings(retention_bytes=0, retention_ms=-1))
    written: dict[int, bytes] = {}
    for number in range(12):
        value = f"value {number}".encode()
        log.append([build_batch([Record(0, NOW_MS, None, value)])], leader_epoch=0, now_ms=NOW_MS)
        written[number] = value
        if number % 3 == 2:
            log.roll(NOW_MS)
        retain(log, high_watermark=max(0, number - 4))
        assert values_of(log, log.log_start_offset) == [
            (offset, written[offset]) for offset in range(log.log_start_offset, number + 1)
        ]
    assert log.log_start_offset == 6


def test_a_plan_that_is_out_of_date_takes_nothing_it_did_not_judge() -> None:
    """Records that arrive between plan and deletion are above the high watermark of the plan."""
    log = log_of_segments(1, 1)
    plan = plan_retention(log, now_ms=NOW_MS, high_watermark=8)
    assert len(plan.going) == 2
    log.append([batch_of("new", timestamp=1)], leader_epoch=0, now_ms=NOW_MS)
    assert apply_retention(log, plan, NOW_MS) == 1
    assert bases_of(log) == [4]
    assert values_of(log, 8) == [(8, b"new")]
    assert apply_retention(log, plan, NOW_MS) == 0


def test_a_background_run_looks_no_further_than_the_first_that_stays() -> None:
    log = log_of_segments(1, NOW_MS, NOW_MS, NOW_MS)
    asked: list[int] = []

    def curious(view: LogView) -> Iterator[Verdict]:
        for segment in view.segments:
            asked.append(segment.base_offset)
            yield Verdict(segment.largest_timestamp == 1, "it is old")

    plan = plan_retention(log, now_ms=NOW_MS, high_watermark=16, policies=(curious,))
    assert [verdict.goes for verdict in plan.verdicts] == [True, False]
    assert asked == [0, 4]


def test_policies_can_be_replaced() -> None:
    """SPEC C5: pluggable. A policy's word is enough, and still bound by the high watermark."""
    log = log_of_segments(NOW_MS, NOW_MS, NOW_MS)

    def all_of_it(view: LogView) -> Iterator[Verdict]:
        return repeat(Verdict(True, f"{len(view.segments)} segments are too many"))

    plan = plan_retention(log, now_ms=NOW_MS, high_watermark=8, policies=(by_log_start, all_of_it))
    assert [verdict.reason for verdict in plan.verdicts][:2] == ["3 segments are too many"] * 2
    assert apply_retention(log, plan, NOW_MS) == 2
    assert plan_for(LogView.of(log, now_ms=NOW_MS, high_watermark=12), ()).going == []
    assert by_size in DEFAULT_POLICIES


class Stamped:
    """A segment's timestamps, without a segment."""

    def __init__(self, timestamp: int) -> None:
        self.max_timestamp = self.first_timestamp = timestamp


@st.composite
def log_views(draw: st.DrawFn) -> LogView:
    """Up to six segments of two offsets; the active one may be empty."""
    disk = SimulatedDisk()
    sizes = [*draw(st.lists(st.integers(1, 5), max_size=5)), draw(st.integers(0, 5))]
    ends = [2 * number + 2 for number in range(len(sizes) - 1)] + [2 * len(sizes) - (0 if sizes[-1] else 2)]
    segments = [
        SegmentView(2 * number, end, size, "", number == len(sizes) - 1, disk, Stamped(draw(st.integers(0, 20))))
        for number, (size, end) in enumerate(zip(sizes, ends, strict=True))
    ]
    log_start_offset = draw(st.integers(0, ends[-1]))
    high_watermark = draw(st.integers(log_start_offset, ends[-1]))
    return LogView(
        segments=segments,
        settings=LogSettings(
            cleanup_policy=draw(st.sampled_from([("delete",), ("compact",), ("compact", "delete")])),
            retention_ms=draw(st.integers(-1, 12)),
            retention_bytes=draw(st.integers(-1, 20)),
        ),
        log_start_offset=log_start_offset,
        high_watermark=high_watermark,
        last_stable_offset=high_watermark,
        now_ms=20,
    )


def going_in_three_passes(log: LogView) -> int:
    """How many segments go if the policies run one after another, each on what the one before has left."""
    left = list(log.segments)

    def run(wants: Callable[[SegmentView], bool]) -> None:
        while left and left[0].end_offset <= log.high_watermark and wants(left[0]):
            if left[0].is_active and left[0].size_bytes == 0:
                return
            left.pop(0)

    run(lambda segment: not segment.is_active and segment.end_offset <= log.log_start_offset)
    limits = log.settings
    if limits.deletes and limits.retention_bytes >= 0:
        run(lambda _: sum(each.size_bytes for each in left[1:]) >= limits.retention_bytes)
    if limits.deletes and limits.retention_ms >= 0:
        run(lambda segment: log.now_ms - segment.largest_timestamp > limits.retention_ms)
    return len(log.segments) - len(left)


@given(log_views())
@examples(max_examples=200)
def test_one_pass_lets_go_what_three_would(log: LogView) -> None:
    """Kafka runs log start, size and time one after another; the plan asks all three of each segment at once."""
    verdicts = plan_for(log).verdicts
    going = going_in_three_passes(log)
    assert [verdict.goes for verdict in verdicts] == [index < going for index in range(len(verdicts))]
    assert all(verdict.reason for verdict in verdicts)


# How files go.


def test_files_are_renamed_at_once_and_removed_after_the_delay() -> None:
    """SPEC C5."""
    disk = SimulatedDisk()
    log = log_of_segments(1, NOW_MS, disk=disk, settings=LogSettings(file_delete_delay_ms=HOUR_MS))
    retain(log)
    names = disk.names(FOLDER)
    assert "00000000000000000000.log.deleted" in names
    assert "00000000000000000000.timeindex.deleted" in names
    assert "00000000000000000000.log" not in names
    assert log.deletions.remove_due(NOW_MS + HOUR_MS - 1) == 0
    assert disk.names(FOLDER) == names
    assert log.deletions.remove_due(NOW_MS + HOUR_MS) == 1
    assert not [name for name in disk.names(FOLDER) if name.endswith(".deleted")]
    assert not [name for name in disk.names(FOLDER) if name.startswith("00000000000000000000.")]


def test_a_reader_that_holds_a_slice_reads_on_after_its_segment_is_gone(tmp_path: object) -> None:
    """SPEC C5, on real files: the descriptor outlives the name."""
    filesystem = RealFileSystem()
    log = open_log(filesystem, f"{tmp_path}/orders-0", PARTITION, LogSettings(), now_ms=NOW_MS)
    log.append([batch_of("kept in hand", timestamp=1)], leader_epoch=0, now_ms=NOW_MS)
    held = log.read(0, 1000)
    before = held.read()
    segments = log.segments.all()
    assert retain(log) == 1
    assert held.read() == before
    assert log.deletions.remove_due(NOW_MS + HOUR_MS) == 1
    assert [name for name in filesystem.names(log.directory) if name.startswith("00000000000000000000.")] == []
    assert held.read() == before
    assert [record.value for record in read_records(held.read())] == [b"kept in hand"]
    assert len(segments) == 1, "whoever took the list of segments keeps it as it was"
    with pytest.raises(Refused):
        log.read(0, 1000)


def test_row_35_a_delayed_deletion_never_takes_a_live_file() -> None:
    """KAFKA-12964, 5752: truncated away, written again under the same name, twice; then the first delay ends."""
    disk = SimulatedDisk()
    settings = LogSettings(file_delete_delay_ms=HOUR_MS)
    log = log_of_segments(NOW_MS, NOW_MS, disk=disk, settings=settings)
    for round_number in range(2):
        log.truncate_to(2, now_ms=NOW_MS + round_number)
        log.append([batch_of("x", "y")], leader_epoch=0, now_ms=NOW_MS)
        log.roll(NOW_MS)
        log.append([batch_of(f"round {round_number}")], leader_epoch=0, now_ms=NOW_MS)
    assert bases_of(log) == [0, 4]
    assert len(log.deletions) == 2
    live = [name for name in disk.names(FOLDER) if not name.endswith(".deleted")]
    for due_ms in (NOW_MS + HOUR_MS, NOW_MS + HOUR_MS + 1, NOW_MS + 2 * HOUR_MS):
        log.deletions.remove_due(due_ms)
        assert [name for name in disk.names(FOLDER) if not name.endswith(".deleted")] == live
        assert values_of(log, 4) == [(4, b"round 1")]
    assert disk.names(FOLDER) == live
    again = open_at(disk.kill(), settings)
    assert values_of(again, 2) == [(2, b"x"), (3, b"y"), (4, b"round 1")]


def test_row_35_retention_right_after_truncate_and_append() -> None:
    """The same name waits twice: once from a truncation, once from retention."""
    disk = SimulatedDisk()
    log = log_of_segments(1, 1, disk=disk)
    log.truncate_fully_and_start_at(0, now_ms=NOW_MS)
    log.append([batch_of("old", timestamp=1)], leader_epoch=0, now_ms=NOW_MS)
    log.roll(NOW_MS)
    log.append([batch_of("new")], leader_epoch=0, now_ms=NOW_MS)
    assert retain(log) == 1
    log.deletions.remove_due(NOW_MS + HOUR_MS)
    assert len(log.deletions) == 0
    assert values_of(log, 1) == [(1, b"new")]
    assert not [name for name in disk.names(FOLDER) if name.endswith(".deleted")]


def test_power_loss_anywhere_in_a_retention_run_leaves_no_hole_and_nothing_young_lost() -> None:
    settings = LogSettings(retention_ms=DAY_MS, segment_index_bytes=1200)

    def prepared() -> SimulatedDisk:
        disk = SimulatedDisk()
        log = log_of_segments(1, 1, NOW_MS, NOW_MS, disk=disk, settings=settings, batches=1)
        log.flush(NOW_MS)
        for folder in ("/", "/data", FOLDER):
            disk.sync_directory(folder)
        return disk.kill()

    def run(disk: SimulatedDisk, _: list[int]) -> None:
        log = open_log(disk, FOLDER, PARTITION, settings, now_ms=NOW_MS, recovery_point=8, is_clean=True)
        assert retain(log) == 2
        log.deletions.remove_due(NOW_MS + HOUR_MS)

    def verify(disk: SimulatedDisk, _: list[int]) -> None:
        log = open_log(disk, FOLDER, PARTITION, settings, now_ms=NOW_MS, recovery_point=8)
        assert log.log_end_offset == 8
        assert log.log_start_offset in (0, 2, 4)
        assert [offset for offset, _ in values_of(log, log.log_start_offset)] == list(range(log.log_start_offset, 8))
        retain(log)
        assert log.log_start_offset == 4

    count = run_with_power_loss_at_every_step(run, verify, make_oracle=list, make_disk=prepared, seeds=2)
    assert count.steps >= 8
