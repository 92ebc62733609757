"""Failures that other systems have had (reliability.md section 3, replication), each by its number.

Where a safeguard can be taken away, the story is told twice: with it nothing is wrong, without it something is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import pytest
from tests.replication import world as world_module
from tests.replication.memory_log import MemoryLog, Record
from tests.replication.transcript import Player
from tests.replication.world import World

from strandline.model.failures import ErrorCode, Refused
from strandline.replication import follower as follower_module
from strandline.replication.effects import AlterIsr, TruncateTo
from strandline.replication.events import IsrCommitted, LeaderAndIsr
from strandline.replication.follower import Follower, FollowerState
from strandline.replication.invariants import strong_isr
from strandline.replication.isr import InSyncReplicas
from strandline.replication.leader import ACKS_ALL, Leader
from strandline.replication.log_view import EpochEnd, LogView
from strandline.replication.progress import FollowerProgress
from strandline.replication.replica import Replica
from strandline.replication.requests import Fetch, FetchAnswer
from strandline.replication.settings import ReplicationSettings
from strandline.replication.truncation import Cut


def played(story: str) -> World:
    player = Player()
    for line in filter(None, map(str.strip, story.splitlines())):
        player.play(line)
    return player.world


def wrong(world: World) -> list[str]:
    """StrongIsr, and that nothing is lost which a producer was told is safe."""
    found = list(strong_isr(world.observed(), world.state.isr))
    leader = world.brokers[world.state.leader]
    for offset, value in world.acknowledged:
        stored = leader.log.read(offset, 1)
        if not stored or stored[0].value != value:
            found.append(f"{value} was acknowledged at {offset} and is lost")
    return found


@contextmanager
def without(*safeguards: tuple[Any, str, object]) -> Iterator[None]:
    patches = [patch.object(*safeguard) for safeguard in safeguards]
    for each in patches:
        each.start()
    try:
        yield
    finally:
        for each in patches:
            each.stop()


def leading(
    isr: tuple[int, ...] = (1, 2, 3), *, min_insync_replicas: int = 1, log_end_offset: int = 0, high_watermark: int = 0
) -> Leader:
    """Broker 1 of 1, 2, 3."""
    return Leader(
        LeaderAndIsr(leader=1, leader_epoch=5, isr=isr, replicas=(1, 2, 3), partition_epoch=9),
        broker_id=1,
        log_end_offset=log_end_offset,
        high_watermark=high_watermark,
        live_brokers={1: 11, 2: 12, 3: 13},
        settings=ReplicationSettings(min_insync_replicas=min_insync_replicas),
        now_ms=0,
    )


def following(log: MemoryLog, high_watermark: int = 0) -> Follower:
    follower = Follower(
        leader=1, leader_epoch=5, log=log, high_watermark=high_watermark, settings=ReplicationSettings()
    )
    follower.begin()
    return follower


def log_of(*records: tuple[str, int]) -> MemoryLog:
    log = MemoryLog()
    log.append(Record(value, epoch) for value, epoch in records)
    return log


def nothing(*_: object, **__: object) -> None:
    """Instead of a safeguard."""


def fetch_at_once(follower: Follower) -> tuple[()]:
    follower.state = FollowerState.FETCHING
    return ()


def refusal(call: Callable[[], object]) -> ErrorCode:
    with pytest.raises(Refused) as refused:
        call()
    return refused.value.error_code


LOST_RECORD = """
    partition 2,1
    produce 2 m1 acks=all
    fetch 1
    fetch 1
    produce 2 m2 acks=all
    fetch 1
    ask 1
    kill 1
    start 1
    kill 2
    notice 2
    start 2
    sync 2
"""


def test_1_kip_101_a_log_is_cut_by_epochs_and_not_at_the_high_watermark() -> None:
    assert wrong(played(LOST_RECORD)) == []
    assert wrong(played("settings leader-epochs=off\n" + LOST_RECORD)) == ["m2 was acknowledged at 1 and is lost"]


BACK_TO_BACK = """
    partition 1,2,3
    elect 1 to=1
    produce 1 h
    elect 2 to=2
    produce 2 i,j
    elect 1 to=1
    produce 1 k
    elect 2
    sync 1
