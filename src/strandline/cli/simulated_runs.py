"""The runs that `strandline simulate` is asked for: all of them, told as they come, and their total."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator
from contextlib import closing, nullcontext
from dataclasses import dataclass, replace

from strandline.cli.output import EXIT_FAULT, EXIT_INTERRUPTED, EXIT_UNREADABLE, EXIT_VOID, counted
from strandline.cli.progress_line import OutputPast, ProgressLine
from strandline.cli.scenario_saving import Saving
from strandline.cli.simulation_tellers import JsonTeller, Teller, TextTeller
from strandline.cli.simulation_total import OTHER_RUNS, OTHER_SCENARIO, Total
from strandline.cli.watched_runs import WatchedRuns
from strandline.simulation.many_runs import WorkerEnded, run_all
from strandline.simulation.options import Options
from strandline.simulation.plainest import SearchInterrupted, plainest
from strandline.simulation.runs import Outcome
from strandline.simulation.scenario import Scenario

LINES_FOR_SEEDS_MAX = 10  # of more than that only the failures are told


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What is to be done with the runs."""

    output_format: str
    replay: bool
    seeds: int = 1
    jobs: int = 1
    named_faults: tuple[str, ...] = ()  # by --faults or the file, so that somebody waits for them
    save_path: str | None = None  # for the first that fails, or the only one
    kept: tuple[str, Scenario] | None = None  # the file that the one run is from


class SimulatedRuns:
    def __init__(self, wishes: Wishes) -> None:
        self._wishes = wishes
        hint = OTHER_RUNS if wishes.kept is None else OTHER_SCENARIO
        self._total = Total(named_faults=wishes.named_faults, hint=hint)
        self._watched = WatchedRuns()
        self._progress = ProgressLine(self._how_far)
        self._output = OutputPast(wishes.output_format, self._progress)
        self._is_live = wishes.replay and wishes.jobs == 1 and not self._output.is_json
        self._keeps_transcript = wishes.replay and not self._is_live
        if self._is_live:
            self._watched.replay_to = self._output
        self._teller = self._suitable_teller()
        self._saving = Saving(wishes.save_path, self._output.note)
        self._broken: WorkerEnded | None = None

    def exit_code_of(self, wanted: Iterator[Options]) -> int:
        try:
            # What is printed while it happens is progress enough.
            with nullcontext() if self._is_live else self._progress, closing(self._outcomes(wanted)) as outcomes:
                self._take_all(outcomes)
        except KeyboardInterrupt:
            self._total.is_interrupted = True
        self._teller.end(self._total)
        if self._total.is_interrupted:
            self._output.note(
                f"strandline: interrupted after {self._total.seeds:,} of {counted(self._wishes.seeds, 'seed')}"
            )
            return EXIT_INTERRUPTED
        if self._broken is not None:
            self._output.note(f"strandline: {self._broken} (--jobs). Not finished: {_seeds_without(self._broken)}")
            return EXIT_UNREADABLE
        return self._judged()

    def _take_all(self, outcomes: Iterator[Outcome]) -> None:
        try:
            for outcome in outcomes:
                self._take(outcome)
                self._output.flush()
        except WorkerEnded as broken:
            self._broken, self._total.is_broken_off = broken, True
            for outcome in broken.results:
                self._take(outcome)

    def _suitable_teller(self) -> Teller:
        if self._output.is_json:
            return JsonTeller(self._output, replay=self._wishes.replay)
        each = self._wishes.replay or self._wishes.seeds <= LINES_FOR_SEEDS_MAX
        return TextTeller(self._output, replay=self._keeps_transcript, each=each)

    def _outcomes(self, wanted: Iterator[Options]) -> Generator[Outcome, None, None]:
        keep = self._keeps_transcript
        if self._wishes.jobs > 1:
            return run_all(wanted, self._wishes.jobs, whole_transcript=keep)
        return (self._watched.run(options, whole_transcript=keep) for options in wanted)

    def _take(self, outcome: Outcome) -> None:
        self._total.add(outcome)
        self._teller.tell(outcome)
        if self._wishes.kept is not None:
            told = outcome.without_transcript() if self._is_live else outcome
            self._teller.tell_scenario(*self._wishes.kept, told, is_void=self._total.is_void)
        elif outcome.violation is not None:
            self._make_plainer(outcome)
        elif self._wishes.seeds == 1 and not self._total.is_void:
            self._saving.save(outcome)

    def _make_plainer(self, outcome: Outcome) -> None:
        try:
            self._tell_plainest(plainest(outcome, lambda line: self._output.note(f"  {line}")), outcome)
        except SearchInterrupted as interrupted:
            self._tell_plainest(interrupted.found, outcome, is_interrupted=True)
            raise

    def _tell_plainest(self, shown: Outcome, outcome: Outcome, *, is_interrupted: bool = False) -> None:
        was_printed = self._wishes.replay and not self._output.is_json and shown.fingerprint == outcome.fingerprint
        told = shown.without_transcript() if was_printed else shown
        self._teller.tell_shortest(told, is_interrupted=is_interrupted)
        # Not cut where it failed: once that is mended, the rest is to be looked at, too.
        self._saving.save(replace(shown, options=replace(shown.options, steps_max=outcome.options.steps_max)))

    def _judged(self) -> int:
        if self._total.violations:
            return EXIT_FAULT
        if self._total.is_void:
            self._output.note(f"strandline: void: {self._total.why_void}")
            self._tell_that_nothing_is_saved("void runs are not kept, so {path} is not written")
            return EXIT_VOID
        if self._total.never_struck:
            self._output.note(f"strandline: {' and '.join(self._total.never_struck)} never struck: {self._total.hint}")
        if self._saving.has_failed:
            return EXIT_UNREADABLE
        self._tell_that_nothing_is_saved(
            "no run failed, so {path} is not written: to save a sound one, ask for its seed alone"
        )
        return 0

    def _tell_that_nothing_is_saved(self, why: str) -> None:
        if self._saving.is_due:
            self._output.note(f"strandline: {why.format(path=self._saving.path)}")

    def _how_far(self) -> str:
        total = self._total
        return (
            f"{total.seeds:,} of {counted(self._wishes.seeds, 'seed')}, {total.hours:.2f} hours simulated,"
            f" {counted(total.violations, 'violation')}, {time.monotonic() - total.began.clock_s:.0f} s{self._watched}"
        )


def _seeds_without(broken: WorkerEnded) -> str:
    """There may be any number of those that nobody has begun."""
    seeds = [str(options.seed) for options in broken.unfinished]
    following = next(broken.others, None)
    beyond = [] if following is None else [f"all from {following.seed} on"]
    named = ", ".join([*seeds, *beyond])
    return f"seed {named}" if len(seeds) == 1 and not beyond else f"seeds {named}"
