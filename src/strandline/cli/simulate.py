"""`strandline simulate`: a whole cluster in one thread under one seed, with faults, and checks."""

from __future__ import annotations

from typing import Any

import click
from click.core import ParameterSource

from strandline.cli.output import ToolCommand
from strandline.cli.scenario_saving import named_file, place_to_save
from strandline.cli.simulated_runs import SimulatedRuns, Wishes
from strandline.simulation.loads import LOADS, loads_of
from strandline.simulation.many_runs import cores
from strandline.simulation.nemesis import FAULTS, FAULTS_BY_NAME
from strandline.simulation.options import BROKERS_MAX, Options
from strandline.simulation.runs import NO_FAULTS
from strandline.simulation.scenario import load_scenario

SECONDS_HELP = (
    "Of work and faults, by the simulated clock; it takes some more to start and to heal. Two minutes are busy; what"
    " there is beyond that lies between, as quiet times without faults."
)
STEPS_HELP = "Cut each run after so many steps: it never comes to where all is mended and progress is demanded."
SAVE_HELP = (
    "Write the first run that fails, as plain as it can be, to this file; if it is the only run, a sound one too."
)
SCENARIO_HELP = "Run the one of this file again; say whether it still fails, as what, and whether it is the same run."
BESIDE_SCENARIO = {"scenario", "replay", "output_format"}


def _fault_names(_: click.Context, __: click.Parameter, given: tuple[str, ...]) -> tuple[str, ...] | None:
    if not given:
        return None
    names = _names_among((*FAULTS, *FAULTS_BY_NAME, NO_FAULTS), given)
    if NO_FAULTS not in names:
        return names
    if len(names) > 1:
        raise click.BadParameter(f"{NO_FAULTS} goes alone, or there would be some")
    return ()


def _load_names(_: click.Context, __: click.Parameter, given: tuple[str, ...]) -> tuple[str, ...] | None:
    return _names_among(LOADS, given) if given else None


def _names_among(known: tuple[str, ...], given: tuple[str, ...]) -> tuple[str, ...]:
    """Each of them once, whether they were given together or one after another."""
    names = tuple(dict.fromkeys(name for part in ",".join(given).split(",") if (name := part.strip())))
    if not names:
        raise click.BadParameter(f"name at least one of {', '.join(known)}")
    unknown = [name for name in names if name not in known]
    if unknown:
        raise click.BadParameter(f"{', '.join(unknown)}: there are {', '.join(known)}")
    return names


@click.command(cls=ToolCommand, short_help="Run a whole cluster in one thread, with faults; check every step.")
@click.option("--seed", type=int, default=1, show_default=True, help="What decides everything that happens.")
@click.option("--seeds", type=click.IntRange(1), default=1, show_default=True, help="So many runs, from --seed on.")
@click.option("--brokers", type=click.IntRange(1, BROKERS_MAX), default=3, show_default=True)
@click.option("--seconds", type=click.IntRange(1), default=1200, show_default=True, help=SECONDS_HELP)
@click.option("--steps", "steps_max", type=click.IntRange(1), help=STEPS_HELP)
@click.option(
    "--faults",
    multiple=True,
    callback=_fault_names,
    metavar="NAME,…",
    help=f"Only these of: {', '.join(FAULTS)}; only where named, {', '.join(FAULTS_BY_NAME)}; or none.",
)
@click.option(
    "--load",
    multiple=True,
    callback=_load_names,
    metavar="NAME,…",
    help=f"These of: {', '.join(LOADS)}; else the seed draws some.",
)
@click.option("--jobs", type=click.IntRange(1), help="So many runs at once.  [default: the cores]")
@click.option("--save", callback=place_to_save, metavar="FILE", help=SAVE_HELP)
@click.option("--scenario", callback=named_file, metavar="FILE", help=SCENARIO_HELP)
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
    save: str | None,
    scenario: str | None,
    replay: bool,
    output_format: str,
) -> None:
    """Run a whole cluster in one thread, with faults; check every step.

    The brokers are the real ones; clock, network, disks and metadata store are simulated, and the same seed is the same
    run on any machine. A run that fails is run again with fewer kinds of faults, and what happened is printed. Exit
    code 1 says that an invariant did not hold, 3 that nothing was acknowledged in any run, or that none of the faults
    that --faults, or the file of --scenario, names ever struck, so that nothing is shown (void), 130 that Ctrl-C ended
    it before the last seed, 2 that somebody else ended one of its processes, that --save could not write its file, or
    that it was misused.
    """
    context = click.get_current_context()
    if scenario is not None:
        _refuse_all_else(context)
        context.exit(_exit_code_of_kept(scenario, output_format=output_format, replay=replay))
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
    wishes = Wishes(
        output_format=output_format,
        replay=replay,
        seeds=seeds,
        jobs=min(jobs or cores(), seeds),
        named_faults=faults or (),
        save_path=save,
    )
    context.exit(SimulatedRuns(wishes).exit_code_of(wanted))


def _refuse_all_else(context: click.Context) -> None:
    for parameter in context.command.params:
        name = parameter.name
        if (
            name is None
            or name in BESIDE_SCENARIO
            or context.get_parameter_source(name) is not ParameterSource.COMMANDLINE
        ):
            continue
        raise click.UsageError(
            f"{parameter.opts[0]} cannot go with --scenario, which runs the one of its file as it was"
        )


def _exit_code_of_kept(path: str, **wishes: Any) -> int:
    scenario = load_scenario(path)
    named_faults = scenario.options.faults or ()
    kept = Wishes(kept=(path, scenario), named_faults=named_faults, **wishes)
    return SimulatedRuns(kept).exit_code_of(iter((scenario.options,)))
