"""Markers on their way: who gets which, and what is left to send."""

from __future__ import annotations

from tests.transactions.shell import partitions

from strandline.model.failures import ErrorCode
from strandline.transactions.markers import (
    MARKER_RETRY_MAX_MS,
    MARKER_RETRY_MS,
    Completion,
    Marker,
    MarkersWritten,
    by_leader,
)

A, B, C = partitions(["a-0", "b-0", "c-0"])


def marker(number: int, *names: str) -> Marker:
    return Marker(
        transactional_id=f"t{number}",
        number=number,
        producer_id=number,
        producer_epoch=0,
        coordinator_epoch=4,
        is_commit=True,
        partitions=partitions(names),
    )


def test_each_broker_gets_the_markers_of_its_partitions() -> None:
    leaders = {A: 1, B: 2}
    sent = by_leader([marker(1, "a-0", "b-0", "c-0"), marker(2, "a-0")], leaders.get)
    assert sent == {
        1: [marker(1, "a-0"), marker(2, "a-0")],
        2: [marker(1, "b-0")],
        None: [marker(1, "c-0")],
    }


def test_a_broken_connection_is_a_result_for_all() -> None:
    assert marker(1, "a-0", "b-0").all_partitions(ErrorCode.NETWORK_EXCEPTION) == MarkersWritten(
        transactional_id="t1",
        coordinator_epoch=4,
        number=1,
        results=((A, ErrorCode.NETWORK_EXCEPTION), (B, ErrorCode.NETWORK_EXCEPTION)),
    )


def test_only_what_is_not_under_way_is_sent() -> None:
    completion = Completion([B, A])
    assert completion.send(1) == (A, B)
    assert completion.send(2) == ()
    completion.heard(A, 1, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    assert completion.waiting == (A, B)
    assert completion.send(3) == (A,)
    completion.heard(A, 1, ErrorCode.NONE)  # of an older sending
    assert not completion.is_done
    completion.heard(A, 3, ErrorCode.NONE)
    completion.heard(B, 1, ErrorCode.NONE)
    assert completion.is_done


def test_deleted_partitions_are_not_waited_for() -> None:
    completion = Completion([A, B])
    completion.send(1)
    completion.heard(A, 1, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    completion.forget([A, B, C])
    assert completion.is_done


def test_it_waits_longer_each_time_but_not_for_ever() -> None:
    completion = Completion([A])
    delays = [completion.next_delay_ms() for _ in range(12)]
    assert delays[:3] == [MARKER_RETRY_MS, 2 * MARKER_RETRY_MS, 4 * MARKER_RETRY_MS]
    assert delays[-1] == MARKER_RETRY_MAX_MS
