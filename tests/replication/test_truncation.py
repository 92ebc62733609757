"""Where logs are cut (SPEC R5): the clever way against the dumb one, on any logs that elections can leave behind."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.replication.memory_log import MemoryLog, Record

from strandline.model.failures import ErrorCode, Refused
from strandline.replication.log_view import EpochEnd, last_epoch_of
from strandline.replication.truncation import Cut, cut_for, diverging_epoch

UNDEFINED = EpochEnd(-1, -1)


def log_of(*epochs: int, start: int = 0) -> MemoryLog:
    """A record for each epoch."""
    log = MemoryLog()
    log.log_start_offset = start
    log.append(Record(f"{epoch}@{start + index}", epoch) for index, epoch in enumerate(epochs))
    return log


# Three replicas; in each epoch one of them leads, writes some records, and some of the others copy its log.
ELECTIONS = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 3), st.integers(0, 2), st.booleans()), min_size=1, max_size=8
)


def elected(elections: list[tuple[int, int, int, bool]]) -> list[MemoryLog]:
    logs = [MemoryLog() for _ in range(3)]
    for epoch, (leader, count, follower, follows) in enumerate(elections):
        log = logs[leader]
        log.epochs.assign(epoch, log.log_end_offset)
        log.append(Record(f"{epoch}.{index}", epoch) for index in range(count))
        if follows and follower != leader:
            logs[follower].truncate_fully_and_start_at(0)
            logs[follower].append(log.records)
    logs[elections[-1][0]].epochs.assign(len(elections), logs[elections[-1][0]].log_end_offset)
    return logs


def common_length(one: MemoryLog, other: MemoryLog) -> int:
    """The dumb way: up to the first difference."""
    shorter = min(len(one.records), len(other.records))
    return next((offset for offset in range(shorter) if one.records[offset] != other.records[offset]), shorter)


@given(ELECTIONS)
def test_a_log_is_cut_exactly_where_it_parts_from_its_leaders(elections: list[tuple[int, int, int, bool]]) -> None:
    logs = elected(elections)
    leader = logs[elections[-1][0]]
    for log in logs:
        expected = common_length(log, leader)
        asked: list[int] = []
        while log is not leader and (epoch := last_epoch_of(log)) != -1:
            assert epoch not in asked, "asks in circles"
            asked.append(epoch)
            end = EpochEnd(*leader.epochs.end_offset_for(epoch, leader.log_end_offset))
            if end.epoch == epoch and end.end_offset >= log.log_end_offset:
                break
            cut = cut_for(log, end, high_watermark=0)
            log.truncate_to(cut.offset)
            if cut.is_final:
                break
        assert log.log_end_offset == (leader.log_end_offset if log is leader else expected)


@given(ELECTIONS)
def test_a_fetch_diverges_if_and_only_if_the_log_is_no_beginning_of_the_leaders(
    elections: list[tuple[int, int, int, bool]],
) -> None:
    logs = elected(elections)
    leader = logs[elections[-1][0]]
    for log in logs:
        if log.records and log is not leader:
            epoch = log.records[-1].epoch
            end = diverging_epoch(leader, last_fetched_epoch=epoch, fetch_offset=log.log_end_offset)
            assert (end is None) == (common_length(log, leader) == log.log_end_offset)


@pytest.mark.parametrize(
    ("own", "leader_end", "expected"),
    [
        ((0, 0), EpochEnd(0, 5), Cut(2, True)),  # the leader has more of the same epoch
        ((0, 0, 0), EpochEnd(0, 2), Cut(2, True)),  # and less
        ((0, 0, 3), EpochEnd(0, 2), Cut(2, True)),  # an older epoch that both know
        ((0, 1, 3, 3), EpochEnd(2, 9), Cut(2, False)),  # one that only the leader knows: back to below it
        ((3, 3), EpochEnd(1, 1), Cut(0, True)),  # older than all of ours
        ((0, 0), UNDEFINED, Cut(1, True)),  # the leader cannot tell: the high watermark
        ((0, 0), EpochEnd(7, 1), Cut(1, True)),  # newer than all of ours: nothing but the leader's word
    ],
)
def test_what_an_answer_means(own: tuple[int, ...], leader_end: EpochEnd, expected: Cut) -> None:
    assert cut_for(log_of(*own), leader_end, high_watermark=1) == expected


class TestDiverging:
    def test_who_does_not_say_how_its_log_ends_cannot_diverge(self) -> None:
        assert diverging_epoch(log_of(0, 0), last_fetched_epoch=-1, fetch_offset=99) is None

    def test_a_beginning_fits(self) -> None:
        assert diverging_epoch(log_of(0, 0, 2), last_fetched_epoch=0, fetch_offset=2) is None
        assert diverging_epoch(log_of(0, 0, 2), last_fetched_epoch=2, fetch_offset=3) is None

    def test_the_log_start_is_in_range(self) -> None:
        assert diverging_epoch(log_of(0, 0, 2, start=5), last_fetched_epoch=0, fetch_offset=5) is None

    def test_too_long_an_epoch(self) -> None:
        assert diverging_epoch(log_of(0, 0, 2), last_fetched_epoch=0, fetch_offset=3) == (0, 2)

    def test_an_unknown_epoch(self) -> None:
        assert diverging_epoch(log_of(0, 0, 2), last_fetched_epoch=1, fetch_offset=2) == (0, 2)

    @pytest.mark.parametrize(("last_fetched_epoch", "fetch_offset"), [(9, 3), (0, 4)])
    def test_out_of_range(self, last_fetched_epoch: int, fetch_offset: int) -> None:
        """An epoch newer than all, of which nothing can be said; and below the log start, whatever the epochs say."""
        log = log_of(0, 0, 2, start=5)
        with pytest.raises(Refused) as refused:
            diverging_epoch(log, last_fetched_epoch=last_fetched_epoch, fetch_offset=fetch_offset)
        assert refused.value.error_code is ErrorCode.OFFSET_OUT_OF_RANGE
