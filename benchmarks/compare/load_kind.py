"""What a load is: a name, the brokers it wants, and one turn of it on one side."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from benchmarks.compare.bench import Bench, Scale

Measured = dict[str, float]  # a figure for each metric (`metrics.METRICS`)


class Stage(Enum):
    ALONE = "one broker"
    IN_THREES = "three brokers and ZooKeeper"
    UNSTARTED = "nothing runs yet"

    @property
    def brokers(self) -> int:
        """Of one side."""
        return 3 if self is Stage.IN_THREES else 1


@dataclass(frozen=True, kw_only=True)
class Load:
    name: str  # for --only
    title: str
    stage: Stage = field(default=Stage.ALONE)
    note: str = field(default="")  # what must be said beside its figures
    rounds_max: int = field(default=100)  # for those whose turns take long

    def title_at(self, scale: Scale) -> str:
        """What is told of a turn of it. A quick run may do less than the title says."""
        del scale
        return self.title

    def prepare(self, bench: Bench) -> None:
        """Once on each side, before the first turn."""

    def turn(self, bench: Bench) -> Measured:
        raise AssertionError(f"{self.name} has no turn on {bench.side.name}")
