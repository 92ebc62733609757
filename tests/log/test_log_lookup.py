"""Finding a record by its time: exact, inside compressed batches, whatever order the timestamps have (SPEC L5)."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.log.making_logs import NOW, append, killed, make_log, records_in, sized_batch, timed_batch

from strandline.log import lookup
from strandline.log.log import Log
from strandline.log.lookup import TimestampOffset
from strandline.records.batch import NO_TIMESTAMP
from strandline.records.builder import build_batch, seal_batch
from strandline.records.compression import Codec
from strandline.records.legacy import build_legacy
from strandline.records.record import Record


def offset_at(log: Log, timestamp: int) -> int | None:
    found = log.find_by_timestamp(timestamp)
    return None if found is None else found.offset


def test_exact_inside_a_compressed_batch() -> None:
    for codec in Codec:
        log = make_log()
        append(log, timed_batch([100, 110, 120], codec=codec), timed_batch([130, 140], codec=codec), leader_epoch=6)
        assert log.find_by_timestamp(0) == TimestampOffset(100, 0, 6)
        assert log.find_by_timestamp(111) == TimestampOffset(120, 2, 6)
        assert log.find_by_timestamp(130) == TimestampOffset(130, 3, 6)
        assert log.find_by_timestamp(140) == TimestampOffset(140, 4, 6)
        assert log.find_by_timestamp(141) is None


def test_an_empty_log_has_none() -> None:
    log = make_log()
    assert log.find_by_timestamp(0) is None
    assert log.find_max_timestamp() is None


def test_the_first_in_the_order_of_offsets() -> None:
    """Timestamps are the producers': they come in any order. The answer is the first record that is late enough."""
    log = make_log()
    append(log, timed_batch([100, 300]), timed_batch([200, 50]), timed_batch([400]))
    assert offset_at(log, 100) == 0
    assert offset_at(log, 101) == 1
    assert offset_at(log, 250) == 1
    assert offset_at(log, 301) == 4


def test_of_equal_timestamps_the_first() -> None:
    log = make_log(index_interval_bytes=0, segment_bytes=500)
    for _ in range(20):
        append(log, timed_batch([NOW] * 3))
    assert offset_at(log, NOW) == 0
    assert log.find_max_timestamp() == TimestampOffset(NOW, 0, 0)


def test_below_the_log_start_nothing_is_found() -> None:
    log = make_log()
    append(log, timed_batch([100, 200, 300]), timed_batch([100, 200, 300]))
    log.advance_log_start(2, high_watermark=6)
    assert offset_at(log, 100) == 2
    assert offset_at(log, 300) == 2
    log.advance_log_start(3, high_watermark=6)
    assert offset_at(log, 101) == 4


def test_a_segment_whose_late_records_are_below_the_log_start() -> None:
    """The segment's largest timestamp is that of a record nobody may see any more: look further."""
    log = make_log(segment_bytes=500)
    append(log, timed_batch([900]), sized_batch(300, timestamp=100), sized_batch(300, timestamp=950))
    assert len(log.segments) == 2
    log.advance_log_start(1, high_watermark=3)
    assert offset_at(log, 500) == 2


class TestLargest:
    """KIP-734; KAFKA-16310: the offset of the record, not of its batch."""

    def test_inside_its_batch(self) -> None:
        log = make_log()
        append(
            log, timed_batch([100]), timed_batch([100, 900, 200], codec=Codec.ZSTD), timed_batch([300]), leader_epoch=2
        )
        assert log.find_max_timestamp() == TimestampOffset(900, 2, 2)

    def test_in_an_earlier_segment(self) -> None:
        log = make_log(segment_bytes=300)
        for timestamp in (100, 900, 200, 900, 300):
            append(log, sized_batch(200, timestamp=timestamp))
        assert len(log.segments) == 5
        assert log.find_max_timestamp() == TimestampOffset(900, 1, 0)

    def test_append_time_gives_the_first_of_its_batch(self) -> None:
        log = make_log(message_timestamp_type="LogAppendTime")
        append(log, timed_batch([5, 6]))
        append(log, timed_batch([3, 4]), now_ms=NOW + 1)
        assert log.find_max_timestamp() == TimestampOffset(NOW + 1, 2, 0)

    def test_hidden_below_the_log_start(self) -> None:
        """Then the largest of those that can be read, also where a batch lies across the log start."""
        log = make_log(segment_bytes=400)
        append(log, timed_batch([900, 100, 700]), timed_batch([200, 300]), sized_batch(300, timestamp=500))
        assert len(log.segments) == 2
        assert log.find_max_timestamp() == TimestampOffset(900, 0, 0)
        log.advance_log_start(1, high_watermark=6)
        assert log.find_max_timestamp() == TimestampOffset(700, 2, 0)
        log.advance_log_start(3, high_watermark=6)
        assert log.find_max_timestamp() == TimestampOffset(500, 5, 0)
        log.advance_log_start(6, high_watermark=6)
        assert log.find_max_timestamp() is None


