"""When a segment is closed and the next begins (SPEC L3), and what the indexes of both then hold (SPEC L4, L5)."""

from __future__ import annotations

from pathlib import Path
from struct import iter_unpack, pack
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.log.making_logs import (
    NOW,
    append,
    batch_of,
    files_of,
    heads_in,
    killed,
    make_log,
    numbered,
    offsets_read,
    sized_batch,
    timed_batch,
)

from strandline.log.log import Log
from strandline.log.segment import RELATIVE_OFFSET_MAX
from strandline.model.partitions import TopicPartition
from strandline.records.batch import NO_TIMESTAMP
from strandline.records.builder import build_batch
from strandline.records.record import Record

FIRST = "00000000000000000000"
SIZES = st.integers(80, 400).filter(lambda size: size != 126)  # the length of a record has one byte, or two


def bases(log: Log) -> list[int]:
    return log.segments.base_offsets


class TestSize:
    def test_a_segment_may_be_exactly_full(self) -> None:
        log = make_log(segment_bytes=400)
        append(log, sized_batch(200), sized_batch(200))
        assert bases(log) == [0]
        append(log, sized_batch(100))
        assert bases(log) == [0, 2]

    def test_one_byte_more_rolls(self) -> None:
        log = make_log(segment_bytes=399)
        append(log, sized_batch(200), sized_batch(200))
        assert bases(log) == [0, 1]

    def test_a_group_fills_several_segments(self) -> None:
        log = make_log(segment_bytes=450)
        append(log, *(sized_batch(200) for _ in range(7)))
        assert bases(log) == [0, 2, 4, 6]
        assert [segment.size_bytes for segment in log.segments.all()] == [400, 400, 400, 200]

    def test_all_at_once_is_as_one_by_one(self) -> None:
        sizes = [100 + 37 * number % 150 for number in range(30)]
        apart, together = (make_log(segment_bytes=600, index_interval_bytes=150) for _ in range(2))
        append(together, *(sized_batch(size) for size in sizes))
        for size in sizes:
            append(apart, sized_batch(size))
        assert files_of(apart) == files_of(together)

    def test_a_repetition_does_not_roll(self) -> None:
        log = make_log(segment_bytes=150)
        append(log, numbered(0))
        append(log, numbered(0))
        assert bases(log) == [0]

    def test_a_replicated_batch_larger_than_a_segment_has_its_own(self) -> None:
        """The leader's segment.bytes may have been larger when it took it."""
        log = make_log(segment_bytes=150)
        append(log, batch_of("a"))
        large = build_batch([Record(1, NOW, b"k", b"v" * 1000)])
        log.append_replicated(large, now_ms=NOW)
        append(log, batch_of("b"))
        assert bases(log) == [0, 1, 2]
        assert offsets_read(log, 1) == [1]


class TestTime:
    def test_by_the_clock_of_the_records(self) -> None:
        """KIP-33: from the first batch's largest timestamp; more than segment.ms, not exactly."""
        log = make_log(segment_ms=1000)
        append(log, timed_batch([NOW, NOW + 10]))
        append(log, timed_batch([NOW + 1010]))
        assert bases(log) == [0]
        append(log, timed_batch([NOW + 1011]))
        assert bases(log) == [0, 3]

    def test_the_wall_clock_does_not_matter_then(self) -> None:
        log = make_log(segment_ms=1000)
        append(log, timed_batch([NOW]))
        append(log, timed_batch([NOW]), now_ms=NOW + 10**9)
        assert bases(log) == [0]

    def test_by_the_wall_clock_where_records_have_none(self) -> None:
        log = make_log(segment_ms=1000)
        append(log, timed_batch([NO_TIMESTAMP]))
        append(log, timed_batch([NO_TIMESTAMP]), now_ms=NOW + 1000)
        assert bases(log) == [0]
        append(log, timed_batch([NO_TIMESTAMP]), now_ms=NOW + 1001)
        assert bases(log) == [0, 2]
        append(log, timed_batch([NO_TIMESTAMP]), now_ms=NOW + 1500)
        assert bases(log) == [0, 2]

    def test_an_empty_segment_waits_as_long_as_it_likes(self) -> None:
        log = make_log(segment_ms=1000)
        append(log, timed_batch([NOW + 10**6]), now_ms=NOW + 10**6)
        assert bases(log) == [0]

    def test_time_that_runs_back_does_not_roll(self) -> None:
        """KAFKA-4099."""
        log = make_log(segment_ms=1000)
        append(log, timed_batch([NOW]), timed_batch([0]), timed_batch([NOW - 10**6]))
        assert bases(log) == [0]

    def test_the_first_timestamp_is_found_again_after_a_restart(self, tmp_path: Path) -> None:
        log = make_log(tmp_path / "orders-0", segment_ms=1000)
        append(log, timed_batch([NOW]), timed_batch([NOW + 900]))
        log.close(NOW)
        log = make_log(tmp_path / "orders-0", segment_ms=1000, is_clean=True, now_ms=NOW + 950)
        append(log, timed_batch([NOW + 1001]), now_ms=NOW + 950)
        assert bases(log) == [0, 2]


