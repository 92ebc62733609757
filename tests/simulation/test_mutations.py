"""Every safeguard that was seen to be missed is missed again: the simulator finds what it is there to find."""

from __future__ import annotations

import pytest
from tests.simulation.hunt import violation_with
from tests.simulation.mutations import MUTATIONS, Mutation

FOUND = [mutation for mutation in MUTATIONS if mutation.seed]


@pytest.mark.parametrize("mutation", FOUND, ids=lambda mutation: mutation.name)
def test_a_missing_safeguard_is_noticed(mutation: Mutation) -> None:
    violation = violation_with(mutation, mutation.seed)
    assert violation is not None, f"nobody noticed with seed {mutation.seed}"
    assert violation.invariant == mutation.invariant