"""


def test_2_kip_279_a_follower_whose_epoch_the_leader_never_saw_asks_again() -> None:
    world = played(BACK_TO_BACK)
    assert world.brokers[1].log.records == world.brokers[2].log.records
    assert "1: truncate to 1: the leader has epoch 2 ending at 2, asking again" in world.lines

    def cut_at_the_answer(log: LogView, leader_end: EpochEnd, **_: int) -> Cut:
        return Cut(min(leader_end.end_offset, log.log_end_offset), True)

    with without((follower_module, "cut_for", cut_at_the_answer), (world_module, "diverging_epoch", nothing)):
        world = played(BACK_TO_BACK)
    assert world.brokers[1].log.records != world.brokers[2].log.records


def test_2_kip_320_a_fetch_that_does_not_fit_is_answered_with_where_the_logs_part() -> None:
    """Also if the follower asked nothing before it fetched, as Kafka's do."""
    with without((Follower, "begin", fetch_at_once)):
        world = played(BACK_TO_BACK)
        assert any("answer diverging" in line for line in world.lines)
        assert world.brokers[1].log.records == world.brokers[2].log.records


# Broker 1 leads again without having heard that it did not lead for a while; broker 2 has heard of neither.
OLD_EPOCH_FETCHES = """
    partition 1,2,3
    elect 3 isr=1,2,3 to=3
    elect 1 isr=1,2 to=1
    produce 1 x acks=all
    fetch 2
    ask 2
    drop 2
    tell 2 epoch=1
    sync 2
"""


def test_3_kip_320_a_follower_of_another_epoch_acknowledges_nothing() -> None:
    world = played(OLD_EPOCH_FETCHES)
    assert wrong(world) == []
    assert "1: answer FENCED_LEADER_EPOCH: epoch 0 is over, this is 2" in world.lines
    with without((Leader, "check_epoch", nothing)):
        assert wrong(played(OLD_EPOCH_FETCHES)) == [
            "2 is in sync and lacks offset 0, which 1 committed below 1 in epoch 2"
        ]


def test_3_kafka_7395_both_epochs_are_told_apart() -> None:
    leader = leading()
    leader.check_epoch(5)
    leader.check_epoch(-1)  # clients that are too old to know
    assert refusal(lambda: leader.check_epoch(4)) is ErrorCode.FENCED_LEADER_EPOCH
    assert refusal(lambda: leader.check_epoch(6)) is ErrorCode.UNKNOWN_LEADER_EPOCH


# The new leader does not know that a is committed: its high watermark is 0, and broker 3 has reached that.
BEHIND_THE_EPOCH = """
    partition 1,2,3 isr=1,2
    produce 1 a acks=all
    fetch 2
    ask 2
    drop 2
    elect 2 to=2,3
    fetch 3 count=0
"""


def test_4_kafka_7128_nobody_joins_below_the_start_of_the_epoch() -> None:
    world = played(BEHIND_THE_EPOCH)
    assert (world.state.isr, wrong(world)) == ((1, 2), [])

    def has_reached_high_watermark(leader: InSyncReplicas, progress: FollowerProgress) -> bool:
        return progress.log_end_offset >= leader.high_watermark

    with without((InSyncReplicas, "_has_reached_commits", has_reached_high_watermark)):
        world = played(BEHIND_THE_EPOCH)
    assert world.state.isr == (1, 2, 3)
    assert wrong(world) == ["3 is in sync and lacks offset 0, which 1 committed below 1 in epoch 0"]


# Broker 2 led and wrote x; broker 3, the next, has only heard of epoch 0. Broker 2 has not heard that a is committed.
UNHEARD_OF = """
    partition 1,2,3
    produce 1 a acks=all
    fetch 2
    fetch 3
    fetch 3
    ask 2
    drop 2
    elect 2 to=2
    produce 2 x
    elect 3 to=2,3
    fetch 2
"""


