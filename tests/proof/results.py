"""What each part of the proof came to, and at which commit, kept in git: a clone knows what was proved, and a part that
is run again there replaces its own figures alone. What a run leaves besides lies in `build/proof`."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

DIRECTORY = "docs/proof"
LEFT_OVERS = "build/proof"
UNKNOWN = "unknown"
CODE = ("src", "tests/simulation", "tests/fuzz", "tests/chaos")  # what a part proves, and what proves it


@dataclass(frozen=True)
class Result:
    part: str
    sound: bool
    seconds: float
    figures: dict[str, Any]
    problems: list[str] = field(default_factory=list)
    commit: str = UNKNOWN
    taken: str = ""
    command: str = ""  # what does the same again, its seed included

    def save(self) -> None:
        os.makedirs(DIRECTORY, exist_ok=True)
        temporary = f"{DIRECTORY}/{self.part}.json.tmp"
        with open(temporary, "w", encoding="utf-8") as file:
            json.dump(asdict(self), file, indent=2)
        os.replace(temporary, f"{DIRECTORY}/{self.part}.json")


def result(
    part: str,
    *,
    commit: str,
    seconds: float,
    figures: dict[str, Any],
    command: str,
    problems: Sequence[str],
) -> Result:
    """Sound if there is no problem: what is not sound says why. The commit is that of before the run: one that was made
    meanwhile was not run."""
    taken = time.strftime("%Y-%m-%d %H:%M", time.gmtime())
    return Result(part, not problems, round(seconds, 1), figures, [*problems], commit, taken, command)


def load(part: str) -> Result | None:
    try:
        with open(f"{DIRECTORY}/{part}.json", encoding="utf-8") as file:
            return Result(**json.load(file))
    except FileNotFoundError:
        return None


def current_commit() -> str:
    """With a plus where the code is not what was committed."""
    commit = _git("rev-parse", "--short=10", "HEAD")
    return commit + ("+" if _git("status", "--porcelain", "--", *CODE, "tests") else "")


def measured(found: Result) -> str:
    """When, and at which commit; and how often the code was changed since, if it was."""
    commit = found.commit.rstrip("+")
    behind = _git("rev-list", "--count", f"{commit}..HEAD", "--", *CODE)
    sentence = f"{found.taken} UTC at {commit}" + (" with changes" if found.commit.endswith("+") else "")
    if not behind:
        return f"{sentence}, a commit that this clone does not have"
    if behind == "0":
        return sentence
    return f"{sentence}, {behind} {'commit' if behind == '1' else 'commits'} to the code ago"


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""
