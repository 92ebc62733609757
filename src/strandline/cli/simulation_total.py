"""The total of any number of simulated runs: none of them is kept."""

from __future__ import annotations

import os
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from strandline.cli.output import counted
from strandline.simulation.runs import Outcome

MS_PER_HOUR = 3_600_000
OTHER_RUNS = "try another --load, more --brokers, --seeds or --seconds"
OTHER_SCENARIO = "try another load or seed in its file, more brokers or seconds"


class Spent(NamedTuple):
    clock_s: float
    core_s: float


def _spent() -> Spent:
    """By this process, and by those that it started and that have ended."""
    return Spent(time.monotonic(), sum(os.times()[:4]))


@dataclass(slots=True)
class Total:
    began: Spent = field(default_factory=_spent)
    seeds: int = 0
    cut: int = 0  # by --steps
    simulated_ms: int = 0
    busy_ms: int = 0
    steps: int = 0
    acknowledged: int = 0
    read: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    named_faults: tuple[str, ...] = ()  # by --faults, or by the file of a scenario
    hint: str = OTHER_RUNS  # where these would strike
    violations: int = 0
    is_interrupted: bool = False  # by Ctrl-C, before the last seed
    is_broken_off: bool = False  # since a process that worked was ended by somebody else

    def add(self, outcome: Outcome) -> None:
        self.seeds += 1
        self.cut += outcome.is_cut
        self.simulated_ms += outcome.simulated_ms
        self.busy_ms += outcome.busy_ms
        self.steps += outcome.steps
        self.acknowledged += outcome.acknowledged
        self.read += outcome.read
        self.faults += outcome.faults
        self.violations += outcome.violation is not None

    @property
    def hours(self) -> float:
        return self.simulated_ms / MS_PER_HOUR

    @property
    def never_struck(self) -> tuple[str, ...]:
        """Of the faults that were asked for: some loads give some of them nothing to strike at."""
        return tuple(name for name in self.named_faults if not self.faults[name])

    @property
    def is_void(self) -> bool:
        return self.why_void is not None

    @property
    def why_void(self) -> str | None:
        """Where nothing was acknowledged nothing can be lost; what was asked for and never struck was not survived."""
        if self.violations:
            return None
        if self.acknowledged == 0:
            return "nothing was acknowledged in any run, so nothing is shown"
        if self.named_faults and self.never_struck == self.named_faults:
            return f"{' and '.join(self.never_struck)} never struck in any run, so nothing is shown: {self.hint}"
        return None

    def __str__(self) -> str:
        by_clock, by_core = (
            self.hours * 60 / max(after - before, 0.01) for before, after in zip(self.began, _spent(), strict=True)
        )
        return (
            f"{counted(self.seeds, 'seed')}{self._cut_text()}, {self.hours:.2f} hours simulated ({by_clock:.1f} in a"
            f" minute of the clock, {by_core:.1f} of a core), {self.busy_ms / MS_PER_HOUR:.2f} of them busy,"
            f" {counted(self.acknowledged, 'write')} acknowledged, {counted(self.faults.total(), 'fault')},"
            f" {counted(self.violations, 'violation')}"
        )

    def _cut_text(self) -> str:
        if not self.cut:
            return ""
        return " (cut by --steps)" if self.seeds == 1 else f" ({self.cut:,} cut by --steps)"

    def as_fields(self) -> dict[str, Any]:
        return {
            "seeds": self.seeds,
            "cut": self.cut,
            "steps": self.steps,
            "simulated_seconds": self.simulated_ms / 1000,
            "busy_seconds": self.busy_ms / 1000,
            "acknowledged": self.acknowledged,
            "read": self.read,
            "faults": dict(sorted(self.faults.items())),
            "never_struck": self.never_struck,
            "violations": self.violations,
            "void": self.is_void,
            "interrupted": self.is_interrupted,
            "broken_off": self.is_broken_off,
        }
