"""Fetches of a follower with a session: what is looked at, what wakes it, what it is told (KIP-227, SPEC R2)."""

from __future__ import annotations

import gc

import pytest
from tests.broker.follower_session import PARTITIONS, WAIT_MS, Leader

from strandline.broker.attention import LOOK_AT_ALL_MS
from strandline.broker.dispatch import Request
from strandline.model.failures import ErrorCode
from strandline.wire.messages.fetch import PartitionData


def indexes(answer: list[PartitionData] | None) -> list[int]:
    assert answer is not None
    return [each.partition_index for each in answer]


@pytest.fixture
def leader() -> Leader:
    """With a session in which everything was said."""
    leader = Leader()
    assert leader.ask(*range(PARTITIONS)) is None
    assert indexes(leader.wait()) == [0, 1, 2, 3]
    return leader


def wanted_by(leader: Leader) -> int:
    session = leader.sessions._sessions[leader.session_id]
    assert session.attention is not None
    return len(session.attention.wanted)


def test_quiet_partitions_are_not_looked_at(leader: Leader) -> None:
    assert leader.ask() is None
    assert leader.wait() == []
    assert wanted_by(leader) == 0
    leader.write(2)
    assert wanted_by(leader) == 1


def test_a_log_that_grows_wakes_the_fetch_once_in_a_turn(leader: Leader) -> None:
    assert leader.ask() is None
    leader.write(3)
    leader.write(1)
    turns = leader.host.turns
    answer = leader.hear()
    assert indexes(answer) == [3, 1]
    assert leader.host.turns == turns + 1


def test_what_was_written_between_two_fetches_is_answered_at_once(leader: Leader) -> None:
    leader.write(1)
    assert indexes(leader.ask()) == [1]


def test_rot_in_one_partition_stops_no_other(leader: Leader) -> None:
    log = leader.partitions[1].log
    position = log.size_bytes
    assert leader.ask() is None
    leader.write(1)
    leader.write(2)
    log.segments.active.file.write(position, bytes(20))
    answer = leader.hear() or []
    assert {each.partition_index: each.error_code for each in answer} == {1: ErrorCode.CORRUPT_MESSAGE, 2: 0}
    leader.ends[2] = 2
    assert leader.ask(2, forgotten=(1,)) is None, "the follower leaves it out until it tries again"


def test_a_high_watermark_that_moves_is_told_and_wakes_nobody(leader: Leader) -> None:
    leader.write(1)
    assert indexes(leader.ask()) == [1]
    leader.ends[1] = 2
    assert leader.ask(1) is None
    assert leader.partitions[1].high_watermark == 2
    assert leader.hear() is None
    (told,) = leader.wait() or []
    assert (told.partition_index, told.high_watermark, bytes(told.records or b"")) == (1, 2, b"")  # type: ignore[arg-type]
    assert leader.ask() is None
    assert leader.wait() == []


def test_a_log_start_that_deletion_moves_is_told(leader: Leader) -> None:
    """SPEC C4: DeleteRecords waits for the followers."""
    assert leader.ask() is None
    leader.partitions[2].advance_log_start(1)
    (told,) = leader.wait() or []
    assert (told.partition_index, told.log_start_offset) == (2, 1)


def test_a_log_start_that_retention_moves_is_told_within_a_second(leader: Leader) -> None:
    leader.partitions[2].log.advance_log_start(1, high_watermark=1)  # of which nobody tells
    leader.host.pass_time(LOOK_AT_ALL_MS)
    assert leader.ask() is None
    assert indexes(leader.wait()) == [2]


def test_records_that_were_not_taken_are_sent_again(leader: Leader) -> None:
    leader.write(0)
    assert indexes(leader.ask()) == [0]
    assert indexes(leader.ask()) == [0]


