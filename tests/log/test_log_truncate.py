"""Truncation: the log ends at a whole batch, and all derived from it is as if nothing else had been written."""

from __future__ import annotations

from typing import Any
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

from strandline.log import replay
from strandline.log.log import Log
from strandline.log.producer_state import ProducerState
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

    def restart(self) -> None:
        self.log.close(NOW)
        self.log = make_log(filesystem=killed(self.log), is_clean=True, **SMALL)

    def forget_what_is_gone(self) -> None:
        entries = list(self.log.producers.entries())
        self.sequences = {
            entry.producer_id: entry.last_batch.last_sequence + 1 for entry in entries if entry.last_batch
        }
        self.open = {entry.producer_id for entry in entries if entry.current_transaction_first_offset is not None}


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


def producers_by_replay(log: Log) -> ProducerState:
    """From the newest snapshot and all that follows it, by one who knows nothing yet."""
    state = ProducerState()
    replay.rebuild_producers(
        log.segments, state, log.snapshots, log.log_start_offset, log.log_end_offset, NOW, log.producer_id_expiration_ms
    )
    return state


def content_of(state: ProducerState) -> tuple[object, ...]:
    entries = [
        (entry.producer_id, entry.producer_epoch, entry.batches, entry.current_transaction_first_offset)
        for entry in state.entries()
    ]
    return entries, state.first_unstable_offset, state.first_undecided_offset, state.map_end_offset


class TestReplay:
    """Producers after a cut are found by reading the log again: heads of all batches since the last snapshot. A log
    that has no producers knows it, and need not."""

    @settings(max_examples=60)
    @given(
        parts=st.lists(
            st.tuples(ACTIONS, st.sampled_from(["cut", "cut", "expire", "restart"]), st.floats(0, 1)), max_size=5
        )
    )
    def test_as_by_a_full_replay(self, parts: list[tuple[list[tuple[str, int]], str, float]]) -> None:
        story = Story([])
        for actions, event, where in parts:
            for kind, producer_id in actions:
                story.play("plain" if producer_id == 3 else kind, producer_id)
            if event == "expire":
                story.log.expire_producers(NOW + 10**10)
            elif event == "restart":
                story.restart()
            elif story.log.truncate_to(int(where * story.log.log_end_offset), now_ms=NOW):
                replayed = producers_by_replay(story.log)
                for producers in (story.log.producers, replayed):  # no snapshot has what waits for this
                    producers.high_watermark_moved(story.log.log_end_offset)
                assert content_of(story.log.producers) == content_of(replayed)
            story.forget_what_is_gone()

    def replays_of_cut(self, log: Log, offset: int) -> int:
        with patch.object(replay, "_replay_segment", side_effect=replay._replay_segment) as replayed:
            log.truncate_to(offset, now_ms=NOW)
        assert content_of(log.producers) == content_of(producers_by_replay(log))
        return replayed.call_count

    def test_a_log_without_producers_is_not_read(self) -> None:
        log = make_log(**SMALL)
        append(log, *(sized_batch(200) for _ in range(9)))
        assert len(log.segments) > 3
        assert self.replays_of_cut(log, 7) == 0
        append(log, batch_of("a"))
        assert self.replays_of_cut(log, 7) == 0
        log = make_log()
        append(log, *(sized_batch(200) for _ in range(9)))
        assert [self.replays_of_cut(log, offset) for offset in (8, 6, 3, 1)] == [0, 0, 0, 0]

    def test_a_log_with_producers_is(self) -> None:
        log = make_log()
        append(log, numbered(0), numbered(1), batch_of("a"), batch_of("b"))
        assert self.replays_of_cut(log, 3) == 1
        assert self.replays_of_cut(log, 1) == 1
        log.truncate_to(0, now_ms=NOW)
        append(log, *(batch_of("plain from here on") for _ in range(3)))
        assert self.replays_of_cut(log, 2) == 0

    def test_a_producer_that_was_forgotten_and_began_anew_is_not_taken_for_its_earlier_self(self) -> None:
        """Its second batch has the sequence of one from before: it is no repetition, and must be written."""
        log = make_log()
        append(log, numbered(0, 2), numbered(2, 2))
        log.expire_producers(NOW + 10**10)
        append(log, numbered(0, 2), batch_of("a"))
        log.truncate_to(log.log_end_offset - 1, now_ms=NOW)
        (outcome,) = append(log, numbered(2, 2))
        assert (outcome.base_offset, outcome.is_duplicate) == (6, False)

    def test_a_forgotten_producers_transaction_is_open_again_without_its_marker(self) -> None:
        """Nobody is known when the log is cut; yet readers of committed data must stop where it began."""
        log = make_log()
        append(log, batch_of("a"), numbered(0, is_transactional=True), batch_of("b"))
        append_marker(log, 7, is_commit=True)
        log.producers.high_watermark_moved(4)
        log.expire_producers(NOW + 10**10)
        assert log.producers.is_empty
        append(log, batch_of("c"))
        assert self.replays_of_cut(log, 3) == 1
        assert log.producers.first_unstable_offset == 1

    def test_but_not_after_a_snapshot_that_is_newer_than_all_of_them(self) -> None:
        log = make_log(**SMALL)
        append(log, numbered(0))
        log.expire_producers(NOW + 10**10)
        append(log, *(sized_batch(200) for _ in range(6)))
        assert log.segments.base_offsets == [0, 2, 4, 6]
        assert self.replays_of_cut(log, 5) == 0
        assert self.replays_of_cut(log, 1) == 1
        assert 7 in producers_of(log)

    def test_a_restarted_log_knows_as_much_as_it_has_read(self) -> None:
        log = make_log(**SMALL)
        append(log, *(sized_batch(200) for _ in range(9)))
        log.close(NOW)
        again = make_log(filesystem=killed(log), is_clean=True, **SMALL)
        assert self.replays_of_cut(again, 7) == 1  # its knowledge began with the snapshot at the end
        append(again, *(sized_batch(200) for _ in range(5)))
        assert self.replays_of_cut(again, 9) == 0


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