def test_5_kafka_7415_an_epoch_is_recorded_at_the_election() -> None:
    assert wrong(played(UNHEARD_OF)) == []
    with without((World, "assign_epoch", nothing)):
        assert wrong(played(UNHEARD_OF)) == ["2 is in sync and lacks offset 0, which 1 committed below 1 in epoch 0"]


def test_5_kafka_7415_three_elections_without_a_record() -> None:
    world = played("partition 1,2\nproduce 1 a\nsync 2\nelect 2 to=2\nelect 1 to=1\nelect 2\nsync 1")
    assert [broker.log.epochs.entries()[0] for broker in world.brokers.values()] == [(0, 0), (0, 0)]
    assert world.brokers[1].log.epochs.entries() == ((0, 0),)
    assert world.brokers[2].log.epochs.entries() == ((0, 0), (3, 1))


def test_6_kafka_10432_epoch_0_is_an_epoch() -> None:
    follower = following(log_of(("a", 0)))
    assert follower.state is FollowerState.RECONCILING
    assert str(follower.request(0)) == "ask where epoch 0 ended (leader epoch 5)"


def test_7_kafka_14704_who_diverges_cuts_first_and_adopts_nothing() -> None:
    log = log_of(("a", 0), ("b", 1))
    follower = following(log, high_watermark=1)
    follower.state = FollowerState.FETCHING
    answer = FetchAnswer(high_watermark=2, log_start_offset=0, diverging=EpochEnd(0, 1))
    effects = follower.fetch_answered(Fetch(5, 2, 1, 0), answer, now_ms=0)
    assert effects == (TruncateTo(1, "the leader has epoch 0 ending at 1"),)
    assert follower.high_watermark == 1
    log.truncate_to(1)
    assert follower.truncated() == ()


def test_8_kafka_13141_a_fetch_that_diverges_is_not_counted() -> None:
    """Broker 2 has b of epoch 0, its leader has c of epoch 1 at the same offset."""
    story = """
        partition 1,2,3
        produce 1 a,b
        fetch 2
        elect 3 isr=2,3 to=3
        produce 3 c,d acks=all
        tell 2
        ask 2
    """
    with without((Follower, "begin", fetch_at_once)):
        world = played(story)
        leader = world.brokers[3].leader
        assert leader is not None
        assert (leader.followers[2].log_end_offset, leader.high_watermark) == (-1, 0)
        assert wrong(world) == []
        with without((World, "is_acknowledgement", lambda *_: True)):
            assert wrong(played(story)) == ["2 is in sync and lacks offset 0, which 3 committed below 2 in epoch 1"]


def test_9_kafka_9491_the_high_watermark_goes_with_a_full_truncation() -> None:
    world = played(
        "partition 1,2\nproduce 1 a,b\nsync 2\nkill 2\nnotice 2\nproduce 1 c,d\ndelete 1 before=3\nstart 2\n"
        "fetch 2\nfetch 2\nfetch 2\nfetch 2"
    )
    replica = world.brokers[2].replica
    assert replica is not None
    assert (world.brokers[2].log.log_start_offset, replica.high_watermark) == (3, 3)


def test_10_kafka_7414_a_follower_ahead_of_its_leader_cuts_its_log_and_goes_on() -> None:
    world = played(
        "settings leader-epochs=off unclean=on\npartition 1,2\nproduce 1 a\nsync 2\nkill 2\nnotice 2\nproduce 1 b,c\n"
        "kill 1\nnotice 1\nstart 2\nnotice 2\nstart 1\nsync 1"
    )
    assert "1: truncate to 1: the leader's log ends there (below the high watermark 3)" in world.lines
    assert world.brokers[1].log.records == world.brokers[2].log.records


