"""The follower by itself: what it asks, what it does with answers, and what it does not (SPEC R2, R5)."""

from __future__ import annotations

import pytest
from tests.replication.memory_log import MemoryLog, Record

from strandline.model.failures import BrokenInvariant, ErrorCode
from strandline.replication.effects import (
    Adopt,
    AdvanceLogStart,
    AppendFetched,
    Fenced,
    HighWatermarkMoved,
    TruncateFullyAndStartAt,
    TruncateTo,
    TryAgain,
)
from strandline.replication.events import NO_LEADER
from strandline.replication.follower import LATE, Follower, FollowerState
from strandline.replication.log_view import EpochEnd
from strandline.replication.requests import AskEpochEnd, AskOffset, Fetch, FetchAnswer
from strandline.replication.settings import ReplicationSettings


def log_of(*epochs: int, start: int = 0) -> MemoryLog:
    log = MemoryLog()
    log.log_start_offset = start
    log.append(Record(f"r{start + index}", epoch) for index, epoch in enumerate(epochs))
    return log


def following(log: MemoryLog, *, high_watermark: int = 0, leader: int = 1, fetching: bool = True) -> Follower:
    follower = Follower(
        leader=leader, leader_epoch=5, log=log, high_watermark=high_watermark, settings=ReplicationSettings()
    )
    follower.begin()
    if fetching:
        follower.state = FollowerState.FETCHING
    return follower


class TestBeginning:
    def test_an_empty_log_has_nothing_to_ask(self) -> None:
        assert following(log_of(), fetching=False).request(0) == Fetch(5, 0, -1, 0)

    def test_a_log_with_epochs_asks_for_the_latest(self) -> None:
        assert following(log_of(0, 3), fetching=False).request(0) == AskEpochEnd(5, 3)

    def test_records_older_than_epochs_are_cut_at_the_high_watermark(self) -> None:
        log = log_of(0, 0, 0)
        log.epochs.clear()
        follower = Follower(leader=1, leader_epoch=5, log=log, high_watermark=2, settings=ReplicationSettings())
        assert follower.begin() == (TruncateTo(2, "the high watermark, for want of epochs"),)
        log.truncate_to(2)
        assert follower.truncated() == ()
        assert follower.request(0) == Fetch(5, 2, -1, 0)

    def test_without_a_leader_there_is_nobody_to_ask(self) -> None:
        assert following(log_of(0), leader=NO_LEADER, fetching=False).request(0) is None


class TestReconciling:
    def test_nothing_to_cut(self) -> None:
        follower = following(log_of(0, 0), fetching=False)
        assert follower.epoch_end_answered(AskEpochEnd(5, 0), ErrorCode.NONE, EpochEnd(0, 9), 0) == ()
        assert follower.request(0) == Fetch(5, 2, 0, 0)

    def test_a_cut_lowers_the_high_watermark(self) -> None:
        log = log_of(0, 0, 0)
        follower = following(log, high_watermark=3, fetching=False)
        (effect,) = follower.epoch_end_answered(AskEpochEnd(5, 0), ErrorCode.NONE, EpochEnd(0, 1), 0)
        assert str(effect) == "truncate to 1: the leader has epoch 0 ending at 1 (below the high watermark 3)"
        log.truncate_to(1)
        assert follower.truncated() == (HighWatermarkMoved(3, 1),)

    def test_a_batch_goes_whole(self) -> None:
        """The log may end before what was asked for; the next fetch is from there."""
        log = log_of(0, 0, 0)
        follower = following(log, high_watermark=3, fetching=False)
        follower.epoch_end_answered(AskEpochEnd(5, 0), ErrorCode.NONE, EpochEnd(0, 2), 0)
        log.truncate_to(0)
        assert follower.truncated() == (HighWatermarkMoved(3, 0),)
        assert follower.request(0) == Fetch(5, 0, -1, 0)

    def test_it_asks_again_with_an_older_epoch(self) -> None:
        log = log_of(0, 3)
        follower = following(log, fetching=False)
        (effect,) = follower.epoch_end_answered(AskEpochEnd(5, 3), ErrorCode.NONE, EpochEnd(2, 4), 0)
        assert effect == TruncateTo(1, "the leader has epoch 2 ending at 4, asking again")
        log.truncate_to(1)
        follower.truncated()
        assert follower.request(0) == AskEpochEnd(5, 0)

    def test_an_epoch_older_than_all_of_ours(self) -> None:
        log = log_of(3)
        follower = following(log, fetching=False)
        follower.epoch_end_answered(AskEpochEnd(5, 3), ErrorCode.NONE, EpochEnd(2, 4), 0)
        log.truncate_to(0)
        follower.truncated()
        assert follower.request(0) == Fetch(5, 0, -1, 0)

    def test_nothing_is_left_to_ask_about(self) -> None:
        """It was to ask again, but the log was cut further than asked for, and no epoch is left."""
        log = log_of(0, 3)
        follower = following(log, fetching=False)
        follower.epoch_end_answered(AskEpochEnd(5, 3), ErrorCode.NONE, EpochEnd(2, 4), 0)
        log.truncate_to(0)
        follower.truncated()
        assert follower.request(0) == Fetch(5, 0, -1, 0)