def test_a_follower_of_quiet_partitions_stays_caught_up(leader: Leader) -> None:
    """SPEC R3: or the next record would find it lagging, and it had to leave."""
    for _ in range(100):
        assert leader.ask() is None
        leader.wait()
    leader.write(0)
    partition = leader.partitions[0]
    partition.check_followers()
    assert partition.leader is not None
    assert partition.leader.effects == []
    assert partition.leader.pending is None


def test_a_fetch_that_was_answered_is_let_go_at_once(leader: Leader) -> None:
    """There are many: they must not wait for the collector of cycles, for which all requests would have to wait."""
    gc.collect()
    gc.disable()
    try:
        for _ in range(3):
            assert leader.ask() is None
            leader.wait()
        requests = [each for each in gc.get_objects() if isinstance(each, Request)]  # of other tests, too
        assert [each for each in requests if each.connection is leader.connection] == []
    finally:
        gc.enable()


def test_another_epoch_of_the_follower_is_noted_everywhere(leader: Leader) -> None:
    """KIP-903: who has been restarted is another."""
    assert {each.error_code for each in leader.ask(epoch=9) or []} == {ErrorCode.NOT_LEADER_OR_FOLLOWER}
    assert wanted_by(leader) == PARTITIONS


def test_a_leader_that_resigns_wakes_the_fetch(leader: Leader) -> None:
    assert leader.ask() is None
    leader.partitions[1].stop()
    (told,) = leader.hear() or []
    assert (told.partition_index, told.error_code) == (1, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    assert indexes(leader.ask()) == [1]  # until the follower hears from the controller


def test_forgotten_partitions_are_not_watched_any_more(leader: Leader) -> None:
    before = [partition.watcher_count for partition in leader.partitions]
    assert leader.ask(forgotten=(0, 2)) is None
    assert [partition.watcher_count for partition in leader.partitions] == [0, before[1], 0, before[3]]
    leader.write(0)
    assert leader.hear() is None


def test_a_follower_that_comes_back_leaves_no_watch_behind(leader: Leader) -> None:
    before = [partition.watcher_count for partition in leader.partitions]
    for _ in range(5):
        leader.connection.close()
        leader.connect()
        assert leader.ask(*range(PARTITIONS)) is None
        leader.wait()
    assert [partition.watcher_count for partition in leader.partitions] == before


def test_a_fetch_that_waits_less_than_the_one_before_is_not_kept_longer(leader: Leader) -> None:
    """One timer does for all the fetches of a session."""
    assert leader.ask() is None
    leader.write(1)
    assert indexes(leader.hear()) == [1]
    leader.ends[1] = 2
    assert leader.ask(1, wait_ms=20) is None
    leader.host.pass_time(20)
    assert indexes(leader.hear()) == [1], "its time is up, and the high watermark has moved"


def test_a_fetch_has_all_of_its_time_though_one_before_it_began_earlier(leader: Leader) -> None:
    assert leader.ask() is None
    leader.host.pass_time(400)
    leader.write(1)
    assert indexes(leader.hear()) == [1]
    leader.ends[1] = 2
    assert leader.ask(1) is None
    leader.host.pass_time(499)
    assert leader.hear() is None
    leader.host.pass_time(1)
    assert indexes(leader.hear()) == [1]


def test_a_fetch_ends_though_somebody_sets_the_clock_back(leader: Leader) -> None:
    assert leader.ask() is None
    leader.host.clock_leap_ms = -3_600_000
    leader.host.pass_time(WAIT_MS)
    assert leader.hear() == []


def test_no_timer_is_left_of_who_has_gone(leader: Leader) -> None:
    assert leader.ask() is None
    leader.connection.close()
    leader.sessions._drop(leader.session_id)
    assert leader.host.set_timers == 0


def test_a_follower_without_a_session_is_served_too() -> None:
    leader = Leader()
    leader.sessions._slots = 0
    assert leader.ask(0, 1) is None
    leader.write(1)
    assert sorted(indexes(leader.hear())) == [0, 1]
    assert leader.session_id == 0
    assert [partition.watcher_count for partition in leader.partitions] == [0] * PARTITIONS
