"""Truncation: the log ends at a whole batch, and all derived from it is as if nothing else had been written."""

from __future__ import annotations

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
from strandline.model.failures import BrokenInvariant, ErrorCode, Refused
from strandline.records.heads import head_of

SMALL: dict[str, Any] = {"segment_bytes": 450, "index_interval_bytes": 150}
# What a producer did: plain batch, numbered batch, transactional batch, commit, abort; with its id.
ACTIONS = st.lists(
    st.tuples(st.sampled_from(["plain", "numbered", "begin", "commit", "abort", "elect"]), st.integers(1, 3)),
    min_size=1,
    max_size=25,
)


class Story:
    """Plays actions into a log, and the same up to some offset into another."""

    def __init__(self, actions: list[tuple[str, int]]) -> None:
        self.batches: list[bytes] = []
        self.log = make_log(**SMALL)
        self.epoch = 0
        self.sequences: dict[int, int] = {}
        self.open: set[int] = set()
        for kind, producer_id in actions:
            self.play(kind, producer_id)

    def play(self, kind: str, producer_id: int) -> None:
        if kind == "elect":
            self.epoch += 1
        elif kind == "plain":
            append(self.log, batch_of("a", "b", timestamp=NOW + 7 * producer_id), leader_epoch=self.epoch)
        elif kind in ("commit", "abort"):
            append_marker(self.log, producer_id, is_commit=kind == "commit")
            self.open.discard(producer_id)
        else:
            is_transactional = kind == "begin" or producer_id in self.open
            if is_transactional:
                self.open.add(producer_id)
            sequence = self.sequences.get(producer_id, 0)
            self.sequences[producer_id] = sequence + 2
            batch = numbered(sequence, 2, producer_id=producer_id, is_transactional=is_transactional)
            append(self.log, batch, leader_epoch=self.epoch)


def replayed(batches: list[bytes], end: int) -> Log:
    """A log that never had more than the batches that end below `end`."""
    log = make_log(**SMALL)
    for batch in batches:
        if head_of(batch).last_offset < end:
            log.append_replicated(batch, now_ms=NOW)
    return log


def remembered(log: Log) -> dict[int, tuple[object, ...]]:
    """Producers as far as a snapshot keeps them: the last batch of each, without its own timestamp."""
    return {
        producer_id: (epoch, [batch[:4] for batch in batches[-1:]], first, coordinator, timestamp)
        for producer_id, (epoch, batches, first, coordinator, timestamp) in producers_of(log).items()
    }


@settings(max_examples=60)
@given(actions=ACTIONS, data=st.data())
def test_as_if_nothing_else_had_been_written(actions: list[tuple[str, int]], data: st.DataObject) -> None:
    """At every offset: batches, epochs, producers, aborted transactions equal those of a log that has only these."""
    story = Story(actions)
    log, batches = story.log, batches_in(story.log)
    target = data.draw(st.integers(0, log.log_end_offset))
    epochs = log.epochs.entries()
    log.truncate_to(target, now_ms=NOW)
    expected = replayed(batches, target)
    end = min((head_of(batch).base_offset for batch in batches if head_of(batch).last_offset >= target), default=target)
    assert log.log_end_offset == end
    assert batches_in(log) == batches_in(expected)
    assert log.epochs.entries() == tuple(epoch for epoch in epochs if epoch.start_offset < end)
    assert remembered(log) == remembered(expected)
    assert log.producers.first_undecided_offset == expected.producers.first_undecided_offset
    assert log.aborted_transactions(0, 10**6) == expected.aborted_transactions(0, 10**6)
    assert log.find_max_timestamp() == expected.find_max_timestamp()
    for offset in range(end):
        assert offsets_read(log, offset) == offsets_read(expected, offset)
    reopened = make_log(filesystem=killed(log), **SMALL)
    assert batches_in(reopened) == batches_in(expected)
    assert remembered(reopened) == remembered(expected)
    assert reopened.aborted_transactions(0, 10**6) == expected.aborted_transactions(0, 10**6)


