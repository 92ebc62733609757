"""A run from its options to what is to be said of it, and the plainest way to a failure that was found."""

from __future__ import annotations

import gc
import logging
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from strandline.simulation.failure import OutOfSteps, Violation
from strandline.simulation.options import Options
from strandline.simulation.simulation import Simulation

PLAINEST_S_MAX = 180.0


@dataclass(frozen=True, slots=True)
class Outcome:
    options: Options
    fingerprint: str
    steps: int
    simulated_ms: int
    acknowledged: int
    read: int
    faults: Counter[str]
    violation: Violation | None = None
    transcript: tuple[str, ...] = field(default=(), repr=False)

    @property
    def command(self) -> str:
        """What shows it again."""
        options = self.options
        faults = "" if options.faults is None else f" --faults {','.join(options.faults)}"
        world = f"--seed {options.seed} --brokers {options.brokers} --seconds {options.seconds}"
        world += f" --load {','.join(options.load)}"
        return f"strandline simulate {world}{faults}"

    def without_transcript(self) -> Outcome:
        return replace(self, transcript=())


def run(options: Options, *, whole_transcript: bool = False) -> Outcome:
    """Never raises for what it finds."""
    with dying_quietly():
        outcome = _run(options, whole_transcript=whole_transcript)
        gc.collect()
    return outcome


@contextmanager
def dying_quietly() -> Iterator[None]:
    """Brokers that were killed leave procedures that never end; what these say when they go is not heard."""
    hook, was_collecting, logger = sys.unraisablehook, gc.isenabled(), logging.getLogger("strandline")
    gc.disable()  # a run is short, and what it leaves goes in one go
    sys.unraisablehook = lambda _: None
    propagate, logger.propagate = logger.propagate, False
    handlers, logger.handlers = logger.handlers, [logging.NullHandler()]
    try:
        yield
    finally:
        sys.unraisablehook, logger.propagate, logger.handlers = hook, propagate, handlers
        if was_collecting:
            gc.enable()


def _run(options: Options, *, whole_transcript: bool) -> Outcome:
    simulation = Simulation(options, transcript_lines_max=None if whole_transcript else 400)
    violation = None
    try:
        simulation.run()
    except Violation as found:
        violation = found.with_traceback(None)
    except OutOfSteps:
        pass
    except Exception:  # in what looks on, say at a log that cannot be read
        violation = Violation("Unforeseen", traceback.format_exc(), simulation.world.steps)
    return _outcome(simulation, violation)


def _outcome(simulation: Simulation, violation: Violation | None) -> Outcome:
    options, world = simulation.options, simulation.world
    return Outcome(
        options,
        world.fingerprint,
        world.steps,
        world.now_us // 1000,
        simulation.history.acknowledged_count,
        simulation.history.read_count,
        simulation.nemesis.injected,
        violation,
        tuple(world.transcript),
    )


def plainest(
    failed: Outcome, tell: Callable[[str], object] = lambda _: None, *, seconds_max: float = PLAINEST_S_MAX
) -> Outcome:
    """The same failure with fewer kinds of faults, and after no more steps than it takes.

    Each kind that is not needed goes; what remains is run up to the step that failed, where every step before it held.
    A run may take half a minute, and there are many kinds: after `seconds_max` it is as plain as it has become.
    """
    assert failed.violation is not None
    found, kinds, began_s = failed, list(failed.faults), time.monotonic()
    for number, kind in enumerate(list(kinds), 1):
        if time.monotonic() - began_s > seconds_max:
            tell(f"{number - 1} of {len(failed.faults)} kinds of faults were left out in turn: there is no more time")
            break
        tell(f"{number} of {len(failed.faults)}: without {kind}")
        fewer = tuple(each for each in kinds if each != kind)
        outcome = run(replace(failed.options, faults=fewer)) if fewer else failed
        if outcome.violation is not None and outcome.violation.invariant == failed.violation.invariant and fewer:
            tell(f"fails without {kind} too, after {outcome.steps} steps")
            found, kinds = outcome, list(fewer)
    assert found.violation is not None
    return run(replace(found.options, steps_max=found.violation.step), whole_transcript=True)
