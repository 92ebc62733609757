"""Reading: a slice of one segment's file, from the batch that holds the offset on (SPEC L4, L6)."""

from __future__ import annotations

import errno
import gc
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.log.making_logs import (
    NOW,
    append,
    append_marker,
    batch_of,
    batches_in,
    killed,
    make_log,
    numbered,
    offsets_read,
    picture_of,
    sized_batch,
)

from strandline.log import page_cache
from strandline.log.log import Log
from strandline.log.log_slice import LogSlice
from strandline.log.segment import Segment
from strandline.model.failures import ErrorCode, Refused, StorageFailed
from strandline.records.batch import split_batches
from strandline.records.builder import build_batch
from strandline.records.compression import Codec
from strandline.records.heads import head_of
from strandline.records.record import Record
from strandline.simulation.disk import SimulatedDisk


def out_of_range(log: Log, offset: int) -> bool:
    with pytest.raises(Refused) as caught:
        log.read(offset, 1000)
    return caught.value.error_code == ErrorCode.OFFSET_OUT_OF_RANGE


def test_a_batch_is_given_whole() -> None:
    log = make_log()
    append(log, batch_of("a", "b", "c"), batch_of("d"))
    assert offsets_read(log, 2) == [0, 1, 2, 3]
    assert offsets_read(log, 3) == [3]


def test_the_first_batch_comes_even_if_it_is_too_large() -> None:
    """SPEC L6: else a reader would be stuck before it for ever."""
    log = make_log()
    append(log, sized_batch(500), sized_batch(100))
    for max_bytes in (0, 1, 499, 500):
        assert log.read(0, max_bytes).length == 500


def test_the_last_batch_may_be_cut() -> None:
    """As in Kafka: readers drop a batch that is cut short, and ask again from it."""
    log = make_log()
    append(log, sized_batch(200), sized_batch(200), sized_batch(200))
    assert log.read(0, 450).length == 450
    assert offsets_read(log, 0, 450) == [0, 1]


def test_the_end_is_empty_and_beyond_it_is_out_of_range() -> None:
    log = make_log()
    assert log.read(0, 100).read() == b""
    assert out_of_range(log, 1)
    append(log, batch_of("a", "b"))
    slice_at_end = log.read(2, 100)
    assert slice_at_end.length == 0
    assert slice_at_end.read() == b""
    assert out_of_range(log, 3)
    assert out_of_range(log, -1)


def test_below_the_log_start_is_out_of_range() -> None:
    log = make_log()
    append(log, batch_of("a", "b", "c", "d"))
    log.advance_log_start(2, high_watermark=4)
    assert out_of_range(log, 1)
    assert offsets_read(log, 2) == [0, 1, 2, 3]  # whole batches; a reader skips what it did not ask for


def test_one_slice_is_of_one_segment() -> None:
    log = make_log(segment_bytes=450)
    append(log, *(sized_batch(200) for _ in range(5)))
    assert [segment.base_offset for segment in log.segments.all()] == [0, 2, 4]
    assert offsets_read(log, 0) == [0, 1]
    assert offsets_read(log, 3) == [3]
    assert offsets_read(log, 4) == [4]


class TestHighWatermark:
    """SPEC R2: consumers see only what is below it."""

    def test_nothing_at_or_above_it(self) -> None:
        log = make_log(segment_bytes=450)
        append(log, *(sized_batch(200) for _ in range(6)))
        for high_watermark in range(7):
            for offset in range(7):
                found = offsets_read(log, offset, max_offset=high_watermark)
                segment_end = offset - offset % 2 + 2
                assert found == list(range(offset, min(high_watermark, segment_end, 6))), (offset, high_watermark)

    def test_a_batch_it_cuts_through_is_held_back(self) -> None:
        log = make_log()
        append(log, batch_of("a"), batch_of("b", "c", "d"), batch_of("e"))
        assert offsets_read(log, 0, max_offset=2) == [0]
        assert offsets_read(log, 1, max_offset=2) == []
        assert offsets_read(log, 1, max_offset=4) == [1, 2, 3]

    def test_not_even_the_first_batch(self) -> None:
        log = make_log()
        append(log, sized_batch(500), sized_batch(500))
        assert log.read(1, 0, max_offset=1).length == 0
        assert log.read(0, 0, max_offset=0).length == 0

    def test_beyond_the_end_it_limits_nothing(self) -> None:
        log = make_log()
        append(log, batch_of("a"))
        assert offsets_read(log, 0, max_offset=99) == [0]
        assert offsets_read(log, 1, max_offset=99) == []


