"""Appending as follower: the leader's bytes as they are, offsets and epochs and all (SPEC R1, R5)."""

from __future__ import annotations

import errno
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.log.making_logs import (
    NOW,
    append,
    append_marker,
    batch_of,
    batches_in,
    files_of,
    heads_in,
    killed,
    make_log,
    numbered,
    offsets_read,
    picture_of,
    producers_of,
    records_in,
    sized_batch,
    timed_batch,
)

from strandline.log.log import Log
from strandline.model.failures import CorruptData, ErrorCode, Refused, StorageFailed
from strandline.records.batch import NO_TIMESTAMP, set_base_offset
from strandline.records.builder import build_batch
from strandline.records.compression import Codec
from strandline.records.legacy import build_legacy
from strandline.records.record import Record
from strandline.simulation.disk import SimulatedDisk


def at(offset: int, count: int = 1, **options: Any) -> bytes:
    """A batch as a leader has it."""
    records = [Record(offset + index, NOW, b"k", b"value") for index in range(count)]
    return bytes(build_batch(records, **options))


def leader_log() -> Log:
    """Codecs, sequences, transactions, several epochs and segments."""
    log = make_log(segment_bytes=500, index_interval_bytes=100)
    for number in range(6):
        epoch = number // 2
        append(log, batch_of("a", "b", codec=Codec(number % 5)), leader_epoch=epoch)
        append(log, numbered(2 * number, 2, producer_id=1), leader_epoch=epoch)
        append(log, numbered(number, producer_id=2, is_transactional=True), leader_epoch=epoch)
        append_marker(log, 2, is_commit=number % 2 == 0)
    return log


def test_a_follower_becomes_its_leader_byte_by_byte() -> None:
    """Indexes, snapshots, epochs too, since both roll by the same rules."""
    leader = leader_log()
    for max_bytes in (1, 300, 10**6):
        follower = make_log(segment_bytes=500, index_interval_bytes=100)
        while follower.log_end_offset < leader.log_end_offset:
            fetched = leader.read(follower.log_end_offset, max_bytes).read()
            follower.append_replicated(fetched, now_ms=NOW)
        assert files_of(follower) == files_of(leader)
        assert producers_of(follower) == producers_of(leader)
        assert follower.epochs.entries() == leader.epochs.entries()
        assert follower.producers.first_unstable_offset == leader.producers.first_unstable_offset


@settings(max_examples=30)
@given(cuts=st.lists(st.integers(1, 700), max_size=20))
def test_a_batch_cut_short_waits_for_the_next_fetch(cuts: list[int]) -> None:
    leader = leader_log()
    stream = b"".join(batches_in(leader))
    follower = make_log(segment_bytes=500, index_interval_bytes=100)
    for size in [*cuts, 10**6]:
        read = sum(len(batch) for batch in batches_in(follower))
        end = follower.append_replicated(stream[read : read + size], now_ms=NOW)
        assert end == follower.log_end_offset
    assert batches_in(follower) == batches_in(leader)
    assert producers_of(follower) == producers_of(leader)


def test_gaps_of_a_compacted_leader() -> None:
    log = make_log(segment_bytes=300, index_interval_bytes=0)
    sparse = build_batch([Record(20, NOW, b"a", b"1"), Record(23, NOW, b"b", b"2")], base_offset=20, last_offset=29)
    assert log.append_replicated(at(3) + at(7, 2) + sparse + at(40), now_ms=NOW) == 41
    assert [record.offset for record in records_in(log)] == [3, 7, 8, 20, 23, 40]
    assert [(head.base_offset, head.last_offset) for head in heads_in(log)] == [(3, 3), (7, 8), (20, 29), (40, 40)]
    assert offsets_read(log, 0)[0] == 3
    assert offsets_read(log, 9)[0] == 20
    assert offsets_read(log, 25)[:2] == [20, 23]  # the batch that holds the offset, though the record is gone
    assert offsets_read(log, 30)[0] == 40


def test_an_empty_batch_keeps_its_producer() -> None:
    """Compaction leaves the head of a producer's last batch, so that its next sequence can be judged (KAFKA-5490)."""
    log = make_log()
    empty = build_batch([], base_offset=5, last_offset=9, producer_id=7, producer_epoch=3, base_sequence=11)
    assert log.append_replicated(empty, now_ms=NOW) == 10
    epoch, (batch,), *_ = producers_of(log)[7]
    assert (epoch, batch.first_sequence, batch.last_sequence, batch.last_offset) == (3, 11, 15, 9)
    append(log, numbered(16, producer_epoch=3))
    assert offsets_read(log, 0) == [10]


def test_an_emptied_marker_changes_nothing() -> None:
    log = make_log()
    empty = build_batch(
        [], base_offset=5, last_offset=5, producer_id=7, producer_epoch=3, is_control=True, is_transactional=True
    )
    log.append_replicated(empty, now_ms=NOW)
    assert producers_of(log) == {}
    assert log.log_end_offset == 6


