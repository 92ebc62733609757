"""Transactions on the storage side: what is unstable, what was aborted, what a marker does (SPEC P3; KIP-98)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.log.making_logs import (
    NOW,
    append,
    append_marker,
    batch_of,
    files_of,
    killed,
    make_log,
    numbered,
    producers_of,
)

from strandline.log.aborted_index import AbortedTransaction
from strandline.log.log import Log

SMALL: dict[str, Any] = {"segment_bytes": 300}
ACTIONS = st.lists(
    st.tuples(st.sampled_from(["write", "write", "commit", "abort", "plain"]), st.integers(1, 3), st.integers(1, 3)),
    min_size=1,
    max_size=25,
)


@dataclass
class Model:
    """Every transaction as (producer, first offset, last offset or None, aborted), by the plain rules."""

    log: Log
    open: dict[int, int] = field(default_factory=dict)
    ended: list[tuple[int, int, int, bool]] = field(default_factory=list)
    sequences: dict[int, int] = field(default_factory=dict)

    def play(self, kind: str, producer_id: int, count: int) -> None:
        if kind == "plain":
            append(self.log, batch_of(*"abc"[:count]))
        elif kind == "write":
            sequence = self.sequences.get(producer_id, 0)
            self.sequences[producer_id] = sequence + count
            self.open.setdefault(producer_id, self.log.log_end_offset)
            append(self.log, numbered(sequence, count, producer_id=producer_id, is_transactional=True))
        else:
            marker_offset = self.log.log_end_offset
            append_marker(self.log, producer_id, is_commit=kind == "commit")
            if producer_id in self.open:
                first_offset = self.open.pop(producer_id)
                self.ended.append((producer_id, first_offset, marker_offset, kind == "abort"))

    def first_unstable(self, high_watermark: int) -> int | None:
        """The oldest transaction that is open, or whose marker is not yet replicated."""
        unreplicated = [first for _, first, marker, _ in self.ended if marker >= high_watermark]
        return min([*self.open.values(), *unreplicated], default=None)

    def aborted_within(self, start: int, end: int) -> list[tuple[int, int, int]]:
        return [
            (producer_id, first, last)
            for producer_id, first, last, is_aborted in self.ended
            if is_aborted and last >= start and first < end
        ]


def found_within(log: Log, start: int, end: int) -> list[tuple[int, int, int]]:
    return [
        (found.producer_id, found.first_offset, found.last_offset) for found in log.aborted_transactions(start, end)
    ]


@settings(max_examples=60)
@given(actions=ACTIONS)
def test_aborted_transactions_against_the_plain_rules(actions: list[tuple[str, int, int]]) -> None:
    """For every range below the last stable offset a reader is told exactly what overlaps it."""
    log = make_log(**SMALL)
    model = Model(log)
    for action in actions:
        model.play(*action)
    log.producers.high_watermark_moved(log.log_end_offset)
    stable = model.first_unstable(log.log_end_offset)
    assert log.producers.first_unstable_offset == stable
    end = log.log_end_offset if stable is None else stable
    for fetch_offset in range(end):
        for upper_bound in range(fetch_offset + 1, end + 1):
            assert found_within(log, fetch_offset, upper_bound) == model.aborted_within(fetch_offset, upper_bound)
    reopened = make_log(filesystem=killed(log), **SMALL)
    assert found_within(reopened, 0, end) == model.aborted_within(0, end)
    assert producers_of(reopened).keys() == producers_of(log).keys()
    assert reopened.producers.first_undecided_offset == log.producers.first_undecided_offset


@settings(max_examples=60)
@given(actions=ACTIONS, data=st.data())
def test_first_unstable_offset_as_the_high_watermark_moves(
    actions: list[tuple[str, int, int]], data: st.DataObject
) -> None:
    log = make_log()
    model, high_watermark = Model(log), 0
    for action in actions:
        model.play(*action)
        assert log.producers.first_unstable_offset == model.first_unstable(high_watermark)
        high_watermark = data.draw(st.integers(high_watermark, log.log_end_offset))
        log.producers.high_watermark_moved(high_watermark)
        assert log.producers.first_unstable_offset == model.first_unstable(high_watermark)


@settings(max_examples=60)
@given(actions=ACTIONS, data=st.data(), is_clean=st.booleans())
def test_first_unstable_offset_after_a_stop(
    actions: list[tuple[str, int, int]], data: st.DataObject, is_clean: bool
) -> None:
    """A snapshot knows of open transactions only; those whose markers are not committed are found in the log."""
    log = make_log(**SMALL)
    model = Model(log)
    for action in actions:
        model.play(*action)
    if is_clean:
        log.close(NOW)
    high_watermark = data.draw(st.integers(0, log.log_end_offset))
    reopened = make_log(filesystem=killed(log), is_clean=is_clean, **SMALL)
    reopened.remember_unreplicated(high_watermark)
    assert not any(segment.is_open for segment in reopened.segments.all()), "a broker has many logs"
    reopened.producers.high_watermark_moved(high_watermark)
    assert reopened.producers.first_unstable_offset == model.first_unstable(high_watermark)
    assert producers_of(reopened).keys() == producers_of(log).keys()


@settings(max_examples=60)
@given(actions=ACTIONS, data=st.data())
def test_first_unstable_offset_after_a_cut(actions: list[tuple[str, int, int]], data: st.DataObject) -> None:
    log = make_log(**SMALL)
    model = Model(log)
    for action in actions:
        model.play(*action)
    high_watermark = data.draw(st.integers(0, log.log_end_offset))
    log.producers.high_watermark_moved(high_watermark)
    log.truncate_to(data.draw(st.integers(high_watermark, log.log_end_offset)), now_ms=NOW)
    high_watermark = min(high_watermark, log.log_end_offset)  # batches go whole
    log.producers.high_watermark_moved(high_watermark)  # they were read anew
    unstable = [first for _, first, marker, _ in model.ended if marker >= high_watermark]
    expected = [first for first in [*model.open.values(), *unstable] if first < log.log_end_offset]
    assert log.producers.first_unstable_offset == min(expected, default=None)


def test_a_transaction_stays_unstable_when_what_comes_after_it_is_cut_off() -> None:
    """Its marker is below the snapshot from which the others are read anew."""
    log = make_log(segment_bytes=100)
    append(log, numbered(0, is_transactional=True))
    append_marker(log, 7, is_commit=True)
    for _ in range(3):
        append(log, batch_of("a"))
    log.producers.high_watermark_moved(1)
    log.truncate_to(4, now_ms=NOW)
    assert log.producers.first_unstable_offset == 0
    log.truncate_to(1, now_ms=NOW)
    assert log.producers.first_unstable_offset == 0, "it is open again"
    assert log.producers.unreplicated == ()


def test_an_aborted_transaction_over_several_segments() -> None:
    log = make_log(segment_bytes=100)
    for sequence in range(4):
        append(log, numbered(sequence, is_transactional=True))
    append_marker(log, 7, is_commit=False)
    assert len(log.segments) == 5
    assert [name for name in files_of(log) if name.endswith(".txnindex")] == ["00000000000000000004.txnindex"]
    assert log.aborted_transactions(0, 1) == [AbortedTransaction(7, 0, 4, 5)]
    assert log.aborted_transactions(4, 5) == [AbortedTransaction(7, 0, 4, 5)]


def test_a_committed_transaction_leaves_no_index() -> None:
    log = make_log()
    append(log, numbered(0, is_transactional=True))
    append_marker(log, 7, is_commit=True)
    assert not [name for name in files_of(log) if name.endswith(".txnindex")]
    assert log.aborted_transactions(0, 2) == []


def test_an_empty_transaction_leaves_nothing() -> None:
    """A partition that was added to a transaction and never written to gets a marker all the same."""
    log = make_log()
    append_marker(log, 7, is_commit=False)
    assert log.aborted_transactions(0, 1) == []
    assert log.producers.first_unstable_offset is None
    assert log.log_end_offset == 1


def test_the_last_stable_offset_in_an_entry_is_the_oldest_other_transaction() -> None:
    log = make_log()
    append(log, numbered(0, producer_id=1, is_transactional=True))
    append(log, numbered(0, producer_id=2, is_transactional=True))
    append(log, numbered(0, producer_id=3, is_transactional=True))
    append_marker(log, 2, is_commit=False)
    append_marker(log, 1, is_commit=False)
    append_marker(log, 3, is_commit=False)
    assert log.aborted_transactions(0, 99) == [
        AbortedTransaction(2, 1, 3, 0),
        AbortedTransaction(1, 0, 4, 2),
        AbortedTransaction(3, 2, 5, 6),
    ]


def test_a_marker_in_the_middle_of_a_group() -> None:
    """Bytes first, then the index entry: the marker is in the file when the index tells of it."""
    log = make_log()
    outcomes = append(
        log,
        numbered(0, is_transactional=True),
        batch_of("plain"),
    )
    assert [outcome.base_offset for outcome in outcomes] == [0, 1]
    append_marker(log, 7, is_commit=False)
    append(log, numbered(1, is_transactional=True), batch_of("plain"))
    assert log.aborted_transactions(0, 5) == [AbortedTransaction(7, 0, 2, 3)]
    assert log.producers.first_undecided_offset == 3


def test_after_a_clean_stop_an_open_transaction_is_still_open() -> None:
    log = make_log()
    append(log, batch_of("plain"), numbered(0, is_transactional=True))
    log.close(NOW)
    log = make_log(filesystem=log.filesystem, is_clean=True)
    assert log.producers.first_unstable_offset == 1
    append(log, numbered(1, is_transactional=True))
    append_marker(log, 7, is_commit=False)
    assert log.aborted_transactions(0, 9) == [AbortedTransaction(7, 1, 3, 4)]


def test_expired_producers_are_forgotten_but_not_in_a_transaction() -> None:
    log = make_log(producer_id_expiration_ms=1000)
    append(log, numbered(0, producer_id=1), numbered(0, producer_id=2, is_transactional=True))
    log.expire_producers(NOW + 999)
    assert sorted(producers_of(log)) == [1, 2]
    log.expire_producers(NOW + 1000)
    assert sorted(producers_of(log)) == [2]
