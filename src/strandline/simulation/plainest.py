"""The plainest way to a failure that was found: without faults if it does without, else with as few kinds as it takes.

What remains is run up to the step that failed, where every step before it held. A run may take half a minute, and there
are many kinds: when the time is up it is as plain as it has become.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from strandline.simulation.runs import Outcome, run

SEARCH_S_MAX = 180.0
Tell = Callable[[str], object]


def plainest(failed: Outcome, tell: Tell = lambda _: None, *, seconds_max: float = SEARCH_S_MAX) -> Outcome:
    """The same invariant fails in it."""
    deadline_s = time.monotonic() + seconds_max
    tell("without any fault")
    found = _fails_with(failed, (), "any fault", tell) or _with_fewer_faults(failed, tell, deadline_s)
    assert found.violation is not None
    shown = run(replace(found.options, steps_max=found.violation.step), whole_transcript=True)
    # What is found where nothing happens any more is found after the last step.
    return shown if shown.violation is not None else run(found.options, whole_transcript=True)


def _with_fewer_faults(failed: Outcome, tell: Tell, deadline_s: float) -> Outcome:
    found, kinds = failed, list(failed.faults)
    for number, kind in enumerate(failed.faults, 1):
        fewer = tuple(each for each in kinds if each != kind)
        if not fewer:
            break  # it was tried without any
        if time.monotonic() > deadline_s:
            tell(f"{number - 1} of {len(failed.faults)} kinds of faults were left out in turn: there is no more time")
            break
        tell(f"{number} of {len(failed.faults)}: without {kind}")
        plainer = _fails_with(failed, fewer, kind, tell)
        if plainer is not None:
            found, kinds = plainer, list(fewer)
    return found


def _fails_with(failed: Outcome, faults: tuple[str, ...], left_out: str, tell: Tell) -> Outcome | None:
    assert failed.violation is not None
    outcome = run(replace(failed.options, faults=faults))
    if outcome.violation is None or outcome.violation.invariant != failed.violation.invariant:
        return None
    tell(f"fails without {left_out} too, after {outcome.steps:,} steps")
    return outcome
