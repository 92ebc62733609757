"""Timings, taken in turns, and the figures made of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median, quantiles
from typing import NamedTuple


class Timing(NamedTuple):
    wall_s: float
    cpu_s: float


Turn = Callable[[], Timing]


def timed(work: Callable[[], object]) -> Timing:
    cpu, wall = time.process_time(), time.perf_counter()
    work()
    return Timing(time.perf_counter() - wall, time.process_time() - cpu)


def interleave(rounds: int, *turns: Turn) -> list[list[Timing]]:
    """The timings of each turn. Who goes first changes from round to round: the first finds the caches cold."""
    found: list[list[Timing]] = [[] for _ in turns]
    for round_number in range(rounds):
        for step in range(len(turns)):
            which = (round_number + step) % len(turns)
            found[which].append(turns[which]())
    return found


@dataclass(frozen=True, slots=True)
class Figure:
    """`cpu` is what it would be if all waiting and all neighbours were away. `spread` is a part of `wall`."""

    wall: float
    cpu: float
    spread: float = 0.0


def rate(timings: Sequence[Timing], amount: float) -> Figure:
    """`amount` a second."""
    return _figure([amount / each.wall_s for each in timings], [amount / max(each.cpu_s, 1e-9) for each in timings])


def microseconds(timings: Sequence[Timing], count: int = 1) -> Figure:
    """Time for one of `count`."""
    return _figure([each.wall_s * 1e6 / count for each in timings], [each.cpu_s * 1e6 / count for each in timings])


def seconds(timings: Sequence[Timing]) -> Figure:
    return _figure([each.wall_s for each in timings], [each.cpu_s for each in timings])


def _figure(wall: list[float], cpu: list[float]) -> Figure:
    middle = median(wall)
    lower, _, upper = quantiles(wall, n=4, method="inclusive") if len(wall) > 1 else (middle, middle, middle)
    return Figure(middle, median(cpu), (upper - lower) / 2 / middle)


def share(ours: Sequence[Timing], theirs: Sequence[Timing]) -> Figure:
    """How much of the other's speed is ours: 1 is the same, 0.5 takes twice as long. Compared turn by turn."""
    pairs = list(zip(ours, theirs, strict=True))
    return _figure(
        [their.wall_s / our.wall_s for our, their in pairs],
        [their.cpu_s / max(our.cpu_s, 1e-9) for our, their in pairs],
    )


@dataclass(frozen=True, slots=True)
class Aim:
    """What a row should reach: a share of its twin's speed, or a figure of its own."""

    at_least: float | None = None
    at_most: float | None = None
    of_share: bool = False

    def allows(self, value: float) -> bool:
        return (self.at_least is None or value >= self.at_least) and (self.at_most is None or value <= self.at_most)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    what: str
    unit: str
    ours: Figure
    twin: str = ""  # what it is compared with
    theirs: Figure | None = None
    share: Figure | None = None
    aim: Aim | None = None

    @property
    def verdict(self) -> str:
        """`by CPU`: missed by the clock, met by CPU time, as happens beside busy neighbours. Run it again in quiet."""
        figure = self.share if self.aim is not None and self.aim.of_share else self.ours
        if self.aim is None or figure is None:
            return ""
        if self.aim.allows(figure.wall):
            return "yes"
        return "by CPU" if self.aim.allows(figure.cpu) else "NO"
