"""Seeds in the simulator, and the safeguards that it must miss when they are not there."""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from collections.abc import Sequence

from tests.proof.results import Result, current_commit, result
from tests.simulation.hunt import Caught, hunt
from tests.simulation.load_mutations import ALL_MUTATIONS

from strandline.cli.output import counted
from strandline.simulation.loads import loads_of
from strandline.simulation.many_runs import WorkerEnded, cores, run_all
from strandline.simulation.nemesis import FAULTS
from strandline.simulation.options import Options
from strandline.simulation.runs import Outcome

MS_PER_HOUR = 3_600_000
EVERY = 50
SEEDS_FOR_ALL_FAULTS = 200  # from so many on each kind of fault has struck, or something is wrong with it


def prove_seeds(seeds: int, first: int) -> Result:
    began_s, began_core_s, commit = time.monotonic(), _core_s(), current_commit()
    outcomes: list[Outcome] = []
    broken_off: list[str] = []
    print(f"{counted(seeds, 'seed')} from {first} on", file=sys.stderr, flush=True)
    wanted = [Options(seed=seed, load=loads_of(seed)) for seed in range(first, first + seeds)]
    try:
        for outcome in run_all(wanted, cores()):
            outcomes.append(outcome)
            if outcome.violation is not None:
                print(f"VIOLATION: {outcome.command}: {outcome.violation}", flush=True)
            if len(outcomes) % EVERY == 0:
                _tell(outcomes, began_s)
    except WorkerEnded as broken:
        outcomes += broken.results
        broken_off.append(f"only {len(outcomes)} of {counted(seeds, 'seed')} ended: {broken}")
    seconds = time.monotonic() - began_s
    violations = [f"{each.command}: {each.violation}" for each in outcomes if each.violation is not None]
    hours = _hours(outcomes)
    busy_hours = sum(getattr(each, "busy_ms", 0) for each in outcomes) / MS_PER_HOUR
    faults: Counter[str] = sum((each.faults for each in outcomes), Counter())
    figures = {
        "seeds": len(outcomes),
        "first_seed": first,
        "simulated_hours": round(hours, 2),
        "busy_hours": round(busy_hours, 2),
        "hours_per_minute": round(hours * 60 / seconds, 2),
        "hours_per_core_minute": round(hours * 60 / max(_core_s() - began_core_s, 0.01), 2),
        "steps": sum(each.steps for each in outcomes),
        "acknowledged": sum(each.acknowledged for each in outcomes),
        "read": sum(each.read for each in outcomes),
        "faults": dict(sorted(faults.items())),
        "violations": len(violations),
    }
    command = f"strandline simulate --seed {first} --seeds {seeds}"
    problems = [*violations, *broken_off, *_why_void(outcomes, faults)]
    return result("seeds", commit=commit, seconds=seconds, figures=figures, command=command, problems=problems)


def _why_void(outcomes: Sequence[Outcome], faults: Counter[str]) -> list[str]:
    """A rare kind of fault may be missing in a few runs. Those that strike only where they are named are not missed."""
    reasons = [] if any(each.acknowledged for each in outcomes) else ["void: nothing was acknowledged in any run"]
    if len(outcomes) >= SEEDS_FOR_ALL_FAULTS:
        never = [name for name in FAULTS if not faults[name]]
        reasons += [f"void: {name} never struck in {counted(len(outcomes), 'seed')}" for name in never]
    return reasons


def prove_mutations(seeds_max: int) -> Result:
    began_s, commit = time.monotonic(), current_commit()
    caught: list[Caught] = []
    broken_off: list[str] = []
    try:
        for each in hunt(ALL_MUTATIONS, seeds_max, cores()):
            caught.append(each)
            print(each, flush=True)
    except WorkerEnded as broken:
        broken_off.append(f"only {len(caught)} of {counted(len(ALL_MUTATIONS), 'mutation')} were tried: {broken}")
    names = [mutation.name for mutation in ALL_MUTATIONS]
    caught.sort(key=lambda each: names.index(each.name))
    missed = [each.name for each in caught if each.invariant is None]
    figures = {
        "mutations": len(caught),
        "caught": len(caught) - len(missed),
        "seeds_max": seeds_max,
        "table": [[each.name, each.invariant or "nobody", each.seeds] for each in caught],
    }
    problems = [*broken_off, *(f"nobody noticed within {counted(seeds_max, 'seed')}: {name}" for name in missed)]
    seconds = time.monotonic() - began_s
    command = f"python -m tests.simulation.hunt --seeds {seeds_max}"
    return result("mutations", commit=commit, seconds=seconds, figures=figures, command=command, problems=problems)


def _hours(outcomes: Sequence[Outcome]) -> float:
    return sum(each.simulated_ms for each in outcomes) / MS_PER_HOUR


def _tell(outcomes: Sequence[Outcome], began_s: float) -> None:
    rate = _hours(outcomes) * 60 / (time.monotonic() - began_s)
    print(f"{len(outcomes):,} seeds, {_hours(outcomes):.1f} hours, {rate:.1f} in a minute", file=sys.stderr, flush=True)


def _core_s() -> float:
    return sum(os.times()[:4])