@pytest.mark.parametrize("target", range(13))
def test_appending_goes_on_where_the_batch_began(target: int) -> None:
    """Inside a batch, the whole batch goes. Kafka's log would end at the target, a hole before it, until the next
    start finds the end of the bytes."""
    log = make_log(**SMALL)
    append(log, *(batch_of("a" * 60, "b" * 60, "c" * 60) for _ in range(4)))
    kept = target - target % 3
    assert log.truncate_to(target, now_ms=NOW) == (target < 12)
    assert log.log_end_offset == kept
    assert [record.offset for record in records_in(log)] == list(range(kept))
    append(log, batch_of("new"))
    assert [record.offset for record in records_in(log)] == list(range(kept + 1))
    assert offsets_read(log, kept) == [kept]


def test_nothing_to_drop() -> None:
    log = make_log()
    append(log, batch_of("a", "b"))
    before = picture_of(log)
    assert not log.truncate_to(2, now_ms=NOW)
    assert not log.truncate_to(99, now_ms=NOW)
    assert picture_of(log) == before


def test_the_recovery_point_comes_down_and_is_told() -> None:
    log = make_log(**SMALL)
    append(log, *(sized_batch(200) for _ in range(6)))
    log.flush(NOW)
    seen: list[tuple[int, int]] = []
    log.offsets_lowered = lambda: seen.append((log.recovery_point, log.log_end_offset))
    log.truncate_to(3, now_ms=NOW)
    assert seen == [(3, 6)]  # before the log is cut
    assert log.recovery_point == 3
    log.truncate_to(3, now_ms=NOW)
    assert len(seen) == 1


def test_the_log_start_comes_down_with_the_end() -> None:
    log = make_log()
    append(log, *(sized_batch(200) for _ in range(6)))
    log.advance_log_start(5, high_watermark=6)
    log.truncate_to(3, now_ms=NOW)
    assert (log.log_start_offset, log.log_end_offset) == (3, 3)


def test_below_the_first_segment_the_log_begins_anew() -> None:
    log = make_log(log_start_offset=100)
    append(log, batch_of("a"), leader_epoch=4)
    assert log.truncate_to(50, now_ms=NOW)
    assert (log.log_start_offset, log.log_end_offset, log.recovery_point) == (50, 50, 50)
    assert log.segments.base_offsets == [50]
    assert log.epochs.entries() == ()


@pytest.mark.parametrize("offset", [0, 2, 3, 5, 1000])
def test_fully(offset: int) -> None:
    log = make_log(segment_bytes=150, file_delete_delay_ms=1000)
    append(log, numbered(0), numbered(1, is_transactional=True), batch_of("a"), leader_epoch=3)
    log.truncate_fully_and_start_at(offset, now_ms=NOW)
    assert (log.log_start_offset, log.recovery_point, log.log_end_offset) == (offset, offset, offset)
    assert log.epochs.entries() == ()
    assert producers_of(log) == {}
    assert log.producers.first_unstable_offset is None
    assert records_in(log) == []
    append(log, numbered(0), leader_epoch=3)
    assert offsets_read(log, offset) == [offset]
    assert log.epochs.entries() == ((3, offset),)
    log.deletions.remove_due(NOW + 1000)
    live = [name for name in files_of(log) if not name.startswith((f"{offset:020d}", "leader-epoch"))]
    assert live == []
    assert offsets_read(log, offset) == [offset]  # KAFKA-12964: the late removal takes no new file of the same name


def test_again_and_again_with_the_same_names() -> None:
    """KAFKA-12964, KAFKA-5752."""
    log = make_log(segment_bytes=150, file_delete_delay_ms=10)
    for now_ms in range(NOW, NOW + 60, 3):
        append(log, *(batch_of(str(now_ms)) for _ in range(6)))
        log.truncate_to(1, now_ms=now_ms)
        log.deletions.remove_due(now_ms)
        assert log.log_end_offset == 1
    log.deletions.remove_due(NOW + 10**6)
    assert not [name for name in files_of(log) if name.endswith(".deleted")]
    append(log, *(batch_of("last") for _ in range(6)))
    assert [record.offset for record in records_in(log)] == list(range(7))


