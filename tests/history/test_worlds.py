"""A world that is right looks sound, whatever happens in it; one with a fault does not."""

from __future__ import annotations

import pytest
from tests.history.worlds import World

from strandline.history.checker import check
from strandline.history.expectations import Expectations
from strandline.history.verdict import Kind

EVERYTHING = Expectations(is_read_to_end=True, is_every_writer_recorded=True)
SEEDS = 60
STEPS = 500
NOT_ISOLATED = {
    Kind.INTERNAL_SEND_SKIP,
    Kind.WRITE_CYCLE,
    Kind.WRITE_CYCLE_PROCESS,
    Kind.WRITE_CYCLE_REALTIME,
    Kind.MIXED_CYCLE,
}


@pytest.mark.parametrize("seed", range(SEEDS))
def test_what_is_right_looks_sound(seed: int) -> None:
    verdict = check(World(seed).run(STEPS), EVERYTHING)
    assert verdict.is_sound, verdict
    assert verdict.kinds <= NOT_ISOLATED
    assert verdict.counts["records_read"] > 100
    assert verdict.counts["transactions_committed"] > 1
    assert verdict.counts["transactions_aborted"] > 0


@pytest.mark.parametrize("seed", range(SEEDS // 2))
def test_so_does_what_is_right_and_has_values_many_times(seed: int) -> None:
    verdict = check(World(seed, repeated=(seed % 4 + 1) / 4).run(STEPS), EVERYTHING)
    assert verdict.is_sound, verdict
    assert verdict.kinds <= NOT_ISOLATED
    assert verdict.counts["values_sent_twice"] > 10


@pytest.mark.parametrize(
    ("fault", "kinds"),
    [
        ("truncates", {Kind.INCONSISTENT_OFFSETS}),
        ("repeats", {Kind.DUPLICATE}),
        ("forgets", {Kind.INCONSISTENT_OFFSETS, Kind.LOST_WRITE}),
        ("writes-what-it-refuses", {Kind.ABORTED_READ}),
        ("skips", {Kind.POLL_SKIP, Kind.INTERNAL_POLL_SKIP}),
        ("returns", {Kind.NONMONOTONIC_POLL}),
        ("reads-open-ones", {Kind.UNCOMMITTED_READ}),
        ("reads-aborted-ones", {Kind.ABORTED_READ}),
        ("forgets-commits", {Kind.LOST_COMMIT}),
        ("invents-commits", {Kind.PHANTOM_COMMIT}),
        ("forgets-what-was-copied", {Kind.LOST_COMMIT}),
        ("loses-its-end", {Kind.LOST_WRITE}),
        ("withholds", {Kind.UNSEEN}),
    ],
)
def test_a_fault_is_found(fault: str, kinds: set[Kind]) -> None:
    """In several of ten worlds something bad, and over all of them what the fault is about."""
    verdicts = [check(World(seed, fault).run(STEPS), EVERYTHING) for seed in range(10)]
    assert sum(not verdict.is_sound for verdict in verdicts) >= 3
    assert kinds <= set().union(*(verdict.bad_kinds for verdict in verdicts))


@pytest.mark.parametrize(
    ("fault", "kinds"),
    [
        ("truncates", {Kind.INCONSISTENT_OFFSETS}),
        ("repeats", {Kind.DUPLICATE}),
        ("forgets", {Kind.INCONSISTENT_OFFSETS, Kind.LOST_WRITE}),
        ("skips", {Kind.POLL_SKIP, Kind.INTERNAL_POLL_SKIP}),
        ("reads-open-ones", {Kind.UNCOMMITTED_READ}),
        ("reads-aborted-ones", {Kind.ABORTED_READ}),
        ("loses-its-end", {Kind.LOST_WRITE}),
        ("withholds", {Kind.UNSEEN}),
    ],
)
def test_a_fault_is_found_among_values_that_were_sent_before(fault: str, kinds: set[Kind]) -> None:
    """By where each was acknowledged."""
    verdicts = [check(World(seed, fault, repeated=1).run(STEPS), EVERYTHING) for seed in range(10)]
    assert sum(not verdict.is_sound for verdict in verdicts) >= 3
    assert kinds <= set().union(*(verdict.bad_kinds for verdict in verdicts))