class TestJitter:
    """log.roll.jitter.ms: so that ten thousand partitions do not roll in the same second."""

    def test_bounds_and_spread(self) -> None:
        jitters: set[int] = set()
        for number in range(50):
            log = make_log(partition=TopicPartition("t", number), segment_ms=10_000, segment_jitter_ms=1000)
            jitters.update(log.roll_jitter_ms(base_offset) for base_offset in range(20))
        assert min(jitters) >= 0
        assert max(jitters) < 1000
        assert len(jitters) > 500

    def test_never_more_than_segment_ms(self) -> None:
        log = make_log(segment_ms=10, segment_jitter_ms=10**9)
        assert all(0 <= log.roll_jitter_ms(base_offset) < 10 for base_offset in range(100))

    def test_none_by_default(self) -> None:
        assert make_log().roll_jitter_ms(5) == 0

    def test_the_same_each_time(self) -> None:
        one, other = (make_log(segment_jitter_ms=10**6) for _ in range(2))
        assert [one.roll_jitter_ms(base) for base in range(9)] == [other.roll_jitter_ms(base) for base in range(9)]

    def test_it_brings_the_roll_forward(self) -> None:
        log = make_log(segment_ms=10_000, segment_jitter_ms=5000)
        jitter = log.roll_jitter_ms(0)
        assert jitter > 0
        append(log, timed_batch([NOW]), timed_batch([NOW + 10_000 - jitter]))
        assert bases(log) == [0]
        append(log, timed_batch([NOW + 10_001 - jitter]))
        assert bases(log) == [0, 2]

    def test_it_is_there_again_after_a_restart(self) -> None:
        """Else every restart would line all partitions up."""
        options: dict[str, Any] = {"segment_ms": 10_000, "segment_jitter_ms": 5000}
        log = make_log(**options)
        append(log, timed_batch([NOW]))
        log = make_log(filesystem=killed(log), **options)
        append(log, timed_batch([NOW + 10_001 - log.roll_jitter_ms(0)]))
        assert bases(log) == [0, 1]

    def test_it_is_there_after_the_log_began_anew(self) -> None:
        log = make_log(segment_ms=10_000, segment_jitter_ms=5000)
        append(log, timed_batch([NOW]))
        log.truncate_fully_and_start_at(50, now_ms=NOW)
        append(log, timed_batch([NOW]))
        append(log, timed_batch([NOW + 10_001 - log.roll_jitter_ms(50)]))
        assert bases(log) == [50, 51]


class TestIndexSpace:
    def test_a_full_offset_index(self) -> None:
        log = make_log(segment_index_bytes=24, index_interval_bytes=0)  # three offsets; one time and one kept free
        for _ in range(8):
            append(log, timed_batch([NOW]))  # times stand still: the time index takes one entry
        # The first batch has no entry; those after it fill the index, and the next must go elsewhere.
        assert bases(log) == [0, 2, 4, 6]

    def test_a_full_time_index(self) -> None:
        log = make_log(segment_index_bytes=48, index_interval_bytes=0)  # six offsets, four times less one kept free
        for number in range(10):
            append(log, timed_batch([NOW + number]))
        assert bases(log) == [0, 4, 8]

    def test_no_space_at_all(self) -> None:
        """Each batch gets a segment; nothing breaks."""
        log = make_log(segment_index_bytes=4, index_interval_bytes=0)
        append(log, *(batch_of("a") for _ in range(4)))
        assert bases(log) == [0, 1, 2, 3]
        assert [offsets_read(log, offset) for offset in range(4)] == [[0], [1], [2], [3]]

    def test_a_reopened_segment_has_space_again(self, tmp_path: Path) -> None:
        """Its indexes were trimmed to what they held, which must not pass for full."""
        for _ in range(5):
            log = make_log(tmp_path / "orders-0", index_interval_bytes=0, is_clean=True)
            append(log, batch_of("a"), batch_of("b"))
            log.close(NOW)
        assert bases(log) == [0]
        assert len(list((tmp_path / "orders-0").glob("*.log"))) == 1


