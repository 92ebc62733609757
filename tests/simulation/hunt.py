"""`python -m tests.simulation.hunt [--seeds 500] [WORD…]`: the first seed that finds each mutation, as a table."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import pytest
from tests.simulation.load_mutations import ALL_MUTATIONS
from tests.simulation.mutations import Mutation

from strandline.simulation.failure import Violation
from strandline.simulation.many_runs import cores, in_order
from strandline.simulation.options import Options
from strandline.simulation.runs import run

SECONDS = 60
SEEDS_AT_ONCE = 20


class Caught(NamedTuple):
    name: str
    invariant: str | None  # that noticed
    seeds: int  # tried, from 1 on

    def __str__(self) -> str:
        return f"| {self.name} | {self.invariant or 'nobody'} | {self.seeds} |"


class Trial(NamedTuple):
    number: int  # of the mutation
    seeds: range


def violation_with(mutation: Mutation, seed: int) -> Violation | None:
    with pytest.MonkeyPatch.context() as patch:
        mutation.switch_off(patch)
        return run(Options(seed=seed, seconds=SECONDS, faults=mutation.faults, load=mutation.load)).violation


def hunt(mutations: Sequence[Mutation], seeds_max: int, jobs: int) -> Iterator[Caught]:
    """Those that are hard to find are looked for with all cores, so that nobody waits for the last one."""
    waiting = [
        Trial(ALL_MUTATIONS.index(mutation), range(1, min(SEEDS_AT_ONCE, seeds_max) + 1)) for mutation in mutations
    ]
    while waiting:
        following = []
        for trial, caught in zip(waiting, in_order(look, waiting, jobs), strict=True):
            if caught.invariant is not None or trial.seeds.stop > seeds_max:
                yield caught
            else:
                last = min(trial.seeds.stop + SEEDS_AT_ONCE, seeds_max + 1)
                following.append(Trial(trial.number, range(trial.seeds.stop, last)))
        waiting = following


def look(trial: Trial) -> Caught:
    mutation = ALL_MUTATIONS[trial.number]
    for seed in trial.seeds:
        violation = violation_with(mutation, seed)
        if violation is not None:
            return Caught(mutation.name, violation.invariant, seed)
    return Caught(mutation.name, None, trial.seeds[-1])


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--seeds", type=int, default=500)
    arguments.add_argument("--jobs", type=int, default=cores())
    arguments.add_argument("words", nargs="*")
    asked = arguments.parse_args()
    wanted = [each for each in ALL_MUTATIONS if not asked.words or any(word in each.name for word in asked.words)]
    found = 0
    for caught in hunt(wanted, asked.seeds, asked.jobs):
        found += caught.invariant is not None
        print(caught, flush=True)
    print(f"{found} of {len(wanted)}", file=sys.stderr)


if __name__ == "__main__":
    main()
