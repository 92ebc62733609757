"""The plainest way to a failure that was found: without faults if it does without, else with as few kinds as it takes.

Fewer kinds of faults count, not fewer steps: with fewer to choose from the enemy does other things, and it may take
longer until the same invariant fails. A kind that was needed beside others is tried again without them, until there is
none that can be left out. What remains is run up to the step that failed, where every step before it held. A run may
take half a minute, and there are many kinds: when the time is up, or there were enough tries, it is as plain as it has
become.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

from strandline.simulation.runs import Outcome, run

SEARCH_S_MAX = 180.0
TRIES_MAX = 60
Tell = Callable[[str], object]
Kinds = tuple[str, ...]


class SearchInterrupted(KeyboardInterrupt):
    """By Ctrl-C: what was found until then is not lost with it."""

    def __init__(self, found: Outcome) -> None:
        super().__init__()
        self.found = found


def plainest(
    failed: Outcome,
    tell: Tell = lambda _: None,
    *,
    seconds_max: float = SEARCH_S_MAX,
    tries_max: int = TRIES_MAX,
) -> Outcome:
    """The same invariant fails in it. Raises `SearchInterrupted`."""
    search = Search(failed, tell, time.monotonic() + seconds_max, tries_max)
    try:
        search.run()
        return _up_to_its_failure(search.found)
    except KeyboardInterrupt:
        raise SearchInterrupted(search.found) from None


def _up_to_its_failure(found: Outcome) -> Outcome:
    assert found.violation is not None
    shown = run(replace(found.options, steps_max=found.violation.step), whole_transcript=True)
    # What is found where nothing happens any more is found after the last step.
    return shown if shown.violation is not None else run(found.options, whole_transcript=True)


class Search:
    def __init__(self, failed: Outcome, tell: Tell, deadline_s: float, tries_max: int) -> None:
        self._failed = failed
        self.found = failed  # the plainest so far
        self._tell = tell
        self._deadline_s = deadline_s
        self._tries_max = tries_max
        self._tried: set[Kinds] = set()
        self._needed: set[str] = set()  # beside others, so far

    def run(self) -> None:
        if self._failed.options.faults == ():
            return
        plainer = self._tried_without((), "any fault") or self._plainer_than(self._failed)
        while plainer is not None:
            self.found = plainer
            plainer = self._plainer_than(plainer)

    def _plainer_than(self, found: Outcome) -> Outcome | None:
        for kinds, left_out in self._with_fewer(found):
            if kinds in self._tried:
                continue
            if self._is_over():
                return None
            plainer = self._tried_without(kinds, left_out)
            if plainer is not None:
                return plainer
            self._needed.add(left_out)
        return None

    def _with_fewer(self, found: Outcome) -> Iterator[tuple[Kinds, str]]:
        """Kinds of faults, and what is left out: what never struck, then each kind, the most promising first."""
        named = found.options.faults
        kinds = tuple(found.faults) if named is None else named
        struck = tuple(kind for kind in kinds if found.faults[kind])
        if struck and struck != named:
            yield struck, "those that never struck"
        for kind in sorted(kinds, key=self._needed.__contains__):
            fewer = tuple(each for each in kinds if each != kind)
            if fewer:
                yield fewer, kind

    def _is_over(self) -> bool:
        tries = len(self._tried)
        if tries >= self._tries_max:
            self._tell(f"no more than {tries:,} runs are tried: there may be a kind of fault that it does not need")
        elif time.monotonic() > self._deadline_s:
            self._tell("there is no more time: there may be a kind of fault that it does not need")
        else:
            return False
        return True

    def _tried_without(self, kinds: Kinds, left_out: str) -> Outcome | None:
        assert self._failed.violation is not None
        self._tried.add(kinds)
        self._tell(f"try {len(self._tried)}: without {left_out}")
        outcome = run(replace(self._failed.options, faults=kinds))
        if outcome.violation is None or outcome.violation.invariant != self._failed.violation.invariant:
            return None
        self._tell(f"fails without {left_out} too, after {outcome.steps:,} steps")
        return outcome