def test_10_what_is_out_of_range_for_no_reason_is_tried_again_later() -> None:
    """The answers contradict each other, as while records are deleted: no log is cut, and no request is repeated at
    once."""
    follower = following(log_of(("a", 0), ("b", 0)))
    follower.state = FollowerState.FETCHING
    fetch = follower.request(0)
    assert isinstance(fetch, Fetch)
    assert follower.fetch_answered(fetch, FetchAnswer(ErrorCode.OFFSET_OUT_OF_RANGE), 0) == ()
    end = follower.request(0)
    assert str(end) == "ask where the log ends (leader epoch 5)"
    assert follower.offset_answered(end, ErrorCode.NONE, 7, 0) == ()  # type: ignore[arg-type]
    start = follower.request(0)
    assert str(start) == "ask where the log begins (leader epoch 5)"
    effects = follower.offset_answered(start, ErrorCode.NONE, 0, 0)  # type: ignore[arg-type]
    assert list(map(str, effects)) == ["OFFSET_OUT_OF_RANGE, try again at 1000"]
    assert follower.request(999) is None
    assert follower.request(1000) == fetch


def test_12_kafka_13091_a_shrink_commits_what_only_the_slow_one_held_back() -> None:
    leader = leading((1, 2))
    leader.appended(4, 0)
    assert leader.maybe_shrink_isr(10_001) is None
    (change,) = leader.take_effects()
    assert isinstance(change, AlterIsr)
    assert leader.acknowledgement(4) is None
    assert leader.handle(IsrCommitted(change, 10), 10_002) == 4
    assert leader.acknowledgement(4) is ErrorCode.NONE


def test_13_kafka_9672_a_member_that_is_no_replica_is_made_to_leave_and_counts_until_it_has() -> None:
    leader = Leader(
        LeaderAndIsr(leader=1, leader_epoch=5, isr=(1, 2, 4), replicas=(1, 2), partition_epoch=9),
        broker_id=1,
        log_end_offset=0,
        high_watermark=0,
        live_brokers={1: 11, 2: 12, 4: 14},
        settings=ReplicationSettings(),
        now_ms=0,
    )
    (change,) = leader.take_effects()
    assert str(change) == "alter isr 1,2,4 -> 1,2 at version 9: 4 is no replica"
    leader.appended(1, 0)
    assert leader.follower_fetched(2, 1, 0) is None
    assert isinstance(change, AlterIsr)
    assert leader.handle(IsrCommitted(change, 10), 0) == 1


@pytest.mark.parametrize(
    ("live", "broker_epoch", "joins"),
    [
        ({1: 11, 2: 12}, 12, True),
        ({1: 11, 2: 12}, -1, True),  # a follower that does not say
        ({1: 11}, 12, False),  # dead, or about to stop (KAFKA-14140)
        ({1: 11, 2: 99}, 12, False),  # restarted since (KIP-903)
    ],
)
def test_13_kip_903_only_who_is_alive_and_the_same_joins(live: dict[int, int], broker_epoch: int, joins: bool) -> None:
    leader = Leader(
        LeaderAndIsr(leader=1, leader_epoch=5, isr=(1,), replicas=(1, 2), partition_epoch=9),
        broker_id=1,
        log_end_offset=0,
        high_watermark=0,
        live_brokers=live,
        settings=ReplicationSettings(),
        now_ms=0,
    )
    leader.follower_fetched(2, 0, 0, 0, broker_epoch)
    changes = leader.take_effects()
    assert bool(changes) == joins
    for change in changes:
        assert isinstance(change, AlterIsr)
        assert (change.isr, change.broker_epochs) == ((1, 2), (11, broker_epoch))


