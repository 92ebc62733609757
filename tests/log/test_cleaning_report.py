"""The dry run says what would go and why the rest does not yet, and changes nothing (SPEC C1-C6)."""

from __future__ import annotations

import json
import os

import pytest

from strandline.log.cleaning_report import CleaningReport, report_on
from strandline.log.filesystem import RealFileSystem
from strandline.log.log import Log
from strandline.log.recovery import open_log
from strandline.log.segment_view import LogView, SegmentView, views_of, views_of_folder
from strandline.model.partitions import TopicPartition
from strandline.model.settings import DAY_MS, HOUR_MS, LogSettings
from strandline.records.builder import build_batch
from strandline.records.compression import Codec
from strandline.records.control import build_marker
from strandline.records.record import Record
from strandline.simulation.disk import SimulatedDisk

PARTITION = TopicPartition("users", 0)
FOLDER = "/data/users-0"
NOW_MS = 1_720_000_000_000
SETTINGS = LogSettings(cleanup_policy=("compact", "delete"), index_interval_bytes=100, segment_index_bytes=1200)

KeyValue = tuple[bytes | None, bytes | None]


def open_at(disk: SimulatedDisk, settings: LogSettings = SETTINGS) -> Log:
    return open_log(disk, FOLDER, PARTITION, settings, now_ms=NOW_MS)


def append(log: Log, *pairs: KeyValue, timestamp: int = NOW_MS, codec: Codec = Codec.NONE) -> None:
    records = [Record(offset, timestamp, key, value) for offset, (key, value) in enumerate(pairs)]
    put(log, build_batch(records, codec=codec))


def put(log: Log, batch: bytearray) -> None:
    """As a follower takes it: batches that a leader would not accept from a client can be in a log, too."""
    base_offset = log.log_end_offset
    batch[:8] = base_offset.to_bytes(8, "big")
    log.append_replicated(batch, now_ms=NOW_MS)


def view_of(log: Log, *, high_watermark: int | None = None) -> LogView:
    bound = log.log_end_offset if high_watermark is None else high_watermark
    return LogView.of(log, now_ms=NOW_MS, high_watermark=bound)


def folder_view(disk: SimulatedDisk, log: Log) -> LogView:
    """The same log as another process finds it in its folder."""
    return LogView(
        segments=views_of_folder(disk, FOLDER),
        settings=log.settings,
        log_start_offset=log.log_start_offset,
        high_watermark=log.log_end_offset,
        last_stable_offset=log.log_end_offset,
        now_ms=NOW_MS,
    )


def sample_log(disk: SimulatedDisk) -> Log:
    """Five segments: an old one, two of today, one above the high watermark of 10, and the active one."""
    log = open_at(disk)
    append(log, (b"a", b"1"), (b"b", b"1"), (b"c", b"1"), timestamp=NOW_MS - 8 * DAY_MS)
    log.roll(NOW_MS)
    append(log, (b"a", b"2"), (b"b", b"2"))
    append(log, (b"a", b"3"), codec=Codec.ZSTD)
    log.roll(NOW_MS)
    append(log, (b"c", None), (b"d", b"1"), (b"d", b"2"))
    log.roll(NOW_MS)
    append(log, (b"a", b"4"), (b"b", b"4"))
    log.roll(NOW_MS)
    append(log, (b"a", b"5"))
    return log


def sample_report(disk: SimulatedDisk) -> CleaningReport:
    return report_on(view_of(sample_log(disk), high_watermark=10), counts_records=True)


