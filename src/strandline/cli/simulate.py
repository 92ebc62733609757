"""`strandline simulate`: a whole cluster in one thread under one seed, with faults, and checks."""

from __future__ import annotations

import os
import time
from collections import Counter
from typing import NamedTuple

import click

from strandline.cli.output import EXIT_FAULT
from strandline.simulation.loads import LOADS, loads_of
from strandline.simulation.many_runs import cores, run_all
from strandline.simulation.nemesis import FAULTS
from strandline.simulation.options import Options
from strandline.simulation.runs import Outcome, plainest

MS_PER_HOUR = 3_600_000
TRANSCRIPT_LINES = 60


class Spent(NamedTuple):
    clock_s: float
    core_s: float


def _spent() -> Spent:
    """By this process, and by those that it started and that have ended."""
    return Spent(time.monotonic(), sum(os.times()[:4]))


def _fault_names(_: click.Context, __: click.Parameter, value: str | None) -> tuple[str, ...] | None:
    return None if value is None else _names_among(FAULTS, value)


def _load_names(_: click.Context, __: click.Parameter, value: str | None) -> tuple[str, ...] | None:
    return None if value is None else _names_among(LOADS, value)


def _names_among(known: tuple[str, ...], value: str) -> tuple[str, ...]:
    names = tuple(name for name in value.split(",") if name)
    unknown = [name for name in names if name not in known]
    if unknown:
        raise click.BadParameter(f"{', '.join(unknown)}: there are {', '.join(known)}")
    return names


@click.command(short_help="Run a whole cluster in one thread, with faults; check every step.")
@click.option("--seed", type=int, default=1, show_default=True, help="What decides everything that happens.")
@click.option("--seeds", type=click.IntRange(1), default=1, show_default=True, help="So many runs, from --seed on.")
@click.option("--brokers", type=click.IntRange(1, 9), default=3, show_default=True)
@click.option("--seconds", type=click.IntRange(1), default=1200, show_default=True, help="Of them 120 are busy.")
@click.option("--steps", "steps_max", type=click.IntRange(1), help="Stop after so many steps.")
@click.option("--faults", callback=_fault_names, metavar="NAME,…", help=f"Only these of: {', '.join(FAULTS)}.")
@click.option(
    "--load", callback=_load_names, metavar="NAME,…", help=f"These of: {', '.join(LOADS)}; else the seed draws some."
)
@click.option("--jobs", type=click.IntRange(1), help="So many runs at once.  [default: the cores]")
@click.option("--replay", is_flag=True, help="Print everything that happens.")
def simulate(
    seed: int,
    seeds: int,
    brokers: int,
    seconds: int,
    steps_max: int | None,
    faults: tuple[str, ...] | None,
    load: tuple[str, ...] | None,
    jobs: int | None,
    replay: bool,
) -> None:
    """Run a whole cluster in one thread, with faults; check every step.

    The brokers are the real ones; clock, network, disks and metadata store are simulated, and the same seed is the same
    run on any machine. A run that fails is run again with fewer kinds of faults, and what happened is printed. Exit
    code 1 says that an invariant did not hold.
    """
    began = _spent()
    total: list[Outcome] = []
    wanted = [
        Options(
            seed=each,
            brokers=brokers,
            seconds=seconds,
            faults=faults,
            load=load or loads_of(each),
            steps_max=steps_max,
        )
        for each in range(seed, seed + seeds)
    ]
    for outcome in run_all(wanted, jobs or cores(), whole_transcript=replay):
        total.append(outcome)
        if replay:
            click.echo("\n".join(outcome.transcript))
        if outcome.violation is not None:
            _tell_failure(outcome)
        elif seeds <= 10 or replay:
            click.echo(_line(outcome))
    _tell_total(total, began)
    if any(outcome.violation is not None for outcome in total):
        click.get_current_context().exit(EXIT_FAULT)


def _line(outcome: Outcome) -> str:
    faults = ", ".join(f"{count} {name}" for name, count in sorted(outcome.faults.items()))
    return (
        f"seed {outcome.options.seed}: {outcome.steps} steps, {outcome.simulated_ms / 1000:.0f} s simulated,"
        f" {outcome.acknowledged} acknowledged, {outcome.read} read; {faults or 'no faults'}; {outcome.fingerprint}"
    )


def _tell_failure(outcome: Outcome) -> None:
    click.echo(f"{_line(outcome)}\n{outcome.violation}")
    shown = plainest(outcome, lambda line: click.echo(f"  {line}", err=True))
    click.echo(f"\nThe shortest way there: {shown.command} --steps {shown.steps}\n{shown.violation}\n")
    click.echo("\n".join(shown.transcript[-TRANSCRIPT_LINES:]))


def _tell_total(total: list[Outcome], began: Spent) -> None:
    now = _spent()
    hours = sum(outcome.simulated_ms for outcome in total) / MS_PER_HOUR
    faults: Counter[str] = sum((outcome.faults for outcome in total), Counter())
    violations = sum(outcome.violation is not None for outcome in total)
    by_clock, by_core = (hours * 60 / max(after - before, 0.01) for before, after in zip(began, now, strict=True))
    click.echo(
        f"{len(total)} seeds, {hours:.2f} hours simulated ({by_clock:.1f} in a minute of the clock, {by_core:.1f} of a"
        f" core), {sum(outcome.acknowledged for outcome in total)} acknowledged, {faults.total()} faults,"
        f" {violations} violations"
    )