class TestFetching:
    def test_the_high_watermark_is_the_smaller_of_both(self) -> None:
        log = log_of(0)
        follower = following(log)
        (effect,) = follower.fetch_answered(Fetch(5, 1, 0, 0), FetchAnswer(ErrorCode.NONE, 9, 0), 0)
        assert effect == AppendFetched(Adopt(9, 0))
        assert follower.high_watermark == 0  # not before the records are there
        log.append([Record("b", 5)])
        assert follower.appended(Adopt(9, 0)) == (HighWatermarkMoved(0, 2),)
        assert not follower.is_in_sync
        assert follower.appended(Adopt(1, 0)) == ()  # an older answer
        assert str(follower) == "follower of 1 in epoch 5, fetching: log end 2, high watermark 2"

    def test_the_log_start_follows_the_leaders_as_far_as_is_committed(self) -> None:
        log = log_of(0, 0, 0)
        follower = following(log)
        assert follower.appended(Adopt(2, 7)) == (HighWatermarkMoved(0, 2), AdvanceLogStart(2))
        log.advance_log_start(2)
        assert follower.appended(Adopt(2, 1)) == ()

    def test_in_sync_is_who_has_all_that_is_committed(self) -> None:
        follower = following(log_of(0, 0))
        assert not follower.is_in_sync
        follower.appended(Adopt(2, 0))
        assert follower.is_in_sync

    def test_a_log_start_that_moved_meanwhile_does_not_matter(self) -> None:
        log = log_of(0, 0)
        follower = following(log)
        log.advance_log_start(1)
        answer = FetchAnswer(ErrorCode.NONE, 1, 0)
        assert follower.fetch_answered(Fetch(5, 2, 0, 0), answer, 0) == (AppendFetched(Adopt(1, 0)),)

    @pytest.mark.parametrize("late", [Fetch(4, 2, 0, 0), Fetch(5, 1, 0, 0), Fetch(5, 2, 3, 0)])
    def test_late_answers(self, late: Fetch) -> None:
        """Another epoch, another offset, another end of the log: not even an error is heard."""
        follower = following(log_of(0, 0))
        for answer in (FetchAnswer(ErrorCode.NONE, 9, 0), FetchAnswer(ErrorCode.FENCED_LEADER_EPOCH)):
            assert follower.fetch_answered(late, answer, 0) == LATE
        assert follower.state is FollowerState.FETCHING

    def test_answers_of_another_kind_than_asked_for_are_late_too(self) -> None:
        follower = following(log_of(0, 0))
        assert follower.epoch_end_answered(AskEpochEnd(5, 0), ErrorCode.NONE, EpochEnd(0, 0), 0) == LATE
        assert follower.offset_answered(AskOffset(5, earliest=True), ErrorCode.NONE, 9, 0) == LATE


class TestErrors:
    @pytest.mark.parametrize(
        "error_code",
        [
            ErrorCode.NOT_LEADER_OR_FOLLOWER,
            ErrorCode.UNKNOWN_LEADER_EPOCH,
            ErrorCode.UNKNOWN_TOPIC_ID,
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ],
    )
    def test_a_leader_that_has_not_heard_of_it_yet_is_asked_soon_and_then_less_often(
        self, error_code: ErrorCode
    ) -> None:
        follower, now_ms, waits = following(log_of()), 50, []
        for _ in range(8):
            follower.fetch_answered(Fetch(5, 0, -1, 0), FetchAnswer(error_code), now_ms)
            waits.append(follower.try_again_ms - now_ms)
            now_ms = follower.try_again_ms
        assert waits == [20, 40, 80, 160, 320, 640, 1000, 1000]

    @pytest.mark.parametrize("error_code", [ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.UNKNOWN_SERVER_ERROR])
    def test_try_again_later(self, error_code: ErrorCode) -> None:
        follower = following(log_of())
        effects = follower.fetch_answered(Fetch(5, 0, -1, 0), FetchAnswer(error_code), 50)
        assert effects == (TryAgain(1050, error_code),)
        assert (follower.request(1049), follower.request(1050)) == (None, Fetch(5, 0, -1, 0))

    def test_no_answer_at_all(self) -> None:
        follower = following(log_of())
        assert follower.no_answer(50) == (TryAgain(1050, ErrorCode.NETWORK_EXCEPTION),)

    def test_fenced(self) -> None:
        for follower in (following(log_of(0)), following(log_of(0), fetching=False)):
            request = follower.request(0)
            if isinstance(request, Fetch):
                effects = follower.fetch_answered(request, FetchAnswer(ErrorCode.FENCED_LEADER_EPOCH), 0)
            else:
                assert isinstance(request, AskEpochEnd)
                effects = follower.epoch_end_answered(request, ErrorCode.FENCED_LEADER_EPOCH, EpochEnd(-1, -1), 0)
            assert effects == (Fenced(5),)
            assert follower.request(10**9) is None