def test_time_index_after_a_cut() -> None:
    """The segment's largest timestamp is that of what is left."""
    log = make_log(index_interval_bytes=0)
    append(log, timed_batch([100]), timed_batch([500]), timed_batch([900]), timed_batch([200]))
    log.truncate_to(2, now_ms=NOW)
    found = log.find_max_timestamp()
    assert found is not None
    assert (found.timestamp, found.offset) == (500, 1)
    assert log.find_by_timestamp(501) is None
    append(log, timed_batch([600]))
    assert log.segments.active.max_timestamp == 600


class TestLogStart:
    """SPEC C4."""

    def test_inside_a_batch(self) -> None:
        log = make_log()
        append(log, batch_of("a", "b", "c"), leader_epoch=2)
        assert log.advance_log_start(1, high_watermark=3)
        assert log.log_start_offset == 1
        assert log.epochs.entries() == ((2, 1),)
        with pytest.raises(Refused):
            log.read(0, 100)

    def test_beyond_the_high_watermark_is_refused(self) -> None:
        """KAFKA-5634: what is not replicated must not be lost by deleting."""
        log = make_log()
        append(log, batch_of("a", "b", "c"))
        before = picture_of(log)
        with pytest.raises(Refused) as caught:
            log.advance_log_start(3, high_watermark=2)
        assert caught.value.error_code == ErrorCode.OFFSET_OUT_OF_RANGE
        assert picture_of(log) == before

    def test_never_down(self) -> None:
        log = make_log()
        append(log, batch_of("a", "b", "c"))
        log.advance_log_start(2, high_watermark=3)
        assert not log.advance_log_start(1, high_watermark=3)
        assert not log.advance_log_start(2, high_watermark=3)
        assert log.log_start_offset == 2

    def test_up_to_the_end(self) -> None:
        log = make_log()
        append(log, batch_of("a", "b", "c"), leader_epoch=1)
        log.advance_log_start(3, high_watermark=3)
        assert log.read(3, 100).length == 0
        append(log, batch_of("d"), leader_epoch=1)
        assert offsets_read(log, 3) == [3]

    def test_old_epochs_go(self) -> None:
        log = make_log()
        for epoch in (1, 3, 7):
            append(log, batch_of("a", "b"), leader_epoch=epoch)
        log.advance_log_start(3, high_watermark=6)
        assert log.epochs.entries() == ((3, 3), (7, 4))
        log.advance_log_start(4, high_watermark=6)
        assert log.epochs.entries() == ((7, 4),)

    def test_producers_are_not_forgotten(self) -> None:
        """Their next sequence can still be judged, though their records are deleted."""
        log = make_log()
        append(log, numbered(0, 2))
        log.advance_log_start(2, high_watermark=2)
        (refused,) = log.append([numbered(5)], leader_epoch=0, now_ms=NOW)
        assert isinstance(refused, Refused)
        assert refused.error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        append(log, numbered(2))


def test_heads_tell_the_truth_after_a_cut_and_new_leader() -> None:
    log = make_log()
    append(log, batch_of("a"), batch_of("b"), leader_epoch=1)
    log.truncate_to(1, now_ms=NOW)
    append(log, batch_of("other"), leader_epoch=2)
    assert [(head.base_offset, head.leader_epoch) for head in heads_in(log)] == [(0, 1), (1, 2)]
    assert log.epochs.entries() == ((1, 0), (2, 1))


def test_there_is_nothing_below_offset_zero_to_truncate_to() -> None:
    """An undefined offset (-1 in an answer of the leader) must not name a segment."""
    log = make_log()
    append(log, batch_of("a"))
    before = picture_of(log)
    with pytest.raises(BrokenInvariant, match="not an offset"):
        log.truncate_to(-1, now_ms=NOW)
    assert picture_of(log) == before
