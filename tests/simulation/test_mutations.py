"""Every safeguard that was seen to be missed is missed again: the simulator finds what it is there to find."""

from __future__ import annotations

import pytest
from tests.simulation.hunt import SECONDS, violation_with
from tests.simulation.load_mutations import ALL_MUTATIONS
from tests.simulation.mutations import Mutation

from strandline.simulation.options import Options
from strandline.simulation.runs import run

SEEDS_TRIED_MIN = 12
TIMES_AS_RARE = 3  # one that took so many seeds to be noticed may take some times as many on other code
FOUND = [mutation for mutation in ALL_MUTATIONS if mutation.seed]


@pytest.mark.parametrize("mutation", FOUND, ids=lambda mutation: mutation.name)
def test_a_missing_safeguard_is_noticed(mutation: Mutation) -> None:
    """With its seed or one of the next: whatever changes in the code changes what happens under a seed. It is the
    missing safeguard that is noticed: with the safeguard, nothing is wrong with that seed."""
    seeds = range(mutation.seed, mutation.seed + max(SEEDS_TRIED_MIN, TIMES_AS_RARE * mutation.seed))
    noticed_with = next((seed for seed in seeds if is_noticed_with(mutation, seed)), None)
    assert noticed_with is not None, f"{mutation.invariant} did not notice with {seeds}"
    if noticed_with != mutation.seed:  # which has its control below, once for all that share it
        assert_nothing_is_wrong(noticed_with, mutation.faults, mutation.load)


@pytest.mark.parametrize(
    ("seed", "faults", "load"),
    sorted({(mutation.seed, mutation.faults, mutation.load) for mutation in FOUND}),
    ids=lambda each: str(each),
)
def test_with_all_safeguards_nothing_is_wrong(seed: int, faults: tuple[str, ...], load: tuple[str, ...]) -> None:
    """The control, in the same world, with each seed that is recorded. Where a later one had to be tried, the test of
    its safeguard has the control of that."""
    assert_nothing_is_wrong(seed, faults, load)


def is_noticed_with(mutation: Mutation, seed: int) -> bool:
    found = violation_with(mutation, seed)
    return found is not None and found.invariant == mutation.invariant


def assert_nothing_is_wrong(seed: int, faults: tuple[str, ...], load: tuple[str, ...]) -> None:
    outcome = run(Options(seed=seed, seconds=SECONDS, faults=faults, load=load))
    assert outcome.violation is None, f"{outcome.command}: {outcome.violation}"