@settings(max_examples=40)
@given(
    counts=st.lists(st.integers(1, 4), min_size=1, max_size=20),
    gaps=st.lists(st.sampled_from([0, 0, 0, 1, 5]), min_size=20, max_size=20),
    segment_bytes=st.sampled_from([200, 400, 1000]),
    index_interval_bytes=st.sampled_from([0, 100, 4096]),
)
def test_every_offset_against_a_list(
    counts: list[int], gaps: list[int], segment_bytes: int, index_interval_bytes: int
) -> None:
    """A dumb model: the list of batches. Gaps are what a compacted leader sends."""
    log = make_log(segment_bytes=segment_bytes, index_interval_bytes=index_interval_bytes)
    offset = 0
    for count, gap in zip(counts, gaps, strict=False):
        offset += gap
        records = [Record(offset + index, NOW, b"k", b"v" * 20) for index in range(count)]
        log.append_replicated(build_batch(records), now_ms=NOW)
        offset += count
    batches = [(head_of(batch), batch) for batch in batches_in(log)]
    segment_of = {head.base_offset: log.segments.holding(head.base_offset).base_offset for head, _ in batches}
    for asked in range(log.log_end_offset):
        for max_bytes, max_offset in ((0, None), (150, None), (10**6, None), (10**6, asked + 3), (150, asked + 1)):
            limit = log.log_end_offset if max_offset is None else max_offset
            visible = [(head, batch) for head, batch in batches if head.last_offset >= asked]
            first = visible[0][0]
            expected = b"".join(
                batch
                for head, batch in visible
                if head.last_offset < limit and segment_of[head.base_offset] == segment_of[first.base_offset]
            )
            expected = expected[: max(max_bytes, first.size_bytes)]
            assert log.read(asked, max_bytes, max_offset=max_offset).read() == expected


def test_a_slice_outlives_its_segment(tmp_path: Path) -> None:
    """SPEC C5: a reader is not disturbed when retention or truncation takes the file away under it."""
    log = make_log(tmp_path / "orders-0", segment_bytes=450, file_delete_delay_ms=0)
    append(log, *(sized_batch(200) for _ in range(5)))
    held = log.read(0, 10**6)
    expected = held.read()
    log.remove_segments(log.segments.all()[:1], now_ms=NOW)
    log.deletions.remove_due(NOW)
    gc.collect()
    assert not list((tmp_path / "orders-0").glob("00000000000000000000.*"))
    assert held.read() == expected
    assert os.fstat(held.file.fileno()).st_nlink == 0
    assert out_of_range(log, 0)


def test_a_slice_outlives_its_log(tmp_path: Path) -> None:
    log = make_log(tmp_path / "orders-0")
    append(log, batch_of("a"))
    held = log.read(0, 100)
    expected = held.read()
    log.close(NOW)
    del log
    gc.collect()
    assert held.read() == expected


def test_files_of_dropped_slices_are_closed(tmp_path: Path) -> None:
    """No descriptor leaks, though nobody closes one by hand."""
    log = make_log(tmp_path / "orders-0", segment_bytes=450, file_delete_delay_ms=0)
    append(log, *(sized_batch(200) for _ in range(3)))
    held = log.read(0, 10**6)
    file = os.fstat(held.file.fileno())
    log.remove_segments(log.segments.all()[:1], now_ms=NOW)
    log.deletions.remove_due(NOW)
    assert is_open(file)
    del held
    gc.collect()
    assert not is_open(file)


