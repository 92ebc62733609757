"""From turns to lines of the table: medians, and by how much we are better."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median, quantiles

from benchmarks.compare.metrics import METRICS, Metric
from benchmarks.compare.results import Result
from benchmarks.compare.side import OURS, THEIRS

LEAST = 1e-9
EVEN = 0.03  # nearer to each other than this is neither won nor lost


@dataclass(frozen=True, slots=True)
class Line:
    load: str
    title: str
    name: str  # of the metric
    ours: float
    theirs: float
    better_by: float  # 2: half the cost, or twice the rate; below 1 we lose
    spread: float  # half the range between the quartiles, as a part of `better_by`

    @property
    def metric(self) -> Metric:
        return METRICS[self.name]

    @property
    def is_lost(self) -> bool:
        return self.better_by < 1 - EVEN


def lines_of(results: Iterable[Result]) -> list[Line]:
    return [
        _line(result, name)
        for result in results
        if not result.failure
        for name in METRICS
        if name in result.turns[OURS][0]
    ]


def _line(result: Result, name: str) -> Line:
    ours = [turn[name] for turn in result.turns[OURS]]
    theirs = [turn[name] for turn in result.turns[THEIRS]]
    pairs = list(zip(ours, theirs, strict=True))
    if METRICS[name].is_better_larger:
        ratios = [our / max(their, LEAST) for our, their in pairs]
    else:
        ratios = [their / max(our, LEAST) for our, their in pairs]
    return Line(result.name, result.title, name, median(ours), median(theirs), median(ratios), _spread(ratios))


def _spread(values: Sequence[float]) -> float:
    if len(values) < 2:
        return 0.0
    lower, middle, upper = quantiles(values, n=4, method="inclusive")
    return (upper - lower) / 2 / middle if middle else 0.0


def number(value: float) -> str:
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value >= 0.1 else f"{value:.3f}"