def test_an_epoch_without_a_record_goes_though_no_record_does() -> None:
    """A follower that was elected and wrote nothing is told by the next leader to end its log where it ends."""
    log = make_log()
    append(log, batch_of("a", "b"), leader_epoch=1)
    log.assign_epoch(2, 2)
    assert not log.truncate_to(3, now_ms=NOW)
    assert log.epochs.entries() == ((1, 0), (2, 2))
    assert not log.truncate_to(2, now_ms=NOW)
    assert log.epochs.entries() == ((1, 0),)
    assert make_log(filesystem=killed(log)).epochs.entries() == ((1, 0),)


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


@pytest.mark.parametrize("interval", [0, 150, 4096])
@pytest.mark.parametrize(
    "timestamps", [[9, 8, 7, 6, 5, 4, 3, 2, 1], [5] * 9, [1, 9, 2, 8, 3, 7, 4, 6, 5], [1, 2, 3, 2, 1, 2, 9, 1, 2]]
)
def test_the_largest_timestamp_after_a_cut(timestamps: list[int], interval: int) -> None:
    """Only what lies behind the last index entry is looked at: the time index knows the largest up to there."""
    for target in range(1, len(timestamps)):
        log = make_log(index_interval_bytes=interval)
        append(log, *(timed_batch([timestamp]) for timestamp in timestamps))
        log.truncate_to(target, now_ms=NOW)
        active = log.segments.active
        assert active.max_timestamp == max(timestamps[:target])
        assert active.offset_of_max_timestamp == timestamps.index(max(timestamps[:target]))


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
    with pytest.raises(BrokenInvariant, match="not negative"):
        log.truncate_to(-1, now_ms=NOW)
    assert picture_of(log) == before
