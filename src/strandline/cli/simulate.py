"""`strandline simulate`: a whole cluster in one thread under one seed, with faults, and checks."""

from __future__ import annotations

from contextlib import closing

import click

from strandline.cli.output import EXIT_FAULT, EXIT_INTERRUPTED, Output, ToolCommand, counted
from strandline.cli.simulation_tellers import JsonTeller, Teller, TextTeller, Total
from strandline.simulation.loads import LOADS, loads_of
from strandline.simulation.many_runs import cores, run_all
from strandline.simulation.nemesis import FAULTS, FAULTS_BY_NAME
from strandline.simulation.options import Options

LINES_FOR_SEEDS_MAX = 10  # of more than that only the failures are told


def _fault_names(_: click.Context, __: click.Parameter, value: str | None) -> tuple[str, ...] | None:
    return None if value is None else _names_among((*FAULTS, *FAULTS_BY_NAME), value)


def _load_names(_: click.Context, __: click.Parameter, value: str | None) -> tuple[str, ...] | None:
    return None if value is None else _names_among(LOADS, value)


def _names_among(known: tuple[str, ...], value: str) -> tuple[str, ...]:
    names = tuple(name for name in value.split(",") if name)
    unknown = [name for name in names if name not in known]
    if unknown:
        raise click.BadParameter(f"{', '.join(unknown)}: there are {', '.join(known)}")
    return names


@click.command(cls=ToolCommand, short_help="Run a whole cluster in one thread, with faults; check every step.")
@click.option("--seed", type=int, default=1, show_default=True, help="What decides everything that happens.")
@click.option("--seeds", type=click.IntRange(1), default=1, show_default=True, help="So many runs, from --seed on.")
@click.option("--brokers", type=click.IntRange(1, 9), default=3, show_default=True)
@click.option("--seconds", type=click.IntRange(1), default=1200, show_default=True, help="Of them 120 are busy.")
@click.option("--steps", "steps_max", type=click.IntRange(1), help="Stop after so many steps.")
@click.option(
    "--faults",
    callback=_fault_names,
    metavar="NAME,…",
    help=f"Only these of: {', '.join(FAULTS)}; and, only where named, {', '.join(FAULTS_BY_NAME)}.",
)
@click.option(
    "--load", callback=_load_names, metavar="NAME,…", help=f"These of: {', '.join(LOADS)}; else the seed draws some."
)
@click.option("--jobs", type=click.IntRange(1), help="So many runs at once.  [default: the cores]")
@click.option("--replay", is_flag=True, help="Print everything that happens.")
@click.option(
    "--format",
    "output_format",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="json prints one document, at the end.",
)
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
    output_format: str,
) -> None:
    """Run a whole cluster in one thread, with faults; check every step.

    The brokers are the real ones; clock, network, disks and metadata store are simulated, and the same seed is the same
    run on any machine. A run that fails is run again with fewer kinds of faults, and what happened is printed. Exit
    code 1 says that an invariant did not hold, 130 that Ctrl-C ended it before the last seed.
    """
    wanted = (
        Options(
            seed=each,
            brokers=brokers,
            seconds=seconds,
            faults=faults,
            load=load or loads_of(each),
            steps_max=steps_max,
        )
        for each in range(seed, seed + seeds)
    )
    output, total = Output(output_format), Total()
    teller: Teller = (
        JsonTeller(output, replay=replay)
        if output.is_json
        else TextTeller(output, replay=replay, each=seeds <= LINES_FOR_SEEDS_MAX)
    )
    is_interrupted = False
    try:
        with closing(run_all(wanted, jobs or cores(), whole_transcript=replay)) as outcomes:
            for outcome in outcomes:
                total.add(outcome)
                teller.tell(outcome)
                output.flush()
    except KeyboardInterrupt:
        is_interrupted = True
    teller.end(total)
    if is_interrupted:
        output.note(f"strandline: interrupted after {total.seeds:,} of {counted(seeds, 'seed')}")
    if is_interrupted or total.violations:
        click.get_current_context().exit(EXIT_INTERRUPTED if is_interrupted else EXIT_FAULT)
