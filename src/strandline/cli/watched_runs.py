"""Simulated runs that somebody looks at while they go: how far their clock is, and every line that happens in one."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable

from strandline.cli.output import CannotWrite, Output
from strandline.simulation.options import Options
from strandline.simulation.runs import Outcome, run
from strandline.simulation.simulation import Simulation

US_PER_S = 1_000_000


class WatchedRuns:
    """In this process, one after another."""

    def __init__(self) -> None:
        self.replay_to: Output | None = None
        self._simulation: Callable[[], Simulation | None] = lambda: None
        self._failure: Exception | None = None

    def run(self, options: Options, *, whole_transcript: bool = False) -> Outcome:
        outcome = run(options, whole_transcript=whole_transcript, began=self._begin)
        if self._failure is not None:
            raise self._failure
        return outcome

    def _begin(self, simulation: Simulation) -> None:
        self._simulation = weakref.ref(simulation)
        if self.replay_to is not None:
            simulation.world.listener = self._print

    def _print(self, line: str) -> None:
        """A broker that is at something would take a pipe that breaks here for its own disk: it is told later."""
        simulation = self._simulation()
        assert self.replay_to is not None
        assert simulation is not None
        try:
            self.replay_to.line(line)
            if sys.stdout.isatty():
                self.replay_to.flush()
        except (OSError, CannotWrite) as failure:
            self._failure = _without_frames(failure)
            simulation.world.listener, simulation.steps_max = None, 0

    def __str__(self) -> str:
        """How far the clock of the one that is going is."""
        simulation = self._simulation()
        if simulation is None:
            return ""
        options = simulation.options
        now_s = min(simulation.world.now_us // US_PER_S, options.seconds)
        return f"; seed {options.seed} at {now_s:,} of {options.seconds:,} s"


def _without_frames(failure: Exception) -> Exception:
    """They hold the simulation. What that has begun goes with it, and is to be heard by nobody (`dying_quietly`)."""
    failure.__cause__ = failure.__context__ = None
    return failure.with_traceback(None)
