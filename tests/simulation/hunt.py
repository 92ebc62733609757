"""`python -m tests.simulation.hunt [--list] [--seeds 500] [WORD…]`: the first seed that finds each mutation."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import pytest
from tests.amounts import some
from tests.assertions import demand_assertions
from tests.simulation.load_mutations import ALL_MUTATIONS
from tests.simulation.mutations import Mutation

from strandline.cli.output import EXIT_INTERRUPTED, counted
from strandline.simulation.failure import Violation
from strandline.simulation.many_runs import WorkerEnded, cores, in_order
from strandline.simulation.options import Options
from strandline.simulation.runs import run
from strandline.simulation.unforeseen import SIMULATOR, UNFORESEEN

SECONDS = 60
SEEDS_AT_ONCE = 20
UNNOTICED, MISUSED = 1, 2
BROKEN_OFF = MISUSED


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


def is_noticed(mutation: Mutation, violation: Violation) -> bool:
    """An exception that nobody foresaw may be a fault of the patch: it counts only where it is what must happen."""
    return violation.invariant == mutation.invariant or violation.invariant not in (UNFORESEEN, SIMULATOR)


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
        if violation is not None and is_noticed(mutation, violation):
            return Caught(mutation.name, violation.invariant, seed)
    return Caught(mutation.name, None, trial.seeds[-1])


def main(arguments: Sequence[str] | None = None) -> int:
    asked = _options(arguments)
    demand_assertions("hunt")
    unknown = [word for word in asked.words if not _with_any((word,))]
    if unknown:
        print(f"hunt: no mutation has {' or '.join(unknown)} in its name: --list has all of them", file=sys.stderr)
        return MISUSED
    wanted = _with_any(asked.words) if asked.words else ALL_MUTATIONS
    if asked.list:
        print(*(mutation.name for mutation in wanted), sep="\n")
    else:
        return _tell(hunt(wanted, asked.seeds, asked.jobs), len(wanted), asked.seeds)
    return 0


def _with_any(words: Sequence[str]) -> list[Mutation]:
    return [each for each in ALL_MUTATIONS if any(word in each.name for word in words)]


def _tell(hunted: Iterator[Caught], count: int, seeds_max: int) -> int:
    """The exit code."""
    told = noticed = 0
    try:
        for caught in hunted:
            print(caught, flush=True)
            told, noticed = told + 1, noticed + (caught.invariant is not None)
    except KeyboardInterrupt:
        print(f"hunt: interrupted after {told} of {counted(count, 'mutation')}, {noticed} noticed", file=sys.stderr)
        return EXIT_INTERRUPTED
    except WorkerEnded as broken:
        print(f"hunt: {broken}. Told of {told} of {counted(count, 'mutation')}, {noticed} noticed", file=sys.stderr)
        return BROKEN_OFF
    print(f"{noticed} of {count} noticed, within {counted(seeds_max, 'seed')}", file=sys.stderr)
    return 0 if noticed == count else UNNOTICED


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.simulation.hunt",
        description="Switches one safeguard of the brokers off at a time, and looks for the first seed with which the"
        " simulator notices: by which invariant, after how many seeds. Exit code 1 says that some went unnoticed, 130"
        " that Ctrl-C ended it before all were looked for, 2 that somebody else ended one of its processes.",
        epilog="example: python -m tests.simulation.hunt --seeds 20 acks=all 'anybody may be elected'",
    )
    parser.add_argument("words", nargs="*", metavar="WORD", help="mutations with any of these in their names; else all")
    parser.add_argument("--list", action="store_true", help="print their names, and hunt for none")
    parser.add_argument("--seeds", type=some, default=500, help="at most for each, from 1 on (%(default)s)")
    parser.add_argument("--jobs", type=some, default=cores(), help="mutations at once (the cores)")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