def is_open(file: os.stat_result) -> bool:
    """Here; not by its descriptor, which a thread of others may have got meanwhile."""
    for descriptor in os.listdir("/proc/self/fd"):
        with suppress(OSError):
            if os.path.samestat(os.fstat(int(descriptor)), file):
                return True
    return False


READS: list[Callable[[Log], object]] = [
    lambda log: log.read(1, 10**6).read(),
    lambda log: log.find_by_timestamp(NOW),
    lambda log: log.find_max_timestamp(),
    lambda log: log.aborted_transactions(0, 100),
]


class TestFailingReads:
    """To have no descriptor left says nothing about the disk; all else does, and takes the log offline."""

    def reopened(self, *, without: str = "") -> tuple[Log, SimulatedDisk]:
        """No file is open yet. Of the first segment, the index `without` is gone."""
        log = make_log(segment_bytes=450, index_interval_bytes=100)
        append(log, *(sized_batch(150, timestamp=NOW + number) for number in range(8)))
        append(log, numbered(0, is_transactional=True))
        append_marker(log, 7, is_commit=False)
        append(log, sized_batch(150))
        log.close(NOW)
        disk = killed(log)
        if without:
            disk.remove(f"/orders-0/00000000000000000000{without}")
        return make_log(filesystem=disk, segment_bytes=450, index_interval_bytes=100, is_clean=True), disk

    def outcome_of(self, read: Callable[[Log], object], log: Log) -> object:
        try:
            return read(log)
        except StorageFailed as failed:
            return failed

    @pytest.mark.parametrize("error", [errno.EMFILE, errno.ENFILE])
    @pytest.mark.parametrize("read", READS)
    @pytest.mark.parametrize("without", ["", ".index", ".timeindex"])
    def test_out_of_descriptors_the_read_fails_and_the_log_goes_on(
        self, error: int, read: Callable[[Log], object], without: str
    ) -> None:
        """Wherever it happens, in the middle of rebuilding an index too: the next read says what is so."""
        expected = read(self.reopened()[0])
        for operation in ("open", "map"):
            for after in range(30):
                log, disk = self.reopened(without=without)
                disk.fail_next(operation, error, after=after)
                outcome = self.outcome_of(read, log)
                assert outcome == expected or "ulimit -n" in str(outcome)
                if disk.faults:
                    break  # the read needs no more of them
                assert log.failure is None
                assert [again(log) for again in READS] == [again(self.reopened()[0]) for again in READS]
                append(log, batch_of("and so does a leader"))
            else:
                pytest.fail("a read opens fewer files than that")

    @pytest.mark.parametrize("read", READS)
    def test_a_failing_disk_takes_the_log_offline(self, read: Callable[[Log], object]) -> None:
        log, disk = self.reopened()
        disk.fail_next("open", errno.EIO)
        with pytest.raises(StorageFailed):
            read(log)
        assert log.failure is not None
        for again in READS:
            with pytest.raises(StorageFailed, match="offline"):
                again(log)
        with pytest.raises(StorageFailed, match="offline"):
            append(log, batch_of("a"))

    @pytest.mark.parametrize(
        "change",
        [
            lambda log: append(log, sized_batch(400)),  # rolls
            lambda log: log.truncate_to(1, now_ms=NOW),
            lambda log: log.truncate_fully_and_start_at(1, now_ms=NOW),
            lambda log: append(log, batch_of("a"), leader_epoch=9),
            lambda log: log.roll(NOW),
        ],
    )
    def test_out_of_descriptors_in_the_middle_of_a_change(self, change: Callable[[Log], object]) -> None:
        """What was done of it and what was not is in doubt: only a restart can tell."""
        log, disk = self.reopened()
        disk.fail_next("open", errno.EMFILE)
        with pytest.raises(StorageFailed):
            change(log)
        assert log.failure is not None
        with pytest.raises(StorageFailed, match="offline"):
            log.read(0, 100)

    def test_nothing_else_has_changed(self) -> None:
        log, disk = self.reopened()
        before = picture_of(log)
        disk.fail_next("open", errno.EMFILE)
        with pytest.raises(StorageFailed):
            log.read(1, 10)
        assert picture_of(log) == before


