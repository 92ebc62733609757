"""A run from its options to what is to be said of it."""

from __future__ import annotations

import gc
import logging
import sys
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from strandline.simulation.failure import OutOfSteps, Violation
from strandline.simulation.options import Options
from strandline.simulation.simulation import Simulation
from strandline.simulation.unforeseen import blamed

NO_FAULTS = "none"  # for whoever wants a run without
Began = Callable[[Simulation], object]  # for whoever looks on while it runs, and keeps no hold of it


@dataclass(frozen=True, slots=True)
class Outcome:
    options: Options
    fingerprint: str
    steps: int
    simulated_ms: int
    busy_ms: int  # of them: while clients work and faults strike, without quiet times, start and end
    acknowledged: int  # batches with acks=all, and commits of groups
    read: int  # batches
    faults: Counter[str]
    violation: Violation | None = None
    is_cut: bool = False  # by its options, before everything was mended and all had to go on
    transcript: tuple[str, ...] = field(default=(), repr=False)

    @property
    def command(self) -> str:
        """What shows it again."""
        options = self.options
        faults = "" if options.faults is None else f" --faults {','.join(options.faults) or NO_FAULTS}"
        steps = "" if options.steps_max is None else f" --steps {options.steps_max}"
        world = f"--seed {options.seed} --brokers {options.brokers} --seconds {options.seconds}"
        world += f" --load {','.join(options.load)}"
        return f"strandline simulate {world}{faults}{steps}"

    def without_transcript(self) -> Outcome:
        return replace(self, transcript=())


def run(options: Options, *, whole_transcript: bool = False, began: Began | None = None) -> Outcome:
    """Never raises for what it finds."""
    with dying_quietly() as unheard:
        try:
            outcome = _run(options, whole_transcript=whole_transcript, began=began)
        except KeyboardInterrupt:
            outcome = None
        gc.collect()  # nobody has the simulation any more, unless by a weak reference
    if outcome is None or KeyboardInterrupt in unheard:
        raise KeyboardInterrupt
    return outcome


@contextmanager
def dying_quietly() -> Iterator[set[type[BaseException]]]:
    """Brokers that were killed leave procedures that never end; what these say when they go is not heard. An interrupt
    that comes while something goes would be lost with it, so the kinds of all that was not heard are kept."""
    unheard: set[type[BaseException]] = set()
    hook, was_collecting, logger = sys.unraisablehook, gc.isenabled(), logging.getLogger("strandline")
    gc.disable()  # a run is short, and what it leaves goes in one go
    sys.unraisablehook = lambda unraisable: unheard.add(unraisable.exc_type)
    propagate, logger.propagate = logger.propagate, False
    handlers, logger.handlers = logger.handlers, [logging.NullHandler()]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # of those that never began
            yield unheard
    finally:
        sys.unraisablehook, logger.propagate, logger.handlers = hook, propagate, handlers
        if was_collecting:
            gc.enable()


def _run(options: Options, *, whole_transcript: bool, began: Began | None) -> Outcome:
    simulation = Simulation(options, transcript_lines_max=None if whole_transcript else 400)
    if began is not None:
        began(simulation)
    violation, is_cut = None, False
    try:
        simulation.run()
    except Violation as found:
        violation = found.with_traceback(None)
    except OutOfSteps:
        is_cut = True
    except Exception:  # of what looks on, say at a log that cannot be read, or of a broker's callback
        world = simulation.world
        violation = Violation(*blamed(world.acting, traceback.format_exc()), world.steps)
    return _outcome(simulation, violation, is_cut=is_cut)


def _outcome(simulation: Simulation, violation: Violation | None, *, is_cut: bool) -> Outcome:
    options, world = simulation.options, simulation.world
    return Outcome(
        options,
        world.fingerprint,
        world.steps,
        world.now_us // 1000,
        world.seasons.busy_us(world.now_us) // 1000,
        simulation.history.acknowledged_count,
        simulation.history.read_count,
        simulation.nemesis.injected,
        violation,
        is_cut,
        tuple(world.transcript),
    )