class TestNoTimestamp:
    def test_v0_messages_are_never_found(self) -> None:
        log = make_log()
        log.append_replicated(build_legacy([Record(0, NO_TIMESTAMP, None, b"a")], magic=0), now_ms=NOW)
        assert log.find_by_timestamp(0) is None
        assert log.find_max_timestamp() is None

    def test_among_others(self) -> None:
        log = make_log(index_interval_bytes=0)
        append(log, timed_batch([NO_TIMESTAMP]), timed_batch([NO_TIMESTAMP, 500]), timed_batch([NO_TIMESTAMP]))
        assert offset_at(log, 0) == 2
        assert log.find_max_timestamp() == TimestampOffset(500, 2, 0)


def test_v1_messages_and_wrappers() -> None:
    log = make_log()
    records = [Record(offset, 100 + 10 * offset, b"k", b"v") for offset in range(6)]
    log.append_replicated(
        build_legacy(records[:2], magic=1) + build_legacy(records[2:], magic=1, codec=Codec.GZIP), now_ms=NOW
    )
    for record in records:
        assert log.find_by_timestamp(record.timestamp) == TimestampOffset(record.timestamp, record.offset, -1)
        assert offset_at(log, record.timestamp - 9) == record.offset
    assert log.find_max_timestamp() == TimestampOffset(150, 5, -1)


@settings(max_examples=40)
@given(
    batches=st.lists(
        st.tuples(st.lists(st.integers(-1, 60), min_size=1, max_size=4), st.sampled_from(Codec)),
        min_size=1,
        max_size=25,
    ),
    segment_bytes=st.sampled_from([250, 500, 10**6]),
    index_interval_bytes=st.sampled_from([0, 150, 4096]),
    start=st.integers(0, 40),
    is_reopened=st.booleans(),
)
def test_against_a_list(
    batches: list[tuple[list[int], Codec]], segment_bytes: int, index_interval_bytes: int, start: int, is_reopened: bool
) -> None:
    log = make_log(segment_bytes=segment_bytes, index_interval_bytes=index_interval_bytes)
    append(log, *(timed_batch(timestamps, codec=codec) for timestamps, codec in batches))
    if is_reopened:
        log = make_log(filesystem=killed(log), segment_bytes=segment_bytes, index_interval_bytes=index_interval_bytes)
    log.advance_log_start(min(start, log.log_end_offset), high_watermark=log.log_end_offset)
    visible = [record for record in records_in(log) if record.offset >= log.log_start_offset]
    for timestamp in range(0, 62, 3):
        expected = next((record.offset for record in visible if record.timestamp >= timestamp), None)
        assert offset_at(log, timestamp) == expected
    largest = max((record.timestamp for record in visible), default=NO_TIMESTAMP)
    found = log.find_max_timestamp()
    if largest == NO_TIMESTAMP:
        assert found is None
    else:
        assert found is not None
        assert (found.timestamp, found.offset) == (largest, offset_at(log, largest))


def test_records_that_cannot_be_read_do_not_end_the_search() -> None:
    """A plain topic takes what has a right CRC: a client may send a batch whose records are nonsense."""
    log = make_log()
    nonsense = seal_batch(
        b"\xff" * 20, base_offset=0, last_offset_delta=0, base_timestamp=NOW, max_timestamp=NOW + 5, record_count=1
    )
    append(log, timed_batch([NOW]), nonsense, timed_batch([NOW + 7]))
    assert offset_at(log, NOW + 3) == 2


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.LZ4, Codec.ZSTD, Codec.SNAPPY])
def test_a_batch_that_would_grow_beyond_reason_is_found_as_a_whole(
    codec: Codec, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To look into it would hold up everybody else: whoever asks begins with its first record."""
    monkeypatch.setattr(lookup, "LOOKUP_BYTES_MAX", 10_000)
    log = make_log()
    records = [Record(offset, NOW + offset, None, bytes(5_000)) for offset in range(3)]
    append(log, timed_batch([NOW - 5]), build_batch(records, codec=codec))
    assert log.find_by_timestamp(NOW + 2) == TimestampOffset(NOW, 1, 0)
    monkeypatch.setattr(lookup, "LOOKUP_BYTES_MAX", 20_000)
    assert log.find_by_timestamp(NOW + 2) == TimestampOffset(NOW + 2, 3, 0)