def is_resident(found: LogSlice) -> bool:
    return page_cache.is_resident(found.file.fileno(), found.position, found.length)


class TestPageCache:
    """The event loop sends only what is in memory; the rest is read in a thread first."""

    def test_what_was_just_written_is_resident(self, tmp_path: Path) -> None:
        log = make_log(tmp_path / "orders-0")
        append(log, sized_batch(100_000))
        assert is_resident(log.read(0, 10**6))

    def test_a_cold_range(self, tmp_path: Path) -> None:
        log = make_log(tmp_path / "orders-0")
        append(log, *(sized_batch(100_000) for _ in range(10)))
        log.flush(NOW)  # dirty pages cannot be dropped
        cold = log.read(0, 10**7)
        cold.drop_from_page_cache()
        resident = page_cache.resident_bytes(cold.file.fileno(), cold.position, cold.length)
        assert resident is not None
        assert resident < cold.length
        assert not is_resident(cold)
        assert len(list(split_batches(cold.read()))) == 10
        assert is_resident(cold)


def test_across_a_reopen(tmp_path: Path) -> None:
    log = make_log(tmp_path / "orders-0", segment_bytes=450)
    append(log, *(batch_of(str(number), codec=Codec.GZIP) for number in range(9)))
    before = [log.read(offset, 10**6).read() for offset in range(9)]
    log.close(NOW)
    for is_clean in (True, False):
        again = make_log(tmp_path / "orders-0", segment_bytes=450, is_clean=is_clean)
        assert [again.read(offset, 10**6).read() for offset in range(9)] == before


@settings(max_examples=50, deadline=None)
@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("append"), st.integers(1, 3), st.integers(100, 400).filter(lambda size: size != 126)),
            st.tuples(st.just("read"), st.integers(0, 6), st.sampled_from([0, 150, 10_000])),
            st.tuples(st.just("truncate"), st.integers(0, 3), st.just(0)),
            st.tuples(st.just("roll"), st.just(0), st.just(0)),
        ),
        max_size=40,
    )
)
def test_who_goes_on_from_the_end_gets_what_a_search_would_find(steps: list[tuple[str, int, int]]) -> None:
    """Where the log ended when it was read is remembered; what is cut and written anew lies elsewhere."""
    log = make_log(segment_bytes=3_000)
    for what, count, size_bytes in steps:
        if what == "append":
            append(log, *(sized_batch(size_bytes) for _ in range(count)))
        elif what == "truncate":
            log.truncate_to(max(0, log.log_end_offset - count), now_ms=NOW)
        elif what == "roll":
            log.roll(NOW)
        else:
            offset = max(0, log.log_end_offset - count)
            for max_offset in (None, log.log_end_offset, max(offset, log.log_end_offset - 1)):
                found = log.read(offset, size_bytes, max_offset=max_offset)
                remembered = dict(log.segments.active.read_ends)
                log.segments.active.read_ends.clear()
                assert found == log.read(offset, size_bytes, max_offset=max_offset)
                log.segments.active.read_ends.update(remembered)


def test_a_reader_at_the_end_searches_nothing() -> None:
    log = make_log()
    append(log, batch_of("a"))
    log.read(0, 10_000)
    append(log, batch_of("b"), batch_of("c"))
    with patch.object(Segment, "position_of", side_effect=AssertionError):
        assert offsets_read(log, 1) == [1, 2]