class TestNothingToCompare:
    """The leader's log begins where ours ends: retention has left it nothing of our epochs."""

    FIRST = FetchAnswer(ErrorCode.NONE, 3, 3)

    def test_what_is_not_known_to_be_committed_goes(self) -> None:
        """The leader may have had other records there. What ours say of producers would outlive them."""
        log = log_of(0, 0, 0, 0)
        follower = following(log, high_watermark=2, fetching=False)
        (effect,) = follower.epoch_end_answered(AskEpochEnd(5, 0), ErrorCode.NONE, EpochEnd(0, 3), 0)
        assert effect == TruncateTo(3, "the leader has epoch 0 ending at 3")
        log.truncate_to(3)
        follower.truncated()
        effects = follower.fetch_answered(Fetch(5, 3, 0, 0), self.FIRST, 0)
        assert effects == (TruncateFullyAndStartAt(3, "the leader has nothing to compare with"),)
        log.truncate_fully_and_start_at(3)
        assert follower.truncated() == (HighWatermarkMoved(2, 3),)
        assert follower.request(0) == Fetch(5, 3, -1, 3)
        assert follower.fetch_answered(Fetch(5, 3, -1, 3), self.FIRST, 0) == (AppendFetched(Adopt(3, 3)),)

    def test_also_where_nothing_had_to_be_cut(self) -> None:
        follower = following(log_of(0, 0, 0), high_watermark=2)
        effects = follower.fetch_answered(Fetch(5, 3, 0, 0), self.FIRST, 0)
        assert effects == (TruncateFullyAndStartAt(3, "the leader has nothing to compare with"),)

    def test_what_is_committed_stays_until_its_time(self) -> None:
        follower = following(log_of(0, 0, 0), high_watermark=3)
        assert follower.fetch_answered(Fetch(5, 3, 0, 0), self.FIRST, 0) == (AppendFetched(Adopt(3, 3)),)

    def test_who_was_compared_hears_of_a_deletion_up_to_the_end(self) -> None:
        """DeleteRecords: the log is the leader's, committed or not."""
        log = log_of(0, 0)
        follower = following(log, high_watermark=2)
        follower.fetch_answered(Fetch(5, 2, 0, 0), FetchAnswer(ErrorCode.NONE, 2, 0), 0)
        log.append([Record("r2", 5)])
        assert follower.fetch_answered(Fetch(5, 3, 5, 0), self.FIRST, 0) == (AppendFetched(Adopt(3, 3)),)


class TestOutOfRange:
    def out_of_range(self, log: MemoryLog) -> Follower:
        follower = following(log, high_watermark=log.log_end_offset)
        fetch = follower.request(0)
        assert isinstance(fetch, Fetch)
        follower.fetch_answered(fetch, FetchAnswer(ErrorCode.OFFSET_OUT_OF_RANGE), 0)
        return follower

    def test_the_leader_is_shorter(self) -> None:
        log = log_of(0, 0, 0)
        follower = self.out_of_range(log)
        effects = follower.offset_answered(AskOffset(5, earliest=False), ErrorCode.NONE, 1, 0)
        assert effects == (TruncateTo(1, "the leader's log ends there (below the high watermark 3)"),)
        log.truncate_to(1)
        assert follower.truncated() == (HighWatermarkMoved(3, 1),)
        assert follower.request(0) == Fetch(5, 1, 0, 0)

    def test_the_leader_begins_later(self) -> None:
        log = log_of(0, 0, 0)
        follower = self.out_of_range(log)
        assert follower.offset_answered(AskOffset(5, earliest=False), ErrorCode.NONE, 20, 0) == ()
        effects = follower.offset_answered(AskOffset(5, earliest=True), ErrorCode.NONE, 10, 0)
        assert effects == (TruncateFullyAndStartAt(10, "the leader has nothing older, and our log ends before"),)
        log.truncate_fully_and_start_at(10)
        assert follower.truncated() == (HighWatermarkMoved(3, 10),)
        assert follower.request(0) == Fetch(5, 10, -1, 10)

    def test_the_leader_begins_where_we_end(self) -> None:
        """Then there is nothing to cut, and nothing to throw away."""
        log = log_of(0, 0, 0)
        follower = self.out_of_range(log)
        assert follower.offset_answered(AskOffset(5, earliest=False), ErrorCode.NONE, 3, 0) == ()
        effects = follower.offset_answered(AskOffset(5, earliest=True), ErrorCode.NONE, 3, 0)
        assert effects == (TryAgain(1000, ErrorCode.OFFSET_OUT_OF_RANGE),)
        assert follower.request(1000) == Fetch(5, 3, 0, 0)

    def test_nobody_answers(self) -> None:
        follower = self.out_of_range(log_of(0))
        effects = follower.offset_answered(AskOffset(5, earliest=False), ErrorCode.NOT_LEADER_OR_FOLLOWER, -1, 0)
        assert effects == (TryAgain(20, ErrorCode.NOT_LEADER_OR_FOLLOWER),)
        assert follower.request(20) == AskOffset(5, earliest=False)


def test_a_high_watermark_beyond_the_log_is_our_own_bug() -> None:
    with pytest.raises(BrokenInvariant, match="high watermark 2 beyond 1"):
        following(log_of(0), high_watermark=2)
