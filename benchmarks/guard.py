"""A slow change is seen when it is made: what a request costs beside the bare loop, against what it may cost.

What is kept is a ratio of CPU times, taken in one run in turns: the machine, its load and its kernel stand on both
sides of it. Two files, for two questions:

- `benchmarks/ceilings.json`, in git: what each row may cost. It changes only when somebody says so
  (`python -m benchmarks --accept`), so that a change that makes requests dearer shows it in its own diff, and the
  repository does not fill with the noise of machines.
- `data/bench-history.jsonl`, not in git: what was found here, a line for each commit, to see since when.

A row above its ceiling by more than `TOLERANCE` makes `make bench` fail. That is wider than the spread of a busy
machine, and narrower than any change of design.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Mapping, Sequence

from benchmarks.measure import Row
from benchmarks.scratch import CHECKOUT

CEILINGS = f"{CHECKOUT}/benchmarks/ceilings.json"
HISTORY = f"{CHECKOUT}/data/bench-history.jsonl"
TOLERANCE = 1.15
TWINS = ("a bare loop", "bare sendfile")

Ratios = dict[str, float]


def ratios_of(rows: Sequence[Row]) -> Ratios:
    """How many times a bare loop's CPU each served row costs."""
    return {
        row.what: round(1 / row.share.cpu, 3)
        for row in rows
        if row.twin in TWINS and row.share is not None and row.share.cpu > 0
    }


def judge(found: Ratios, ceilings: Mapping[str, float]) -> tuple[list[str], bool]:
    """A line for each row that has a ceiling, and whether all keep to it."""
    lines, is_kept = [], True
    for what, ratio in found.items():
        if what not in ceilings:
            continue
        is_above = ratio > ceilings[what] * TOLERANCE
        is_kept = is_kept and not is_above
        verdict = "TOO DEAR: find out why, or accept it with --accept" if is_above else "kept"
        lines.append(f"{what}: {ratio:.2f} times the bare loop's CPU, where {ceilings[what]:.2f} is usual: {verdict}")
    return lines, is_kept


def read_ceilings(path: str = CEILINGS) -> Ratios:
    try:
        with open(path, encoding="utf-8") as file:
            return dict(json.load(file))
    except FileNotFoundError:
        return {}


def accept(found: Ratios, path: str = CEILINGS) -> None:
    """What was not measured this time stays."""
    ceilings = read_ceilings(path) | found
    with open(path, "w", encoding="utf-8") as file:
        json.dump(ceilings, file, indent=2, sort_keys=True)
        file.write("\n")


def remember(found: Ratios, path: str = HISTORY) -> None:
    """One line for a commit: the least of what was ever found for it, since disturbance only ever adds."""
    lines = read_history(path)
    commit = current_commit()
    before = next((line for line in lines if line["commit"] == commit), None)
    if before is None:
        lines.append({"commit": commit, "at": time.strftime("%Y-%m-%d %H:%M"), "ratios": found})
    else:
        known = before["ratios"]
        assert isinstance(known, dict)
        before["ratios"] = known | {what: min(ratio, known.get(what, ratio)) for what, ratio in found.items()}
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)


def read_history(path: str = HISTORY) -> list[dict[str, object]]:
    try:
        with open(path, encoding="utf-8") as file:
            return [json.loads(line) for line in file]
    except FileNotFoundError:
        return []


def current_commit() -> str:
    """With a plus where something is not committed."""
    try:
        named = subprocess.run(
            ["git", "describe", "--always", "--dirty=+", "--exclude=*"],
            cwd=CHECKOUT,
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return named.stdout.strip()