def test_a_report_has_a_row_for_each_segment_with_both_verdicts() -> None:
    report = sample_report(SimulatedDisk())
    assert [(row.base_offset, row.end_offset, row.is_active) for row in report.rows] == [
        (0, 3, False),
        (3, 6, False),
        (6, 9, False),
        (9, 11, False),
        (11, 12, True),
    ]
    assert [row.is_deleted for row in report.rows] == [True, False, False, False, False]
    assert "older than retention.ms=604800000" in report.rows[0].retention_reason
    assert "it stays until 2024-07-10" in report.rows[1].retention_reason
    assert [row.is_compacted for row in report.rows] == [True, True, True, False, False]
    assert [row.compaction_reason for row in report.rows] == [
        "dirty; dirty ratio 1.00 is above 0.50",
        "dirty; dirty ratio 1.00 is above 0.50",
        "dirty; dirty ratio 1.00 is above 0.50",
        "it ends at offset 11, above the high watermark 10",
        "it is the active segment",
    ]
    assert (report.segments_deleted, report.bytes_deleted) == (1, report.rows[0].size_bytes)
    assert (report.first_dirty_offset, report.first_uncleanable_offset) == (0, 9)
    assert report.size_bytes == sum(row.size_bytes for row in report.rows)


def test_the_records_that_would_go_are_counted_exactly() -> None:
    report = sample_report(SimulatedDisk())
    # Of a, b, c at 1 all have a successor; of a 2, b 2, a 3 one; of c null, d 1, d 2 one: the tombstone stays for now.
    assert [(row.records, row.records_going) for row in report.rows] == [
        (3, 3),
        (3, 1),
        (3, 1),
        (None, None),
        (None, None),
    ]
    assert report.fault is None


def test_a_report_is_json_of_plain_values() -> None:
    report = sample_report(SimulatedDisk())
    read_back = json.loads(json.dumps(report.to_json()))
    assert read_back == report.to_json()
    assert read_back["cleanup_policy"] == ["compact", "delete"]
    assert read_back["rows"][3]["records_going"] is None
    assert read_back["rows"][0]["is_deleted"] is True


def test_a_clean_segment_says_so_and_is_read_again_when_the_log_is_compacted() -> None:
    log = sample_log(SimulatedDisk())
    report = report_on(view_of(log), checkpoint_offset=3)
    assert report.rows[0].compaction_reason == f"clean already; dirty ratio {report.dirty_ratio:.2f} is above 0.50"
    assert report.rows[0].is_compacted
    report = report_on(view_of(log), checkpoint_offset=9)
    assert not any(row.is_compacted for row in report.rows)
    assert report.rows[0].compaction_reason.startswith("clean already; dirty ratio 0.19 is not above")
    assert report.rows[3].compaction_reason == "dirty; dirty ratio 0.19 is not above 0.50"
    assert report.rows[0].records is None, "counting must be asked for: it reads the log twice"


def test_only_the_dirty_part_supersedes() -> None:
    """Two records of a key that both lie in the clean part were both kept for a reason; compaction does not ask."""
    view = view_of(sample_log(SimulatedDisk()), high_watermark=10)
    report = report_on(view, checkpoint_offset=6, counts_records=True)
    assert [row.records_going for row in report.rows] == [1, 0, 1, None, None]


def test_the_lag_bound_names_the_moment_it_ends_and_bars_what_is_behind() -> None:
    settings = LogSettings(cleanup_policy=("compact",), min_compaction_lag_ms=HOUR_MS)
    log = open_at(SimulatedDisk(), settings)
    append(log, (b"a", b"1"), timestamp=NOW_MS)
    log.roll(NOW_MS)
    append(log, (b"a", b"2"), timestamp=NOW_MS - DAY_MS)
    log.roll(NOW_MS)
    report = report_on(view_of(log))
    assert [row.compaction_reason for row in report.rows] == [
        "min.compaction.lag.ms=3600000 protects it until 2024-07-03 10:46:40.000 UTC",
        "an older segment cannot be compacted yet",
        "it is the active segment",
    ]
    assert {row.retention_reason for row in report.rows[:2]} == {"cleanup.policy=compact does not delete"}