def test_history_is_not_judged() -> None:
    """KAFKA-6003: sequences with holes, an older epoch: the leader has let them in, or compaction made the hole."""
    log = make_log()
    producer = {"producer_id": 7}
    log.append_replicated(
        at(0, **producer, producer_epoch=2, base_sequence=5)
        + at(1, **producer, producer_epoch=2, base_sequence=99)
        + at(2, **producer, producer_epoch=3, base_sequence=7),
        now_ms=NOW,
    )
    epoch, batches, *_ = producers_of(log)[7]
    assert (epoch, [batch.first_sequence for batch in batches]) == (3, [7])


def test_no_limits_of_size_or_time() -> None:
    log = make_log(max_message_bytes=100, message_timestamp_before_max_ms=10, cleanup_policy=("compact",))
    old = build_batch([Record(0, 5, None, b"v" * 500)])
    log.append_replicated(old, now_ms=NOW)
    assert batches_in(log) == [bytes(old)]


def test_append_time_is_the_leaders() -> None:
    log = make_log(message_timestamp_type="LogAppendTime", compression_type="gzip")
    sent = at(0, log_append_time_ms=NOW - 1000)
    log.append_replicated(sent, now_ms=NOW)
    assert batches_in(log) == [sent]


class TestEpochs:
    def test_they_come_from_the_batches(self) -> None:
        log = make_log()
        log.append_replicated(
            at(0, 2, leader_epoch=0) + at(2, leader_epoch=0) + at(3, leader_epoch=4) + at(10, leader_epoch=6),
            now_ms=NOW,
        )
        assert log.epochs.entries() == ((0, 0), (4, 3), (6, 10))

    def test_batches_without_one_have_none(self) -> None:
        log = make_log()
        log.append_replicated(at(0), now_ms=NOW)
        assert log.epochs.entries() == ()


class TestOldFormats:
    @pytest.mark.parametrize("magic", [0, 1])
    @pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4])
    def test_are_kept_as_they_are(self, magic: int, codec: Codec) -> None:
        log = make_log(segment_bytes=400, index_interval_bytes=0)
        stream = b""
        for base in range(0, 30, 3):
            records = [
                Record(base + index, NOW + base if magic else NO_TIMESTAMP, b"k", b"some value") for index in range(3)
            ]
            stream += build_legacy(records, magic=magic, codec=codec)
        stream += at(30, 2)
        assert log.append_replicated(stream, now_ms=NOW) == 32
        assert b"".join(batches_in(log)) == stream
        assert len(log.segments) > 1
        assert [record.offset for record in records_in(log)] == list(range(32))
        for offset in range(30):
            first = offset if codec is Codec.NONE else offset - offset % 3
            assert offsets_read(log, offset)[0] == first


def begun_at(offset: int) -> Log:
    """A follower that had other data, and was told where its leader's log starts."""
    log = make_log(segment_bytes=300)
    append(log, batch_of("a"), numbered(0), batch_of("b"), leader_epoch=1)
    log.truncate_fully_and_start_at(offset, now_ms=NOW)
    return log


