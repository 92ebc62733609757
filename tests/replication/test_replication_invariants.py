"""The invariants themselves: each says nothing about a healthy partition and finds its own violation."""

from __future__ import annotations

from strandline.replication.invariants import (
    ObservedReplica,
    high_watermark_within_log,
    leader_in_isr,
    one_leader_in_an_epoch,
    strong_isr,
    weak_isr,
)


def leader(
    records: str, *, high_watermark: int, isr: tuple[int, ...] = (1, 2), broker_id: int = 1, start: int = 0
) -> ObservedReplica:
    return ObservedReplica(broker_id, True, 0, high_watermark, isr, start, records)


def follower(records: str, *, broker_id: int = 2, start: int = 0, high_watermark: int | None = None) -> ObservedReplica:
    return ObservedReplica(broker_id, False, 0, start if high_watermark is None else high_watermark, (), start, records)


def test_a_member_of_the_isr_has_everything_below_the_high_watermark() -> None:
    replicas = [leader("abc", high_watermark=2), follower("ab"), follower("a", broker_id=3)]
    assert list(strong_isr(replicas, (1, 2))) == []
    assert list(strong_isr(replicas, (1, 3))) == [
        "3 is in sync and lacks offset 1, which 1 committed below 2 in epoch 0"
    ]
    assert list(weak_isr(replicas)) == []
    replicas[0] = replicas[0]._replace(isr=(1, 2, 3))
    assert len(list(weak_isr(replicas))) == 1


def test_something_else_at_the_offset_is_as_bad_as_nothing() -> None:
    assert len(list(strong_isr([leader("abc", high_watermark=3), follower("axc")], (1, 2)))) == 1


def test_what_was_deleted_is_not_missed() -> None:
    deleted_there = [leader("abc", high_watermark=3), follower("c", start=2)]
    deleted_here = [leader("c", high_watermark=3, start=2), follower("abc")]
    assert list(strong_isr(deleted_there, (1, 2))) == list(strong_isr(deleted_here, (1, 2))) == []


def test_who_follows_commits_nothing() -> None:
    assert list(strong_isr([follower("ab", high_watermark=2), follower("a", broker_id=3)], (2, 3))) == []


def test_the_leader_is_in_sync() -> None:
    assert list(leader_in_isr(1, (1, 2))) == list(leader_in_isr(-1, (1, 2))) == []
    assert list(leader_in_isr(3, (1, 2))) == ["leader 3 is not in the isr 1,2"]


def test_the_high_watermark_lies_within_the_log() -> None:
    assert list(high_watermark_within_log([leader("ab", high_watermark=2)])) == []
    for replica in (leader("ab", high_watermark=3), leader("ab", high_watermark=4, start=5)):
        assert len(list(high_watermark_within_log([replica]))) == 1


def test_an_epoch_has_one_leader() -> None:
    two = [leader("a", high_watermark=0), leader("a", high_watermark=0, broker_id=2)]
    assert list(one_leader_in_an_epoch(two)) == ["1 and 2 both lead in epoch 0"]
    assert list(one_leader_in_an_epoch([two[0], two[1]._replace(leader_epoch=1)])) == []