@pytest.mark.parametrize(
    ("horizon_ms", "going", "text"),
    [
        (NOW_MS + DAY_MS, 0, "clean already, tombstones or markers wait until 2024-07-04 09:46:40.000 UTC; "),
        (NOW_MS, 1, "clean already, tombstones or markers may go since 2024-07-03 09:46:40.000 UTC; "),
    ],
)
def test_tombstones_wait_for_the_horizon_that_is_stored_with_them(horizon_ms: int, going: int, text: str) -> None:
    """KIP-534."""
    log = open_at(SimulatedDisk(), LogSettings(cleanup_policy=("compact",)))
    records = [Record(0, NOW_MS - DAY_MS, b"gone", None), Record(1, NOW_MS - DAY_MS, b"kept", b"1")]
    put(log, build_batch(records, delete_horizon_ms=horizon_ms))
    log.roll(NOW_MS)
    append(log, (b"other", b"1"), (b"again", b"1"), (b"another", b"1"))
    log.roll(NOW_MS)
    report = report_on(view_of(log), checkpoint_offset=2, counts_records=True)
    assert report.rows[0].delete_horizon_ms == horizon_ms
    assert report.rows[0].compaction_reason.startswith(text)
    assert (report.rows[0].records, report.rows[0].records_going) == (2, going)
    assert report.rows[1].delete_horizon_ms is None


def test_aborted_records_go_and_supersede_nothing_and_markers_are_not_counted() -> None:
    log = open_at(SimulatedDisk(), LogSettings(cleanup_policy=("compact",)))
    append(log, (b"a", b"committed"), (None, b"no key"))
    transaction = [Record(0, NOW_MS, b"a", b"aborted"), Record(1, NOW_MS, b"b", b"aborted")]
    put(log, build_batch(transaction, producer_id=7, producer_epoch=0, base_sequence=0, is_transactional=True))
    put(log, build_marker(producer_id=7, producer_epoch=0, is_commit=False, coordinator_epoch=0, timestamp=NOW_MS))
    again = [Record(0, NOW_MS, b"b", b"committed")]
    put(log, build_batch(again, producer_id=7, producer_epoch=0, base_sequence=2, is_transactional=True))
    put(log, build_marker(producer_id=7, producer_epoch=0, is_commit=True, coordinator_epoch=0, timestamp=NOW_MS))
    log.roll(NOW_MS)
    (row, _) = report_on(view_of(log), counts_records=True).rows
    assert (row.records, row.records_going) == (5, 3)  # the two aborted ones and the one without a key


def test_a_topic_that_only_deletes_is_not_read_for_compaction() -> None:
    log = open_at(SimulatedDisk(), LogSettings())
    append(log, (b"a", b"1"))
    log.roll(NOW_MS)
    report = report_on(view_of(log), counts_records=True)
    assert {row.compaction_reason for row in report.rows} == {"cleanup.policy=delete does not compact"}
    assert report.rows[0].records is None


def test_bytes_that_cannot_be_read_are_a_fault_in_the_report_and_no_failure() -> None:
    disk = SimulatedDisk()
    log = sample_log(disk)
    log.segments.all()[1].file.write(8, b"\0\0\0\0")
    report = report_on(view_of(log), counts_records=True)
    assert report.fault is not None
    assert "no batch at position 0" in report.fault
    assert len(report.rows) == 5


# Views of a folder.


def as_row(segment: SegmentView) -> tuple[int, int, int, int, int, bool]:
    return (
        segment.base_offset,
        segment.end_offset,
        segment.size_bytes,
        segment.largest_timestamp,
        segment.timestamps.first_timestamp,
        segment.is_active,
    )


@pytest.mark.parametrize("is_closed", [False, True])
def test_a_folder_tells_what_the_live_log_tells(is_closed: bool) -> None:
    """Also while its indexes are preallocated and their entries lag behind the log."""
    disk = SimulatedDisk()
    log = sample_log(disk)
    for number in range(40):
        append(log, (b"k", b"v" * number), timestamp=NOW_MS + 40 * number - number**2)
    live = report_on(view_of(log), counts_records=True)
    rows = [as_row(segment) for segment in views_of(log)]
    if is_closed:
        log.close(NOW_MS)
    assert [as_row(segment) for segment in views_of_folder(disk, FOLDER)] == rows
    assert report_on(folder_view(disk, log), counts_records=True) == live


def test_looking_at_a_folder_changes_nothing() -> None:
    disk = SimulatedDisk()
    log = sample_log(disk)
    changes, before = disk.operations, snapshot(disk)
    report_on(folder_view(disk, log), counts_records=True)
    assert disk.operations == changes
    assert snapshot(disk) == before


