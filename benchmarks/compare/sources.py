"""Which rows come from which run, on which machine and at which commit; and which are older than a change of the code.

Results keep their provenance. The first ones did not: of those only the time is known, so they are told apart by it,
and what else is known of their day is written down by hand in `notes.json`, beside changes that rows depend on.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from fnmatch import fnmatch
from functools import cache
from typing import Any

from benchmarks.compare.provenance import Provenance
from benchmarks.compare.results import Result
from benchmarks.compare.side import THEIRS
from benchmarks.machine import git

PAUSE = timedelta(minutes=10)  # rows without provenance that lie farther apart were not measured in one go


@dataclass(frozen=True, slots=True)
class Change:
    """Of the code, by which some rows would come out otherwise now."""

    commit: str
    at: str
    what: str
    rows: list[str]  # patterns of their names

    def is_newer_than(self, result: Result) -> bool:
        if not any(fnmatch(result.name, pattern) for pattern in self.rows):
            return False
        measured = result.provenance.commit.rstrip("+") if result.provenance else ""
        contains = _contains(measured, self.commit) if measured else None
        return result.measured_at < self.at if contains is None else not contains


@dataclass(frozen=True, slots=True)
class Notes:
    machines: dict[str, str] = field(default_factory=dict)  # by the day of results that did not keep theirs
    changes: list[Change] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Sitting:
    """Rows that were measured one after another, the first first."""

    provenance: Provenance | None
    results: list[Result]

    @property
    def day(self) -> str:
        return self.results[0].measured_at.split()[0]


def read_notes(path: str) -> Notes:
    try:
        with open(path, encoding="utf-8") as file:
            kept: dict[str, Any] = json.load(file)
    except FileNotFoundError:
        return Notes()
    return Notes(kept["machines"], [Change(**change) for change in kept["changes"]])


def sittings_of(results: Sequence[Result]) -> list[Sitting]:
    found: list[Sitting] = []
    for result in sorted(results, key=lambda each: each.measured_at):
        like = (sitting for sitting in reversed(found) if _is_of(result, sitting))
        if (sitting := next(like, None)) is None:
            found.append(Sitting(result.provenance, [result]))
        else:
            sitting.results.append(result)
    return found


def told(results: Sequence[Result], notes: Notes) -> list[str]:
    """A line for each sitting, by the number that its rows have in the table; then what else is known of them."""
    sittings = sittings_of(results)
    lines = [
        f"- Run {number}, **{_when(sitting)}**, {_counted(sitting.results)}: {_where(sitting)}; {_how(sitting)}."
        for number, sitting in enumerate(sittings, 1)
    ]
    days = sorted({sitting.day for sitting in sittings if sitting.provenance is None} & set(notes.machines))
    lines += [f"- The machine of {day}: {notes.machines[day]}" for day in days]
    return lines + [_outdated(change, old) for change in notes.changes if (old := older(results, change))]


def run_numbers(results: Sequence[Result]) -> dict[str, int]:
    """By the names of the rows."""
    return {result.name: number for number, sitting in enumerate(sittings_of(results), 1) for result in sitting.results}


def older(results: Sequence[Result], change: Change) -> list[Result]:
    return [result for result in results if change.is_newer_than(result)]


def _is_of(result: Result, sitting: Sitting) -> bool:
    if result.provenance is not None or sitting.provenance is not None:
        return result.provenance == sitting.provenance
    return _moment(result) - _moment(sitting.results[-1]) <= PAUSE


def _moment(result: Result) -> datetime:
    return datetime.strptime(result.measured_at, "%Y-%m-%d %H:%M")


def _when(sitting: Sitting) -> str:
    first, last = sitting.results[0].measured_at, sitting.results[-1].measured_at
    return first if first == last else f"{first} to {last.removeprefix(f'{sitting.day} ')}"


def _where(sitting: Sitting) -> str:
    known = sitting.provenance
    if known is None:
        return f"machine of the run of {sitting.day}; it and the commit were not kept with the rows"
    versions = f"{known.java}, librdkafka {known.librdkafka}"
    return f"at `{known.commit}`{_behind(known.commit)}, on {known.machine}; {versions}; warmed for {known.warm_s:g} s"


def _behind(commit: str) -> str:
    commits = git("rev-list", "--count", f"{commit.rstrip('+')}..HEAD", "--", "src")
    if commits in ("", "0"):
        return ""
    return f" ({commits} {'commit' if commits == '1' else 'commits'} to the code before this page was written)"


def _how(sitting: Sitting) -> str:
    versions = sorted({result.versions[THEIRS] for result in sitting.results})
    rounds = max((len(turns) for result in sitting.results for turns in result.turns.values()), default=0)
    busy = max(result.load_average for result in sitting.results)
    size = ", small loads of a quick run" if any(result.is_quick for result in sitting.results) else ""
    return f"Apache Kafka {' and '.join(versions)}; up to {rounds} rounds at a load average of up to {busy:.1f}{size}"


def _counted(results: Sequence[Result]) -> str:
    return f"{len(results)} {'row' if len(results) == 1 else 'rows'}"


def _outdated(change: Change, results: Sequence[Result]) -> str:
    return (
        f"- Older than `{change.commit}` ({change.at}: {change.what}), and so figures of other code than this, until "
        f"they are measured again, {_counted(results)}: {'; '.join(result.title for result in results)}."
    )


@cache
def _contains(commit: str, change: str) -> bool | None:
    """Whether the code of `commit` has the change; None where git does not know both."""
    full = git("rev-parse", "--verify", "--quiet", f"{change}^{{commit}}")
    base = git("merge-base", commit, change) if full else ""
    return base == full if base else None
