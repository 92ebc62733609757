"""A slow change is seen when it is made: what a request costs beside the bare loop, against what it may cost.

What is kept is a ratio of CPU times, taken in one run in turns: the machine, its load and its kernel stand on both
sides of it. Machines differ all the same, so ratios are compared with those of a like one only (`Machine.likeness`).
Two files, both in git, for two questions:

- `benchmarks/ceilings.json`: what each row may cost on such a machine. It changes only when somebody says so
  (`python -m benchmarks --accept`), so that a change that makes requests dearer shows it in its own diff.
- `docs/performance/bench-history.jsonl`: what was found, a line for each commit and kind of machine, to see since when.

What is usual is the lesser of the two, of the history its median: a ceiling that was left high while requests became
cheaper would let them become dearer again by as much. What was found before a row was accepted does not count, or
nobody could accept a dearer one. Where nothing was accepted for such a machine there is its history alone.

A row above what is usual by more than `TOLERANCE` makes `make bench` fail. That is wider than the spread of a busy
machine, and narrower than any change of design. One as far below is told: it wants another ceiling, or its twin is ill.
"""

from __future__ import annotations

import json
import math
import os
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any, TypedDict

from benchmarks.machine import UNKNOWN, Machine
from benchmarks.measure import Row
from benchmarks.scratch import CHECKOUT
from benchmarks.spreading import AS_MANY_FILES, PARTITIONS, what_of

CEILINGS = f"{CHECKOUT}/benchmarks/ceilings.json"
HISTORY = f"{CHECKOUT}/docs/performance/bench-history.jsonl"
TOLERANCE = 1.15
TWINS = ("a bare loop", "bare sendfile", AS_MANY_FILES)
FEWEST, MOST = what_of(PARTITIONS[0]), what_of(PARTITIONS[-1])
GROWTH = f"growth of a request from {PARTITIONS[0]} to {PARTITIONS[-1]:,} partitions"

Ratios = dict[str, float]


class Ceiling(TypedDict):
    ratio: float
    at: str  # when it was accepted


Ceilings = dict[str, dict[str, Ceiling]]  # by likeness and row


def ratios_of(rows: Sequence[Row]) -> Ratios:
    """How many times a bare loop's CPU each served row costs, and by how much more it is among many partitions."""
    found = {
        row.what: round(1 / row.share.cpu, 3)
        for row in rows
        if row.twin in TWINS and row.share is not None and row.share.cpu > 0
    }
    if FEWEST in found and MOST in found:
        found[GROWTH] = round(found[MOST] / found[FEWEST], 3)
    return found


def judge(found: Ratios, usual: Mapping[str, float]) -> tuple[list[str], bool]:
    """A line for each row, and whether all keep to what is usual."""
    lines, is_kept = [], True
    for what, ratio in found.items():
        told = f"{what}: {ratio:.2f} times the bare loop's{'' if what == GROWTH else ' CPU'}"
        if what not in usual:
            lines.append(f"{told}; nothing of a like machine to compare it with yet")
            continue
        is_kept = is_kept and ratio <= usual[what] * TOLERANCE
        lines.append(f"{told}, where {usual[what]:.2f} is usual: {_verdict(ratio, usual[what])}")
    return lines, is_kept


def _verdict(ratio: float, usual: float) -> str:
    if ratio > usual * TOLERANCE:
        return "TOO DEAR: find out why, or accept it with --accept"
    if ratio * TOLERANCE < usual:
        return "much cheaper than usual: accept it with --accept, or find out what went wrong with the bare loop"
    return "kept"


def usual_of(machine: Machine, commit: str, ceilings: str = CEILINGS, history: str = HISTORY) -> Ratios:
    """What was accepted for such a machine, or what other commits came to there since, if that is less."""
    accepted = _read_ceilings(ceilings).get(machine.likeness, {})
    known: dict[str, list[float]] = defaultdict(list)
    for line in read_history(history):
        if line["machine"] == machine.likeness and line["commit"] != commit:
            for what, ratio in line["ratios"].items():
                if what not in accepted or line["at"] >= accepted[what]["at"]:
                    known[what].append(ratio)
    usual = {what: ceiling["ratio"] for what, ceiling in accepted.items()}
    for what, ratios in known.items():
        usual[what] = min(median(ratios), usual.get(what, math.inf))
    return usual


def never_accepted(found: Ratios, machine: Machine, path: str = CEILINGS) -> list[str]:
    """A line that names them, or none."""
    accepted = _read_ceilings(path).get(machine.likeness, {})
    names = "; ".join(what for what in found if what not in accepted)
    told = "Never accepted for such a machine, so what is usual drifts with its history until --accept"
    return [f"{told}: {names}"] if names else []


def accept(found: Ratios, machine: Machine, path: str = CEILINGS) -> None:
    """What was not measured this time stays."""
    ceilings, at = _read_ceilings(path), _now()
    now = {what: Ceiling(ratio=ratio, at=at) for what, ratio in found.items()}
    ceilings[machine.likeness] = ceilings.get(machine.likeness, {}) | now
    with open(path, "w", encoding="utf-8") as file:
        json.dump(ceilings, file, indent=2, sort_keys=True)
        file.write("\n")


def remember(found: Ratios, machine: Machine, commit: str, path: str = HISTORY) -> bool:
    """The least that was ever found for a commit on such a machine: disturbance only ever adds. Whether it is kept."""
    if not found or commit.endswith("+") or commit == UNKNOWN:
        return False
    lines = read_history(path)
    like = (line for line in lines if (line["commit"], line["machine"]) == (commit, machine.likeness))
    before = next(like, None)
    if before is None:
        lines.append({"commit": commit, "at": _now(), "machine": machine.likeness, "ratios": found})
    else:
        known = before["ratios"]
        before["ratios"] = known | {what: min(ratio, known.get(what, ratio)) for what, ratio in found.items()}
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)
    return True


def read_history(path: str = HISTORY) -> list[dict[str, Any]]:
    try:
        with open(path, encoding="utf-8") as file:
            return [json.loads(line) for line in file]
    except FileNotFoundError:
        return []


def _now() -> str:
    return time.strftime("%Y-%m-%d %H:%M")


def _read_ceilings(path: str) -> Ceilings:
    try:
        with open(path, encoding="utf-8") as file:
            return dict(json.load(file))
    except FileNotFoundError:
        return {}
