"""Who surely owns a partition of a consumer group (KIP-848), as the simulator counts it."""

from __future__ import annotations

import pytest

from strandline.simulation.ownership import Heartbeat, Ownership

SESSION_US, REBALANCE_US = 6_000, 9_000
NOTHING: frozenset[int] = frozenset()


class Told:
    """What members heard, at which time."""

    def __init__(self) -> None:
        self.ownership = Ownership(SESSION_US, REBALANCE_US)

    def assigned(
        self, member_id: str, *partitions: int, at_us: int, owned: frozenset[int] = NOTHING, is_by_leader: bool = True
    ) -> list[str]:
        heartbeat = Heartbeat(member_id, at_us, owned)
        self.ownership.lets_go_but(member_id, owned)
        return list(self.ownership.assigned(heartbeat, frozenset(partitions), at_us + 10, is_by_leader=is_by_leader))


@pytest.fixture
def told() -> Told:
    """One member has been given two partitions."""
    told = Told()
    assert told.assigned("first", 0, 1, at_us=0) == []
    return told


def test_a_partition_has_two_owners(told: Told) -> None:
    assert told.assigned("second", 1, at_us=100) == ["second was given partition 1, which first has not let go"]


def test_what_is_taken_is_its_owners_until_it_is_let_go(told: Told) -> None:
    assert told.assigned("first", 0, at_us=100, owned=frozenset({0, 1})) == []
    assert len(told.assigned("second", 1, at_us=200)) == 1
    assert told.assigned("first", 0, at_us=300, owned=frozenset({0})) == []
    assert told.assigned("second", 1, at_us=400, owned=frozenset({1})) == []


def test_a_member_may_be_out_when_its_session_has_ended(told: Told) -> None:
    assert told.assigned("second", 1, at_us=SESSION_US) == []


def test_a_member_that_does_not_let_go_may_be_out_before_its_session_ends(told: Told) -> None:
    for at_us in range(1_000, REBALANCE_US, 1_000):
        told.assigned("first", 0, at_us=at_us, owned=frozenset({0, 1}))
    assert told.assigned("second", 1, at_us=REBALANCE_US) == []


def test_what_a_broker_says_that_leads_no_more_is_held_against_nobody(told: Told) -> None:
    assert told.assigned("second", 1, at_us=100, is_by_leader=False) == []


def test_who_commits_after_another_had_its_partition(told: Told) -> None:
    told.assigned("second", 1, at_us=SESSION_US)
    assert told.ownership.successor("first", 1, SESSION_US + 100) == "second"
    assert told.ownership.successor("first", 1, SESSION_US) is None, "it was sent before"
    assert told.ownership.successor("second", 1, SESSION_US + 100) is None


def test_who_is_given_its_partition_again_commits(told: Told) -> None:
    told.assigned("second", 1, at_us=SESSION_US)
    told.ownership.leaves("first")
    told.assigned("first", 1, at_us=2 * SESSION_US, is_by_leader=False)
    assert told.ownership.successor("first", 1, 3 * SESSION_US) is None