class TestLeap:
    """Relative offsets have 31 bits; a compacted leader may leap over more."""

    def test_the_last_offset_that_fits(self) -> None:
        log = make_log()
        log.append_replicated(batch_of("a"), now_ms=NOW)
        far = build_batch([Record(RELATIVE_OFFSET_MAX, NOW, b"k", b"v")])
        log.append_replicated(far, now_ms=NOW)
        assert bases(log) == [0]

    def test_the_first_that_does_not(self) -> None:
        log = make_log()
        log.append_replicated(batch_of("a"), now_ms=NOW)
        far = RELATIVE_OFFSET_MAX + 1
        log.append_replicated(build_batch([Record(far, NOW, b"k", b"v")]), now_ms=NOW)
        assert bases(log) == [0, 1]  # it fits a segment that joins the first without a gap
        assert offsets_read(log, 1) == [far]

    def test_farther_than_any_segment_that_joins(self) -> None:
        log = make_log()
        log.append_replicated(batch_of("a"), now_ms=NOW)
        far = 10 * RELATIVE_OFFSET_MAX
        log.append_replicated(build_batch([Record(far, NOW, b"k", b"v")]), now_ms=NOW)
        assert bases(log) == [0, far]
        assert offsets_read(log, 5) == [far]
        assert log.find_by_timestamp(NOW) is not None

    def test_from_an_empty_log(self) -> None:
        log = make_log(cleanup_policy=("compact",))
        far = 10 * RELATIVE_OFFSET_MAX
        log.append_replicated(build_batch([Record(far, NOW, b"k", b"v")]), now_ms=NOW)
        assert log.log_end_offset == far + 1
        assert offsets_read(log, 0) == [far]
        again = make_log(filesystem=killed(log), cleanup_policy=("compact",))
        assert again.log_end_offset == far + 1

    def test_a_batch_that_ends_beyond(self) -> None:
        log = make_log()
        log.append_replicated(batch_of("a"), now_ms=NOW)
        base = RELATIVE_OFFSET_MAX - 1
        records = [Record(base + index, NOW, b"k", b"v") for index in range(3)]
        log.append_replicated(build_batch(records), now_ms=NOW)
        assert bases(log) == [0, 1]


class TestRollByHand:
    def test_an_empty_segment_is_not_rolled(self) -> None:
        log = make_log()
        before = files_of(log)
        assert log.roll(NOW) is log.segments.active
        assert files_of(log) == before

    def test_the_next_is_named_by_the_next_offset(self) -> None:
        log = make_log()
        append(log, batch_of("a", "b"))
        log.roll(NOW)
        log.roll(NOW)
        assert bases(log) == [0, 2]
        append(log, batch_of("c"))
        assert offsets_read(log, 2) == [2]

    def test_a_snapshot_is_taken(self) -> None:
        log = make_log()
        append(log, numbered(0))
        log.roll(NOW)
        assert "00000000000000000001.snapshot" in files_of(log)