class TestLogStartInsideABatch:
    """KAFKA-6975: a leader's DeleteRecords may end inside a batch, and a new follower begins to fetch there."""

    @pytest.mark.parametrize("log_start_offset", [101, 103, 104])
    def test_the_batch_is_kept_whole_and_its_beginning_hidden(self, log_start_offset: int) -> None:
        log = begun_at(log_start_offset)
        spanning = at(100, 5, leader_epoch=3)
        assert log.append_replicated(spanning + at(105, leader_epoch=4), now_ms=NOW) == 106
        assert batches_in(log) == [spanning, at(105, leader_epoch=4)]
        assert (log.log_start_offset, log.segments.first.base_offset) == (log_start_offset, 100)
        assert log.recovery_point <= 100
        assert log.epochs.entries() == ((3, 100), (4, 105))
        assert offsets_read(log, log_start_offset) == [100, 101, 102, 103, 104, 105]
        for offset in (100, log_start_offset - 1):
            with pytest.raises(Refused) as caught:
                log.read(offset, 1000)
            assert caught.value.error_code == ErrorCode.OFFSET_OUT_OF_RANGE
        found = log.find_by_timestamp(0)
        assert found is not None
        assert found.offset == log_start_offset

    def test_its_producer_is_known(self) -> None:
        log = begun_at(102)
        log.append_replicated(at(100, 5, producer_id=7, producer_epoch=0, base_sequence=9), now_ms=NOW)
        _, (batch,), *_ = producers_of(log)[7]
        assert batch[:4] == (9, 13, 100, 104)

    def test_the_checkpoints_are_lowered_before_the_log_is(self) -> None:
        log = begun_at(103)
        told: list[tuple[int, int]] = []
        log.offsets_lowered = lambda: told.append((log.log_start_offset, log.recovery_point))
        log.append_replicated(at(100, 5), now_ms=NOW)
        assert told == [(100, 100)]

    def test_only_in_an_empty_log(self) -> None:
        log = begun_at(103)
        log.append_replicated(at(103, 2), now_ms=NOW)
        before = picture_of(log)
        with pytest.raises(CorruptData, match="below the log end"):
            log.append_replicated(at(100, 9), now_ms=NOW)
        assert picture_of(log) == before

    def test_nor_where_records_are_only_hidden(self) -> None:
        """The log start is the log end, but the segment has bytes: what comes next must follow them."""
        log = begun_at(100)
        log.append_replicated(at(100, 4), now_ms=NOW)
        log.advance_log_start(104, high_watermark=104)
        with pytest.raises(CorruptData, match="below the log end"):
            log.append_replicated(at(103, 5), now_ms=NOW)
        assert log.append_replicated(at(104), now_ms=NOW) == 105

    @pytest.mark.parametrize("count", [1, 3])
    def test_a_batch_that_ends_below_the_log_start(self, count: int) -> None:
        log = begun_at(103)
        with pytest.raises(CorruptData, match="below the log end"):
            log.append_replicated(at(100, count), now_ms=NOW)
        assert (log.log_start_offset, log.log_end_offset, batches_in(log)) == (103, 103, [])

    def test_a_bad_batch_changes_nothing(self) -> None:
        """A marker of nonsense that spans the log start: it is looked at before the log is begun anew for it."""
        log = begun_at(103)
        nonsense = build_batch(
            [Record(offset, NOW, b"\0", None) for offset in range(100, 105)],
            producer_id=7, producer_epoch=0, is_control=True, is_transactional=True,
        )  # fmt: skip
        before = picture_of(log)
        for bad in (bytes(nonsense), at(100, 5)[:-1] + b"!"):
            with pytest.raises(CorruptData):
                log.append_replicated(bad, now_ms=NOW)
            assert picture_of(log) == before


class TestBadBytes:
    def test_what_came_before_is_kept(self) -> None:
        for bad in (at(1), at(0), b"\0" * 100, at(9)[:-1] + b"!", at(9)[:16] + b"\x09" + at(9)[17:]):
            log = make_log()
            with pytest.raises(CorruptData):
                log.append_replicated(at(0) + at(1, 2) + bad, now_ms=NOW)
            assert [record.offset for record in records_in(log)] == [0, 1, 2]
            assert log.log_end_offset == 3
            log.append_replicated(at(3), now_ms=NOW)
            assert offsets_read(log, 0) == [0, 1, 2, 3]

    def test_below_the_end(self) -> None:
        log = make_log()
        append(log, batch_of("a", "b", "c"))
        before = picture_of(log)
        for offset in range(3):
            with pytest.raises(CorruptData, match="below the log end"):
                log.append_replicated(at(offset), now_ms=NOW)
        assert picture_of(log) == before

    def test_a_control_batch_of_nonsense(self) -> None:
        """Its CRC holds. What it ends cannot be told, so it is not taken, and nothing of it remains."""
        log = make_log()
        bad = build_batch(
            [Record(1, NOW, b"\0", None)], producer_id=7, producer_epoch=0, is_control=True, is_transactional=True
        )
        with pytest.raises(CorruptData):
            log.append_replicated(at(0) + bytes(bad) + at(2), now_ms=NOW)
        assert log.log_end_offset == 1
        assert producers_of(log) == {}

    def test_nothing(self) -> None:
        log = make_log()
        for data in (b"", at(0)[:10], at(0)[:-1]):
            assert log.append_replicated(data, now_ms=NOW) == 0
        assert batches_in(log) == []


def test_a_full_disk_takes_the_log_offline() -> None:
    log = make_log()
    assert isinstance(log.filesystem, SimulatedDisk)
    log.append_replicated(at(0), now_ms=NOW)
    log.filesystem.fail_next("append", errno.ENOSPC)
    with pytest.raises(StorageFailed):
        log.append_replicated(at(1), now_ms=NOW)
    with pytest.raises(StorageFailed):
        log.append_replicated(at(1), now_ms=NOW)


def test_a_failed_write_is_not_tried_again() -> None:
    """It may have left a part of its bytes in the file: more behind them would be lost at the next start."""
    log = make_log(segment_bytes=450)
    assert isinstance(log.filesystem, SimulatedDisk)
    leader = make_log()
    append(leader, *(sized_batch(200) for _ in range(7)))
    log.append_replicated(batches_in(leader)[0], now_ms=NOW)
    log.filesystem.fail_next("append", errno.ENOSPC)
    with pytest.raises(StorageFailed):
        log.append_replicated(b"".join(batches_in(leader)[1:]), now_ms=NOW)
    assert batches_in(log) == batches_in(leader)[:1]
    assert log.filesystem.size(f"{log.directory}/00000000000000000000.log") == 200


