"""`python -m tests.simulation.hunt [--seeds 500] [WORD…]`: the first seed that finds each mutation, as a table."""

from __future__ import annotations

import argparse

import pytest
from tests.simulation.mutations import MUTATIONS, Mutation

from strandline.simulation.failure import Violation
from strandline.simulation.options import Options
from strandline.simulation.runs import run

SECONDS = 60


def violation_with(mutation: Mutation, seed: int) -> Violation | None:
    with pytest.MonkeyPatch.context() as patch:
        mutation.switch_off(patch)
        return run(Options(seed=seed, seconds=SECONDS, faults=mutation.faults)).violation


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--seeds", type=int, default=500)
    arguments.add_argument("words", nargs="*")
    asked = arguments.parse_args()
    for mutation in MUTATIONS:
        if asked.words and not any(word in mutation.name for word in asked.words):
            continue
        for seed in range(1, asked.seeds + 1):
            violation = violation_with(mutation, seed)
            if violation is not None:
                print(f"| {mutation.name} | {violation.invariant} | {seed} |", flush=True)
                break
        else:
            print(f"| {mutation.name} | nobody | {asked.seeds} |", flush=True)


if __name__ == "__main__":
    main()
