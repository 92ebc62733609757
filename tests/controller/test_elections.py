"""Who leads next: each kind of election, by itself (SPEC R6, T5)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from strandline.controller.elections import (
    controlled_shutdown_election,
    offline_election,
    preferred_election,
    reassignment_election,
    unclean_election,
)

brokers = st.integers(1, 6)
replicas = st.lists(brokers, min_size=1, max_size=5, unique=True)
groups = st.sets(brokers)


def test_offline_the_first_of_the_assignment_that_is_alive_and_in_sync() -> None:
    assert offline_election([1, 2, 3], isr=[3, 2], live={2, 3}) == 2
    assert offline_election([1, 2, 3], isr=[1, 3], live={2, 3}) == 3


def test_offline_nobody_in_sync_is_alive() -> None:
    assert offline_election([1, 2, 3], isr=[1], live={2, 3}) is None


def test_unclean_any_that_is_alive() -> None:
    assert unclean_election([1, 2, 3], live={3, 2}) == 2
    assert unclean_election([1, 2, 3], live=set()) is None


def test_preferred_the_first_or_nobody() -> None:
    assert preferred_election([1, 2], isr=[2, 1], live={1, 2}) == 1
    assert preferred_election([1, 2], isr=[2], live={1, 2}) is None
    assert preferred_election([1, 2], isr=[2, 1], live={2}) is None
    assert preferred_election([], isr=[2, 1], live={2}) is None


def test_reassignment_the_first_of_the_target() -> None:
    assert reassignment_election([4, 5], isr=[1, 5, 4], live={1, 4, 5}) == 4
    assert reassignment_election([4, 5], isr=[1, 5, 4], live={1, 5}) == 5
    assert reassignment_election([4, 5], isr=[1], live={1, 4, 5}) is None


def test_controlled_shutdown_the_first_that_stays() -> None:
    assert controlled_shutdown_election([1, 2, 3], isr=[1, 2, 3], live={1, 2, 3}, shutting_down={1, 2}) == 3
    assert controlled_shutdown_election([1, 2], isr=[1], live={1, 2}, shutting_down={1}) is None


@given(replicas, groups, groups, groups)
def test_no_election_but_the_unclean_goes_outside_the_isr(
    assigned: list[int], isr: set[int], live: set[int], shutting_down: set[int]
) -> None:
    clean = (
        offline_election(assigned, isr, live),
        preferred_election(assigned, isr, live),
        reassignment_election(assigned, isr, live),
        controlled_shutdown_election(assigned, isr, live, shutting_down),
    )
    eligible = set(assigned) & isr & live
    assert all(leader is None or leader in eligible for leader in clean)
    assert (clean[0] is None) == (not eligible)
    assert clean[3] not in shutting_down
    assert (unclean_election(assigned, live) is None) == (not set(assigned) & live)
