"""The leader by itself: high watermark, ISR, proposals, what may be asked of it (SPEC R2, R3, R4, R8)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strandline.model.failures import BrokenInvariant, ErrorCode, Refused
from strandline.replication.effects import AlterIsr, Fenced, IsrChanged, ReadPartitionState
from strandline.replication.events import IsrCommitted, IsrRefused, IsrUnknown, LeaderAndIsr, PartitionStateRead
from strandline.replication.isr import BY_THE_CONTROLLER
from strandline.replication.leader import ACKS_ALL, Leader
from strandline.replication.settings import ReplicationSettings

LIVE = {1: 11, 2: 12, 3: 13, 4: 14}


def decision(isr: tuple[int, ...] = (1, 2, 3), replicas: tuple[int, ...] = (1, 2, 3), version: int = 9) -> LeaderAndIsr:
    return LeaderAndIsr(leader=1, leader_epoch=5, isr=isr, replicas=replicas, partition_epoch=version)


def leading(
    isr: tuple[int, ...] = (1, 2, 3),
    *,
    replicas: tuple[int, ...] = (1, 2, 3),
    log_end_offset: int = 0,
    high_watermark: int = 0,
    now_ms: int = 0,
    **settings: int,
) -> Leader:
    return Leader(
        decision(isr, replicas),
        broker_id=1,
        log_end_offset=log_end_offset,
        high_watermark=high_watermark,
        live_brokers=LIVE,
        settings=ReplicationSettings(**settings),
        now_ms=now_ms,
    )


def proposal(leader: Leader) -> AlterIsr:
    (effect,) = leader.take_effects()
    assert isinstance(effect, AlterIsr)
    return effect


def refused_with(error_code: ErrorCode, leader: Leader, acks: int) -> bool:
    with pytest.raises(Refused) as refused:
        leader.check_append(acks)
    return refused.value.error_code is error_code


class TestHighWatermark:
    def test_alone_it_is_the_log_end(self) -> None:
        leader = leading((1,), replicas=(1,))
        assert [leader.appended(3, 0), leader.appended(3, 0), leader.appended(4, 0)] == [3, None, 4]
        assert leader.effects == []

    def test_it_is_the_smallest_log_end_in_the_isr(self) -> None:
        leader = leading()
        assert leader.appended(9, 0) is None
        assert leader.follower_fetched(2, 7, 0) is None  # broker 3 has said nothing yet
        assert leader.follower_fetched(3, 6, 0) == 6
        assert leader.follower_fetched(3, 9, 0) == 7

    def test_a_new_leader_knows_where_it_is_when_it_is_alone(self) -> None:
        assert leading((1,), log_end_offset=5, high_watermark=2).high_watermark == 5
        assert leading((1, 2), log_end_offset=5, high_watermark=2).high_watermark == 2

    def test_it_never_moves_back(self) -> None:
        """An in-sync follower fetches from below, as after a loss of power."""
        leader = leading((1, 2))
        leader.appended(5, 0)
        assert leader.follower_fetched(2, 5, 0) == 5
        assert leader.follower_fetched(2, 3, 0) is None
        assert leader.high_watermark == 5

    def test_it_waits_for_who_was_at_the_end_lately(self) -> None:
        """Broker 2 is not in sync, but about to be: or it would run after the high watermark for ever."""
        leader = leading((1,), log_end_offset=4)
        leader.follower_fetched(2, 4, now_ms=1000, broker_epoch=12)
        change = proposal(leader)
        leader.handle(IsrRefused(change, ErrorCode.INELIGIBLE_REPLICA), 1000)
        assert leader.appended(6, now_ms=11_000) is None
        assert leader.appended(7, now_ms=11_001) == 7  # too long ago

    def test_it_does_not_wait_for_the_dead(self) -> None:
        leader = leading((1,), log_end_offset=4)
        leader.follower_fetched(2, 4, now_ms=1000, broker_epoch=99)  # not the broker that is alive
        assert leader.appended(6, now_ms=1001) == 6

    def test_a_topic_that_asks_for_more_than_there_are(self) -> None:
        """min.insync.replicas=3 with two replicas counts as 2."""
        leader = leading((1, 2), replicas=(1, 2), min_insync_replicas=3)
        leader.check_append(ACKS_ALL)
        leader.appended(1, 0)
        assert leader.follower_fetched(2, 1, 0) == 1

    def test_the_setting_can_change(self) -> None:
        leader = leading((1,), min_insync_replicas=2)
        leader.appended(3, 0)
        assert leader.settings_changed(ReplicationSettings(min_insync_replicas=1), 0) == 3

    def test_a_fetch_beyond_the_end_is_our_own_bug(self) -> None:
        with pytest.raises(BrokenInvariant, match="beyond the log end 0"):
            leading().follower_fetched(2, 1, 0)

    @given(
        st.lists(st.tuples(st.sampled_from([1, 2, 3]), st.integers(0, 20)), max_size=40),
        st.sampled_from([(1,), (1, 2), (1, 2, 3)]),
    )
    def test_against_the_dumb_way(self, steps: list[tuple[int, int]], isr: tuple[int, ...]) -> None:
        """Nobody outside catches up in time zero, so it is the smallest of all log ends in the ISR."""
        leader = leading(isr, replicas=isr)
        ends = dict.fromkeys(isr, -1) | {1: 0}
        highest = 0
        for replica_id, offset in steps:
            if replica_id == 1:
                ends[1] = max(ends[1], offset)
                moved = leader.appended(ends[1], 0)
            elif replica_id in isr:
                ends[replica_id] = min(offset, ends[1])
                moved = leader.follower_fetched(replica_id, ends[replica_id], 0)
            else:
                continue
            before, highest = highest, max(highest, min(ends.values()))
            assert moved == (highest if highest != before else None)
            assert leader.high_watermark == highest
            leader.take_effects()


class TestShrinking:
    def test_who_was_at_the_end_lately_stays(self) -> None:
        leader = leading((1, 2))
        leader.appended(5, 0)
        leader.maybe_shrink_isr(10_000)
        assert leader.effects == []
        leader.maybe_shrink_isr(10_001)
        assert str(proposal(leader)) == (
            "alter isr 1,2 -> 1 at version 9: 2 has not fetched in this epoch, 10001 ms behind"
        )

    def test_who_has_everything_stays_however_long_ago(self) -> None:
        leader = leading((1, 2))
        leader.follower_fetched(2, 0, 0)
        leader.maybe_shrink_isr(1_000_000)
        assert leader.effects == []

    def test_all_that_are_late_leave_at_once(self) -> None:
        leader = leading()
        leader.appended(5, 0)
        leader.follower_fetched(3, 4, 0)
        leader.maybe_shrink_isr(20_000)
        change = proposal(leader)
        assert change.isr == (1,)
        assert change.cause == "2 has not fetched in this epoch, 20000 ms behind; 3 ends at 4 of 5, 20000 ms behind"

    def test_who_lost_what_is_committed_leaves_at_once(self) -> None:
        leader = leading((1, 2), log_end_offset=5, high_watermark=5)
        leader.follower_fetched(2, 3, 0)
        assert proposal(leader).cause == "2 ends at 3, below the high watermark 5: it has lost records"

    def test_who_is_only_about_to_join_need_not_leave(self) -> None:
        leader = leading((1,), log_end_offset=5)
        leader.follower_fetched(2, 5, 0)
        proposal(leader)
        leader.follower_fetched(2, 3, 0)
        assert leader.effects == []

    def test_a_loss_waits_for_the_proposal_that_is_under_way(self) -> None:
        leader = leading((1, 2), log_end_offset=5, high_watermark=5)
        leader.follower_fetched(3, 5, 0)
        proposal(leader)
        leader.follower_fetched(2, 3, 0)
        assert leader.effects == []

    def test_nothing_else_is_proposed_meanwhile(self) -> None:
        leader = leading()
        leader.appended(5, 0)
        leader.follower_fetched(3, 5, 0)
        leader.maybe_shrink_isr(20_000)
        proposal(leader)
        leader.maybe_shrink_isr(40_000)
        assert leader.effects == []


class TestJoining:
    def test_at_the_high_watermark_and_the_start_of_the_epoch(self) -> None:
        leader = leading((1,), log_end_offset=5, high_watermark=2, min_insync_replicas=2)
        assert (leader.high_watermark, leader.epoch_start_offset) == (2, 5)
        leader.appended(8, 0)
        leader.follower_fetched(2, 4, 0)
        assert leader.effects == []
        leader.follower_fetched(2, 5, 0, broker_epoch=12)
        change = proposal(leader)
        assert (change.isr, change.broker_epochs, change.partition_epoch) == ((1, 2), (11, 12), 9)

    def test_one_after_the_other(self) -> None:
        leader = leading((1,))
        leader.follower_fetched(2, 0, 0)
        leader.follower_fetched(3, 0, 0)
        first = proposal(leader)
        leader.handle(IsrCommitted(first, 10), 0)
        assert leader.take_effects() == (IsrChanged((1,), (1, 2), 10, first.cause),)
        leader.follower_fetched(3, 0, 0)
        assert (proposal(leader).isr, leader.partition_epoch) == ((1, 2, 3), 10)


class TestWhatBecameOfIt:
    def proposing(self) -> tuple[Leader, AlterIsr]:
        leader = leading((1,), log_end_offset=2)
        leader.follower_fetched(2, 2, 0, broker_epoch=12)
        change = proposal(leader)
        leader.appended(4, 0)
        return leader, change

    def test_both_isrs_count_until_then(self) -> None:
        leader, _ = self.proposing()
        assert leader.appended(4, now_ms=60_000) is None  # long after broker 2 was at the end
        assert (leader.isr, leader.maximal_isr, leader.high_watermark) == ((1,), (1, 2), 2)
        assert str(leader) == ("leader of epoch 5 from 2: log end 4, high watermark 2, isr 1 (proposed 1,2)")

    def test_refused(self) -> None:
        leader, change = self.proposing()
        leader.handle(IsrRefused(change, ErrorCode.INELIGIBLE_REPLICA), 0)
        assert (leader.maximal_isr, leader.pending) == ((1,), None)
        leader.follower_fetched(2, 2, 999, broker_epoch=12)
        assert leader.effects == []
        leader.follower_fetched(2, 2, 1000, broker_epoch=12)
        assert proposal(leader).isr == (1, 2)

    def test_unknown_and_written(self) -> None:
        leader, change = self.proposing()
        leader.handle(IsrUnknown(change, "lost"), 0)
        assert leader.take_effects() == (ReadPartitionState(5),)
        assert leader.maximal_isr == (1, 2)
        leader.handle(PartitionStateRead(1, 5, (1, 2), 10), 0)
        assert (leader.isr, leader.partition_epoch, leader.pending) == ((1, 2), 10, None)

    def test_unknown_and_not_written_yet(self) -> None:
        leader, change = self.proposing()
        leader.handle(IsrUnknown(change, "lost"), 0)
        leader.take_effects()
        leader.handle(PartitionStateRead(1, 5, (1,), 9), 0)
        assert leader.take_effects() == (change,)
        assert leader.maximal_isr == (1, 2)

    def test_unknown_and_overtaken(self) -> None:
        """Within the epoch, somebody else wrote another ISR: what was proposed for the old version never comes."""
        leader, change = self.proposing()
        leader.handle(IsrUnknown(change, "lost"), 0)
        leader.take_effects()
        leader.handle(PartitionStateRead(1, 5, (1, 3), 10), 0)
        assert (leader.maximal_isr, leader.pending) == ((1, 3), None)

    def test_fenced(self) -> None:
        leader, change = self.proposing()
        leader.handle(IsrUnknown(change, "the version is 11"), 0)
        leader.take_effects()
        leader.handle(PartitionStateRead(2, 6, (2,), 11), 0)
        assert leader.take_effects() == (Fenced(5),)
        assert refused_with(ErrorCode.NOT_LEADER_OR_FOLLOWER, leader, 1)
        assert leader.maximal_isr == (1, 2)  # for all it knows

    def test_an_old_version_says_nothing(self) -> None:
        """A server of the store may be behind: nothing is undone."""
        leader, change = self.proposing()
        leader.handle(IsrCommitted(change, 10), 0)
        leader.take_effects()
        leader.handle(PartitionStateRead(1, 5, (1,), 9), 0)
        assert (leader.isr, leader.effects) == ((1, 2), [])

    def test_news_of_an_older_proposal_are_no_news(self) -> None:
        leader, change = self.proposing()
        leader.assignment_changed(decision((1,), version=10), 0)
        for event in (IsrCommitted(change, 10), IsrRefused(change, ErrorCode.NONE), IsrUnknown(change, "lost")):
            leader.handle(event, 0)
        assert (leader.isr, leader.partition_epoch, leader.effects) == ((1,), 10, [])

    def test_the_controller_changes_replicas_within_the_epoch(self) -> None:
        leader = leading((1, 2), replicas=(1, 2))
        leader.appended(3, 0)
        leader.follower_fetched(2, 3, 0)
        assert leader.assignment_changed(decision((1,), (1, 3), version=10), 0) is None
        assert leader.take_effects() == (IsrChanged((1, 2), (1,), 10, BY_THE_CONTROLLER),)
        assert sorted(leader.followers) == [3]
        with pytest.raises(BrokenInvariant, match="another epoch"):
            leader.assignment_changed(decision()._replace(leader_epoch=6), 0)


class TestProducers:
    @pytest.mark.parametrize("acks", [-2, 2, 32767])
    def test_acks_that_do_not_exist(self, acks: int) -> None:
        assert refused_with(ErrorCode.INVALID_REQUIRED_ACKS, leading(), acks)

    def test_too_few_before(self) -> None:
        leader = leading((1,), min_insync_replicas=2)
        assert refused_with(ErrorCode.NOT_ENOUGH_REPLICAS, leader, ACKS_ALL)
        leader.check_append(0)
        leader.check_append(1)

    def test_too_few_after(self) -> None:
        leader = leading((1, 2), min_insync_replicas=2)
        leader.appended(1, 0)
        assert leader.acknowledgement(1) is None
        leader.maybe_shrink_isr(20_000)
        assert leader.acknowledgement(1) is None  # it may still come
        leader.handle(IsrCommitted(proposal(leader), 10), 20_000)
        assert leader.acknowledgement(1) is ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND
        assert leader.high_watermark == 0

    def test_enough(self) -> None:
        leader = leading((1, 2), min_insync_replicas=2)
        leader.appended(2, 0)
        leader.follower_fetched(2, 1, 0)
        assert [leader.acknowledgement(1), leader.acknowledgement(2)] == [ErrorCode.NONE, None]


class TestLowWatermark:
    def test_it_is_the_smallest_log_start_of_the_living(self) -> None:
        leader = leading()
        leader.appended(9, 0)
        assert leader.low_watermark(5) == -1
        leader.follower_fetched(2, 0, 0, log_start_offset=3)
        leader.follower_fetched(3, 0, 0, log_start_offset=7)
        assert leader.low_watermark(5) == 3
        leader.follower_fetched(2, 0, 0, log_start_offset=8)
        assert leader.low_watermark(5) == 5


def test_a_leader_that_is_not_in_its_isr_is_a_bug_of_the_controller() -> None:
    with pytest.raises(BrokenInvariant, match="in sync with itself"):
        leading((2, 3))


def test_a_high_watermark_beyond_the_log_is_our_own_bug() -> None:
    with pytest.raises(BrokenInvariant, match="high watermark 2 beyond log end 1"):
        leading(log_end_offset=1, high_watermark=2)


def test_a_leader_is_told_so() -> None:
    with pytest.raises(BrokenInvariant, match="not the leader"):
        Leader(
            decision(),
            broker_id=2,
            log_end_offset=0,
            high_watermark=0,
            live_brokers=LIVE,
            settings=ReplicationSettings(),
            now_ms=0,
        )


def test_who_begins_below_our_start_does_not_join_before_it_has_let_go_of_that() -> None:
    """Its records there may be of an epoch of which retention has left us none: we cannot tell whether they are ours,
    and once elected it would show them."""
    leader = leading((1,), log_end_offset=8)
    leader.log_start_offset = 8
    leader.follower_fetched(2, 8, 0, log_start_offset=5)
    assert leader.pending is None
    leader.follower_fetched(2, 8, 1, log_start_offset=8)
    assert proposal(leader).isr == (1, 2)