def test_time_rolls_where_the_leader_rolled() -> None:
    leader = make_log(segment_ms=100)
    for timestamp in (0, 50, 101, 150, 202):
        append(leader, timed_batch([timestamp]), now_ms=timestamp)
    follower = make_log(segment_ms=100)
    follower.append_replicated(b"".join(batches_in(leader)), now_ms=NOW)
    assert follower.segments.base_offsets == leader.segments.base_offsets == [0, 2, 4]


def test_one_fetch_fills_several_segments() -> None:
    log = make_log(segment_bytes=450)
    leader = make_log()
    append(leader, *(sized_batch(200) for _ in range(7)))
    log.append_replicated(b"".join(batches_in(leader)), now_ms=NOW)
    assert log.segments.base_offsets == [0, 2, 4, 6]


def test_a_batch_that_ends_where_offsets_end_is_refused_and_the_log_goes_on() -> None:
    """Or the log end would not fit 64 bits: nothing could be appended any more, nor a checkpoint be written."""
    log = make_log()
    batch = batch_of("a", "b")
    set_base_offset(batch, 2**63 - 2)
    with pytest.raises(CorruptData, match="no such offsets"):
        log.append_replicated(batch, now_ms=NOW)
    set_base_offset(batch, 2**63 - 3)
    assert log.append_replicated(batch, now_ms=NOW) == 2**63 - 1


@pytest.mark.parametrize("batch", [batch_of("a", "b"), build_legacy([Record(1, NOW, b"k", b"v")], magic=1)])
def test_a_batch_below_offset_zero_is_refused_also_where_the_log_is_empty(batch: bytearray) -> None:
    """An empty log begins where a leader's batch does, if its own start lies inside; there is no place for -1."""
    log = make_log()
    before = picture_of(log)
    set_base_offset(batch, -1)
    with pytest.raises(CorruptData, match="no such offsets"):
        log.append_replicated(batch, now_ms=NOW)
    assert picture_of(log) == before


def broken_marker(offset: int, last_offset_delta: int) -> bytearray:
    """A control batch whose CRC holds and whose record says nothing."""
    return build_batch(
        [Record(offset, NOW, b"?", b"")],
        last_offset=offset + last_offset_delta,
        producer_id=7,
        producer_epoch=0,
        is_control=True,
    )


def test_a_control_batch_that_cannot_be_read_changes_nothing() -> None:
    """It ends too far away for the active segment, which must not be rolled for a batch that does not come: what comes
    in its place would lie in a segment named by a higher offset, and be cut after a crash."""
    log = make_log()
    log.append_replicated(at(0), now_ms=NOW)
    before = picture_of(log)
    with pytest.raises(CorruptData, match="no type"):
        log.append_replicated(broken_marker(5, 2**31 - 1), now_ms=NOW)
    assert picture_of(log) == before
    log.append_replicated(at(1), now_ms=NOW)
    assert log.log_end_offset == 2


def test_a_leap_beyond_31_bits_is_no_loss_after_a_crash() -> None:
    """A leader that compacted its log may leave such, whatever the policy is now; no lost record can."""
    log = make_log()
    log.append_replicated(at(0) + at(2**31 + 5), now_ms=NOW)
    log.flush(NOW)
    log = make_log(filesystem=killed(log))
    assert [record.offset for record in records_in(log)] == [0, 2**31 + 5]


def test_a_leap_over_the_recovery_point_is_compactions_where_a_log_is_compacted() -> None:
    """Recovery took the last batch of a segment for one whose base offset had rotted, "mended" it, and the key that it
    had was at another offset (seed 1897581380)."""
    log = make_log(cleanup_policy=("compact",))
    log.append_replicated(at(144) + at(152, 3), now_ms=NOW)
    log.roll(NOW)
    log.append_replicated(at(158), now_ms=NOW)
    log.flush(NOW)
    findings: list[str] = []
    again = make_log(
        filesystem=killed(log), cleanup_policy=("compact",), recovery_point=147, log_start_offset=144, findings=findings
    )
    assert [record.offset for record in records_in(again)] == [144, 152, 153, 154, 158]
    assert findings == []


def test_a_leap_over_the_recovery_point_is_natural_where_there_was_one_before() -> None:
    """The policy was another one once."""
    log = make_log()
    log.append_replicated(at(140) + at(144) + at(152, 3), now_ms=NOW)
    log.flush(NOW)
    again = make_log(filesystem=killed(log), recovery_point=147, log_start_offset=140)
    assert [record.offset for record in records_in(again)] == [140, 144, 152, 153, 154]