def snapshot(disk: SimulatedDisk) -> dict[str, bytes]:
    found = {}
    for name in disk.names(FOLDER):
        file = disk.open(f"{FOLDER}/{name}", writable=False)
        found[name] = file.read(0, file.size())
        file.close()
    return found


def test_a_read_only_folder_can_be_reported_on(tmp_path: object) -> None:
    filesystem, folder = RealFileSystem(), f"{tmp_path}/users-0"
    log = open_log(filesystem, folder, PARTITION, SETTINGS, now_ms=NOW_MS)
    append(log, (b"a", b"1"), timestamp=NOW_MS - 8 * DAY_MS)
    log.roll(NOW_MS)
    append(log, (b"a", b"2"))
    expected = report_on(view_of(log), counts_records=True)
    log.close(NOW_MS)
    times = {name: os.stat(f"{folder}/{name}").st_mtime_ns for name in os.listdir(folder)}
    for name in times:
        os.chmod(f"{folder}/{name}", 0o400)
    view = LogView(
        segments=views_of_folder(filesystem, folder),
        settings=SETTINGS,
        log_start_offset=0,
        high_watermark=2,
        last_stable_offset=2,
        now_ms=NOW_MS,
    )
    assert report_on(view, counts_records=True) == expected
    assert {name: os.stat(f"{folder}/{name}").st_mtime_ns for name in os.listdir(folder)} == times


@pytest.mark.parametrize("damage", ["missing", "empty", "cut", "zeros", "garbage"])
@pytest.mark.parametrize("kind", [".index", ".timeindex"])
def test_a_damaged_index_costs_a_scan_and_no_wrong_answer(kind: str, damage: str) -> None:
    disk = SimulatedDisk()
    log = sample_log(disk)
    for number in range(20):
        append(log, (b"k", b"v" * 90), timestamp=NOW_MS + number)
    expected = [as_row(segment) for segment in views_of(log)]
    log.close(NOW_MS)
    for base_offset in (6, 11):
        path = f"{FOLDER}/{base_offset:020d}{kind}"
        if damage == "missing":
            disk.remove(path)
            continue
        file = disk.open(path)
        size = {"empty": 0, "cut": max(0, file.size() - 5), "zeros": 0, "garbage": 0}[damage]
        file.truncate(size)
        if damage == "zeros":
            file.truncate(1200)
        elif damage == "garbage":
            file.append([b"\0\0\0\5\0\0\0\7" * 3 if kind == ".index" else b"\xff" * 24])
        file.close()
    assert [as_row(segment) for segment in views_of_folder(disk, FOLDER)] == expected


def test_a_torn_tail_ends_the_log_where_recovery_will_end_it() -> None:
    disk = SimulatedDisk()
    log = sample_log(disk)
    file = disk.open(f"{FOLDER}/{11:020d}.log")
    file.append([b"\0" * 100])
    assert views_of_folder(disk, FOLDER)[-1].end_offset == log.log_end_offset == 12


def test_files_on_their_way_are_not_segments() -> None:
    disk = SimulatedDisk()
    log = sample_log(disk)
    log.segments.first.change_suffix(".deleted")
    disk.open(f"{FOLDER}/{6:020d}.log.cleaned", create=True)
    disk.open(f"{FOLDER}/notes.log", create=True)
    assert [segment.base_offset for segment in views_of_folder(disk, FOLDER)] == [3, 6, 9, 11]


def test_an_empty_folder_gives_an_empty_report() -> None:
    disk = SimulatedDisk()
    disk.make_directories(FOLDER)
    view = LogView(
        segments=views_of_folder(disk, FOLDER),
        settings=SETTINGS,
        log_start_offset=0,
        high_watermark=0,
        last_stable_offset=0,
        now_ms=NOW_MS,
    )
    report = report_on(view, counts_records=True)
    assert (report.rows, report.size_bytes, report.is_cleanable) == ((), 0, False)
    assert report.compaction_reason == "nothing is cleanable: the log is empty"
