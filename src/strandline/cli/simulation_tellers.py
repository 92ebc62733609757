"""What `strandline simulate` says of its runs: lines while they go, or one document of JSON at the end."""

from __future__ import annotations

import os
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from strandline.cli.output import Output
from strandline.simulation.runs import Outcome, plainest

MS_PER_HOUR = 3_600_000
TRANSCRIPT_LINES = 150  # clients say much


class Spent(NamedTuple):
    clock_s: float
    core_s: float


def _spent() -> Spent:
    """By this process, and by those that it started and that have ended."""
    return Spent(time.monotonic(), sum(os.times()[:4]))


@dataclass(slots=True)
class Total:
    """Of any number of runs: none of them is kept."""

    began: Spent = field(default_factory=_spent)
    seeds: int = 0
    simulated_ms: int = 0
    steps: int = 0
    acknowledged: int = 0
    read: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    violations: int = 0

    def add(self, outcome: Outcome) -> None:
        self.seeds += 1
        self.simulated_ms += outcome.simulated_ms
        self.steps += outcome.steps
        self.acknowledged += outcome.acknowledged
        self.read += outcome.read
        self.faults += outcome.faults
        self.violations += outcome.violation is not None

    def __str__(self) -> str:
        hours, now = self.simulated_ms / MS_PER_HOUR, _spent()
        by_clock, by_core = (
            hours * 60 / max(after - before, 0.01) for before, after in zip(self.began, now, strict=True)
        )
        return (
            f"{self.seeds} seeds, {hours:.2f} hours simulated ({by_clock:.1f} in a minute of the clock, {by_core:.1f}"
            f" of a core), {self.acknowledged} acknowledged, {self.faults.total()} faults,"
            f" {self.violations} violations"
        )

    def as_fields(self) -> dict[str, Any]:
        return {
            "seeds": self.seeds,
            "steps": self.steps,
            "simulated_seconds": self.simulated_ms / 1000,
            "acknowledged": self.acknowledged,
            "read": self.read,
            "faults": dict(sorted(self.faults.items())),
            "violations": self.violations,
        }


class Teller(Protocol):
    def tell(self, outcome: Outcome) -> None: ...

    def end(self, total: Total) -> None: ...


class TextTeller:
    def __init__(self, output: Output, *, replay: bool, each: bool) -> None:
        self._output = output
        self._replay = replay
        self._each = each or replay

    def tell(self, outcome: Outcome) -> None:
        if self._replay:
            self._lines(outcome.transcript)
        if outcome.violation is not None:
            self._tell_failure(outcome)
        elif self._each:
            self._output.line(_line(outcome))

    def _tell_failure(self, outcome: Outcome) -> None:
        self._output.line(f"{_line(outcome)}\n{outcome.violation}")
        shown = _plainest(outcome, self._output)
        self._output.line(f"\nThe shortest way there: {shown.command} --steps {shown.steps}\n{shown.violation}\n")
        self._lines(shown.transcript[-TRANSCRIPT_LINES:])

    def _lines(self, lines: tuple[str, ...]) -> None:
        for line in lines:
            self._output.line(line)

    def end(self, total: Total) -> None:
        self._output.line(str(total))


class JsonTeller:
    """One document, at the end."""

    def __init__(self, output: Output, *, replay: bool) -> None:
        self._output = output
        self._replay = replay
        self._runs: list[dict[str, Any]] = []

    def tell(self, outcome: Outcome) -> None:
        row = _fields(outcome)
        if self._replay:
            row["transcript"] = outcome.transcript
        if outcome.violation is not None:
            shown = _plainest(outcome, self._output)
            row["shortest"] = {
                "command": f"{shown.command} --steps {shown.steps}",
                **_fields(shown),
                "transcript": shown.transcript[-TRANSCRIPT_LINES:],
            }
        self._runs.append(row)

    def end(self, total: Total) -> None:
        self._output.object({"runs": self._runs, "total": total.as_fields()})


def _plainest(outcome: Outcome, output: Output) -> Outcome:
    return plainest(outcome, lambda line: output.note(f"  {line}"))


def _line(outcome: Outcome) -> str:
    faults = ", ".join(f"{count} {name}" for name, count in sorted(outcome.faults.items()))
    return (
        f"seed {outcome.options.seed}: {outcome.steps} steps, {outcome.simulated_ms / 1000:.0f} s simulated,"
        f" {outcome.acknowledged} acknowledged, {outcome.read} read; {faults or 'no faults'}; {outcome.fingerprint}"
    )


def _fields(outcome: Outcome) -> dict[str, Any]:
    violation = outcome.violation
    return {
        "seed": outcome.options.seed,
        "load": outcome.options.load,
        "steps": outcome.steps,
        "simulated_seconds": outcome.simulated_ms / 1000,
        "acknowledged": outcome.acknowledged,
        "read": outcome.read,
        "faults": dict(sorted(outcome.faults.items())),
        "fingerprint": outcome.fingerprint,
        "violation": violation
        and {"invariant": violation.invariant, "sentence": violation.sentence, "step": violation.step},
    }
