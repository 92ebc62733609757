"""How the cost of a record grows with partitions or segments: the points of the plots, and what they say."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from benchmarks.compare.ratios import Line, number

METRIC = "cpu_us_per_record"
FLAT = 0.1  # a tenth more or less than at the first point


@dataclass(frozen=True, slots=True)
class Growth:
    what: str  # is counted along the axis
    pattern: str  # of the loads' names
    does: str  # what is done with a record


GROWTHS = {
    "growth-partitions.png": Growth("partitions", r"partitions-(\d+)", "producing"),
    "growth-segments.png": Growth("segments", r"segments-(\d+)", "reading"),
}


@dataclass(frozen=True, slots=True)
class Point:
    count: int
    rounds: tuple[float, ...]

    @property
    def middle(self) -> float:
        return median(self.rounds)

    @property
    def told(self) -> str:
        return f"{number(self.middle)} ({number(min(self.rounds))}–{number(max(self.rounds))})"


def points_of(lines: Sequence[Line], growth: Growth) -> tuple[list[Point], list[Point]]:
    """Ours and Kafka's, by count."""
    found = sorted(
        ((int(match[1]), line) for line in lines if (match := _match(line, growth))), key=lambda point: point[0]
    )
    ours = [Point(count, line.our_rounds) for count, line in found]
    return ours, [Point(count, line.their_rounds) for count, line in found]


def told(lines: Sequence[Line], growth: Growth, runs: Mapping[str, int]) -> list[str]:
    """A sentence for both sides, where there are points to compare; and a warning where they are of different runs."""
    ours, theirs = points_of(lines, growth)
    if len(ours) < 2:
        return []
    counts = ", ".join(f"{point.count:,}" for point in ours)
    sentence = (
        f"- **Growth with {growth.what}**: what {growth.does} a record takes of broker CPU, in µs, at {counts} "
        f"{growth.what} (the median, and the least and the most of its rounds). "
        f"Ours: {_told(ours)}. Kafka's: {_told(theirs)}."
    )
    of_runs = sorted({runs[line.load] for line in lines if _match(line, growth)})
    if len(of_runs) > 1:
        sentence += f" The points are of runs {' and '.join(map(str, of_runs))}: part of the difference may be theirs."
    return [sentence]


def _told(points: Sequence[Point]) -> str:
    return f"{', '.join(point.told for point in points)}: {_verdict(points)}"


def _verdict(points: Sequence[Point]) -> str:
    """By the point that is farthest from the first; where its rounds lie on both sides of the first, who knows."""
    first, *others = points
    farthest = max(others, key=lambda point: abs(_change(first, point)))
    said = _told_change(first, farthest)
    if farthest is not others[-1]:
        said += f", {_told_change(first, others[-1])}"
    if abs(_change(first, farthest)) <= FLAT:
        return f"flat within a tenth ({said})"
    if min(farthest.rounds) <= first.middle <= max(farthest.rounds):
        return f"undecided ({said}; but the rounds at {farthest.count:,} lie on both sides of {number(first.middle)})"
    return f"**not flat** ({said})"


def _told_change(first: Point, point: Point) -> str:
    return f"{_change(first, point):+.0%} at {point.count:,}".replace("-", "−").replace("%", " %")


def _change(first: Point, point: Point) -> float:
    return point.middle / first.middle - 1


def _match(line: Line, growth: Growth) -> re.Match[str] | None:
    return re.fullmatch(growth.pattern, line.load) if line.name == METRIC else None