def test_13_kip_903_a_late_fetch_of_an_earlier_life_is_refused() -> None:
    leader = leading()
    leader.check_follower_fetch(2, leader_epoch=5)  # one that does not say
    leader.check_follower_fetch(2, leader_epoch=5, broker_epoch=12)
    leader.check_follower_fetch(2, leader_epoch=5, broker_epoch=13)  # we may not have heard of this one yet
    refused = refusal(lambda: leader.check_follower_fetch(2, leader_epoch=5, broker_epoch=11))
    assert refused is ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_14_kafka_13837_a_stranger_is_refused_and_the_epoch_is_looked_at_first() -> None:
    leader = leading()

    def fetch(replica_id: int, leader_epoch: int) -> Callable[[], None]:
        return lambda: leader.check_follower_fetch(replica_id, leader_epoch=leader_epoch)

    assert refusal(fetch(7, 5)) is ErrorCode.UNKNOWN_LEADER_EPOCH
    assert refusal(fetch(7, -1)) is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert refusal(fetch(7, 4)) is ErrorCode.FENCED_LEADER_EPOCH  # KAFKA-14078
    assert refusal(fetch(1, 5)) is ErrorCode.UNKNOWN_LEADER_EPOCH  # itself


def test_15_kip_966_below_min_insync_replicas_nothing_is_committed() -> None:
    leader = leading((1,), min_insync_replicas=2, log_end_offset=3, high_watermark=2)
    assert leader.high_watermark == 2
    assert leader.appended(9, 0) is None
    assert refusal(lambda: leader.check_append(ACKS_ALL)) is ErrorCode.NOT_ENOUGH_REPLICAS
    leader.check_append(1)
    assert leader.acknowledgement(3) is ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND


def test_15_kip_966_the_last_one_standing_loses_nothing_that_was_shown() -> None:
    """Its power fails while it is alone. Nobody has to cut anything below what was committed before."""
    story = """
        settings min.insync.replicas=2
        partition 1,2,3
        produce 1 a acks=all
        sync 2
        sync 3
        sync 2
        kill 2
        notice 2
        kill 3
        notice 3
        produce 1 b acks=1
        power-loss 1 end=1
        notice 1
        start 1
        notice 1
        start 2
        sync 2
    """
    world = played(story)
    assert not [line for line in world.lines if "below the high watermark" in line]
    assert [broker.log.records for broker in world.brokers.values()] == [[Record("a", 0)]] * 3


def test_16_what_is_only_on_the_leader_is_not_shown() -> None:
    """Redpanda 14794: acks=1 is answered, but what is read is below the high watermark."""
    leader = leading()
    leader.check_append(1)
    assert leader.appended(1, 0) is None
    assert leader.high_watermark == 0


def test_16_a_new_leader_does_not_say_where_the_log_ends_before_it_knows() -> None:
    """KIP-207: its high watermark may be behind what a consumer has read from the leader before."""
    leader = leading((1, 2), log_end_offset=4, high_watermark=2)
    assert refusal(lambda: leader.check_offsets_available(leader.high_watermark)) is ErrorCode.OFFSET_NOT_AVAILABLE
    leader.follower_fetched(2, 4, 0)
    leader.check_offsets_available(leader.high_watermark)


# Broker 1 leads in epochs 0 and 2 and does not hear of 1, in which broker 2 had to cut what it had acknowledged.
LED_TWICE = """
    partition 1,2,3
    produce 1 a
    sync 2
    sync 3
    produce 1 b
    fetch 2
    fetch 2
    elect 3 to=2,3
    sync 2
    elect 1 to=1,3
    sync 3
"""


def test_the_third_rule_of_kip_320_acknowledgements_are_for_one_epoch() -> None:
    assert wrong(played(LED_TWICE)) == []
    begin_epoch = Replica._begin_epoch

    def begin_epoch_knowing_all(replica: Replica, decision: LeaderAndIsr, now_ms: int) -> object:
        before = replica.leader
        effects = begin_epoch(replica, decision, now_ms)
        if before is not None and replica.leader is not None:
            for progress in before.followers.values():
                replica.leader.followers[progress.replica_id].log_end_offset = progress.log_end_offset
        return effects

    with without((Replica, "_begin_epoch", begin_epoch_knowing_all)):
        assert wrong(played(LED_TWICE)) == ["2 is in sync and lacks offset 1, which 1 committed below 2 in epoch 2"]