class TestIndexFiles:
    def test_the_active_segments_are_preallocated_and_trimmed_at_the_roll(self, tmp_path: Path) -> None:
        log = make_log(tmp_path / "orders-0", segment_bytes=250, segment_index_bytes=1000, index_interval_bytes=0)
        append(log, sized_batch(100), sized_batch(100))
        index, times = tmp_path / f"orders-0/{FIRST}.index", tmp_path / f"orders-0/{FIRST}.timeindex"
        assert (index.stat().st_size, times.stat().st_size) == (1000, 996)
        append(log, sized_batch(100))
        assert (index.stat().st_size, times.stat().st_size) == (8, 12)
        log.close(NOW)
        assert [path.stat().st_size for path in sorted((tmp_path / "orders-0").glob("*2.*index"))] == [0, 12]

    def test_a_hole_costs_nothing(self, tmp_path: Path) -> None:
        append(make_log(tmp_path / "orders-0"), batch_of("a"))
        index = tmp_path / f"orders-0/{FIRST}.index"
        assert index.stat().st_size == 10 * 2**20
        assert index.stat().st_blocks == 0

    def test_after_a_clean_stop_the_next_append_allocates_again(self, tmp_path: Path) -> None:
        log = make_log(tmp_path / "orders-0")
        append(log, batch_of("a"))
        log.close(NOW)
        index = tmp_path / f"orders-0/{FIRST}.index"
        assert index.stat().st_size == 0
        log = make_log(tmp_path / "orders-0", is_clean=True)
        assert index.stat().st_size == 0  # a broker of ten thousand quiet partitions allocates nothing
        append(log, batch_of("b"))
        assert index.stat().st_size == 10 * 2**20

    @settings(max_examples=40)
    @given(
        batches=st.lists(st.tuples(SIZES, st.integers(-1, 50)), min_size=1, max_size=30),
        interval=st.sampled_from([0, 100, 300, 1000]),
        together=st.booleans(),
    )
    def test_entries_are_where_kafka_puts_them(
        self, batches: list[tuple[int, int]], interval: int, together: bool
    ) -> None:
        """Kafka's rule, told again in a few lines: an append that finds more than `index.interval.bytes` written
        since the last entry makes an entry for its own batch; the time index follows where time has grown."""
        log = make_log(index_interval_bytes=interval)
        built = [sized_batch(size, timestamp=timestamp) for size, timestamp in batches]
        if together:
            append(log, *built)
        else:
            for batch in built:
                append(log, batch)
        offsets: list[tuple[int, int]] = []
        times: list[tuple[int, int]] = []
        largest, at = NO_TIMESTAMP, 0
        position = since = 0
        for offset, (size, timestamp) in enumerate(batches):
            if timestamp > largest:
                largest, at = timestamp, offset
            if since > interval:
                offsets.append((offset, position))
                if largest > (times[-1][0] if times else NO_TIMESTAMP):
                    times.append((largest, at))
                since = 0
            position += size
            since += size
        if largest > (times[-1][0] if times else NO_TIMESTAMP):
            times.append((largest, at))
        log.close(NOW)
        files = files_of(log)
        assert list(iter_unpack(">ii", files[f"{FIRST}.index"])) == offsets
        assert files[f"{FIRST}.timeindex"] == b"".join(pack(">qi", *entry) for entry in times)


def test_settings_are_changed_while_in_use() -> None:
    log = make_log()
    append(log, sized_batch(200))
    log.change_settings(log.settings.with_properties({"segment.bytes": "300", "index.interval.bytes": "0"}))
    append(log, sized_batch(200))
    assert bases(log) == [0, 1]
    log.change_settings(log.settings.with_properties({"max.message.bytes": "100"}))
    (refused,) = log.append([sized_batch(101)], leader_epoch=0, now_ms=NOW)
    assert isinstance(refused, Exception)
    log.change_settings(log.settings.with_properties({"segment.ms": "1"}))
    append(log, timed_batch([NOW + 2]))
    assert bases(log) == [0, 1, 2]
    log.change_settings(log.settings.with_properties({"message.timestamp.type": "LogAppendTime"}))
    append(log, timed_batch([5]), now_ms=NOW + 3)
    assert heads_in(log)[-1].max_timestamp == NOW + 3


@pytest.mark.parametrize("segment_bytes", [200, 500, 5000])
def test_a_log_is_the_same_however_it_is_cut(segment_bytes: int) -> None:
    log = make_log(segment_bytes=segment_bytes)
    whole = make_log()
    for number in range(40):
        append(log, batch_of(str(number), timestamp=NOW + number))
        append(whole, batch_of(str(number), timestamp=NOW + number))
    joined = b"".join(content for name, content in sorted(files_of(log).items()) if name.endswith(".log"))
    assert joined == files_of(whole)[f"{FIRST}.log"]
