"""The runs that `strandline simulate` is asked for: all of them, told as they come, and their total."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator
from contextlib import closing, nullcontext

from strandline.cli.output import EXIT_FAULT, EXIT_INTERRUPTED, EXIT_VOID, counted
from strandline.cli.progress_line import OutputPast, ProgressLine
from strandline.cli.simulation_tellers import JsonTeller, Teller, TextTeller
from strandline.cli.simulation_total import Total
from strandline.cli.watched_runs import WatchedRuns
from strandline.simulation.many_runs import run_all
from strandline.simulation.options import Options
from strandline.simulation.runs import Outcome

LINES_FOR_SEEDS_MAX = 10  # of more than that only the failures are told


class SimulatedRuns:
    def __init__(self, output_format: str, seeds: int, jobs: int, *, replay: bool) -> None:
        self._seeds, self._jobs, self._replay = seeds, jobs, replay
        self._total = Total()
        self._watched = WatchedRuns()
        self._progress = ProgressLine(self._how_far)
        self._output = OutputPast(output_format, self._progress)
        self._is_live = replay and jobs == 1 and not self._output.is_json
        if self._is_live:
            self._watched.replay_to = self._output

    def exit_code_of(self, wanted: Iterator[Options]) -> int:
        teller, is_interrupted = self._teller(), False
        try:
            # What is printed while it happens is progress enough.
            with nullcontext() if self._is_live else self._progress, closing(self._outcomes(wanted)) as outcomes:
                for outcome in outcomes:
                    self._total.add(outcome)
                    teller.tell(outcome)
                    self._output.flush()
        except KeyboardInterrupt:
            is_interrupted = True
        teller.end(self._total)
        if is_interrupted:
            self._output.note(f"strandline: interrupted after {self._total.seeds:,} of {counted(self._seeds, 'seed')}")
            return EXIT_INTERRUPTED
        return self._judged()

    def _teller(self) -> Teller:
        if self._output.is_json:
            return JsonTeller(self._output, replay=self._replay)
        each = self._replay or self._seeds <= LINES_FOR_SEEDS_MAX
        return TextTeller(self._output, replay=self._replay and not self._is_live, each=each)

    def _outcomes(self, wanted: Iterator[Options]) -> Generator[Outcome, None, None]:
        keep = self._replay and not self._is_live
        if self._jobs > 1:
            return run_all(wanted, self._jobs, whole_transcript=keep)
        return (self._watched.run(options, whole_transcript=keep) for options in wanted)

    def _judged(self) -> int:
        if self._total.violations:
            return EXIT_FAULT
        if not self._total.is_void:
            return 0
        self._output.note("strandline: void: nothing was acknowledged in any run, so nothing is shown")
        return EXIT_VOID

    def _how_far(self) -> str:
        total = self._total
        return (
            f"{total.seeds:,} of {counted(self._seeds, 'seed')}, {total.hours:.2f} hours simulated,"
            f" {counted(total.violations, 'violation')}, {time.monotonic() - total.began.clock_s:.0f} s{self._watched}"
        )
