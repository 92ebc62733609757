"""The account at the end: which numbers are in which place, and how often. Pure."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable
from dataclasses import dataclass

MANY = 255


@dataclass(frozen=True, slots=True)
class Verdict:
    place: str
    wanted: int
    found: int  # records, each as often as it is there
    missing: int
    doubled: int
    misplaced: int  # should be elsewhere, or nowhere

    @property
    def is_exact(self) -> bool:
        return not (self.missing or self.doubled or self.misplaced)


def judge_place(place: str, count: int, is_wanted: Callable[[int], bool], numbers: Iterable[int]) -> Verdict:
    """Of the numbers from 0 to `count`, those that are wanted shall be there once, and nothing else."""
    times = array("B", bytes(count))
    strangers = found = 0
    for number in numbers:
        found += 1
        if 0 <= number < count:
            times[number] = min(times[number] + 1, MANY)
        else:
            strangers += 1
    missing = doubled = wanted = 0
    for number, often in enumerate(times):
        if not is_wanted(number):
            strangers += often
            continue
        wanted += 1
        missing += often == 0
        doubled += often > 1
    return Verdict(place, wanted, found, missing, doubled, strangers)


def as_text(verdicts: Iterable[Verdict]) -> str:
    lines = ["| place | wanted | found | missing | twice | elsewhere |", "|---|---|---|---|---|---|"]
    lines += [
        f"| {each.place} | {each.wanted:,} | {each.found:,} | {each.missing} | {each.doubled} | {each.misplaced} |"
        for each in verdicts
    ]
    return "\n".join(lines)
