"""Real processes: mutated frames, kills, and everything else that can go wrong around a cluster."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
from typing import Any

from tests.chaos.limits import REPLACED_MAX
from tests.fuzz.run import fuzz
from tests.fuzz.verdict import faults
from tests.proof.results import LEFT_OVERS, Result, current_commit, result

FRAMES_AT_ONCE = 100_000
NOT_POSSIBLE = 2


def prove_frames(frames: int, seed: int) -> Result:
    """In rounds, each against a broker of its own."""
    began_s, commit = time.monotonic(), current_commit()
    figures = {"frames": 0, "answers": 0, "connections": 0, "good_round_trips": 0, "seed": seed}
    problems: list[str] = []
    kinds: set[tuple[int, int]] = set()
    for first in range(0, frames, FRAMES_AT_ONCE):
        report, said = fuzz(min(FRAMES_AT_ONCE, frames - first), seed + first)
        print(report, flush=True)
        problems += faults(report, said)
        kinds |= report.kinds
        for name in ("frames", "answers", "connections", "good_round_trips"):
            figures[name] += getattr(report, name)
    figures["kinds"] = len(kinds)
    seconds = time.monotonic() - began_s
    command = f"python -m tests.proof frames --frames {frames} --seed {seed}"
    return result("frames", commit=commit, seconds=seconds, figures=figures, command=command, problems=problems)


def prove_kills(cycles: int, seed: int) -> Result:
    at_least = str(4_000 * cycles)
    return _chaos("kills", seed, ["--cycles", str(cycles), "--rate", "800", "--at-least", at_least])


def prove_chaos(minutes: float, seed: int) -> Result:
    at_least = str(int(minutes * 1_600))
    return _chaos(
        "chaos",
        seed,
        ["--network", "--spark", "--faults", "all", "--minutes", str(minutes), "--at-least", at_least],
    )


def _chaos(part: str, seed: int, wishes: list[str]) -> Result:
    commit = current_commit()
    os.makedirs(LEFT_OVERS, exist_ok=True)
    began_s, directory = time.monotonic(), tempfile.mkdtemp(prefix=f"{part}-", dir=os.path.abspath(LEFT_OVERS))
    arguments = [*wishes, "--seed", str(seed)]
    ran = [sys.executable, "-m", "tests.chaos", "--directory", directory, *arguments]
    code = subprocess.run(ran, check=False).returncode
    seconds = time.monotonic() - began_s
    figures: dict[str, Any] = {"directory": os.path.relpath(directory), "seed": seed, "exit_code": code}
    try:
        with open(f"{directory}/scoreboard.json", encoding="utf-8") as file:
            account = json.load(file)
    except FileNotFoundError:
        problems = ["it cannot run here" if code == NOT_POSSIBLE else f"it ended with {code} and without an account"]
    except ValueError:
        problems = [f"it ended with {code} and without a whole account"]
    else:
        figures |= {name: value for name, value in account.items() if name not in ("struck", "command")}
        problems = _problems_of(account, code)
    command = shlex.join(["python", "-m", "tests.chaos", *arguments])
    return result(part, commit=commit, seconds=seconds, figures=figures, command=command, problems=problems)


def _problems_of(account: dict[str, Any], code: int) -> list[str]:
    """Some, unless it ended well and its account says so, too."""
    problems = [
        f"{name}: {each}"
        for name in ("replica_differences", "crashes", "failures", "void_because")
        for each in account[name]
    ]
    if len(account["replaced"]) > REPLACED_MAX:
        problems += [f"replaced: {each}" for each in account["replaced"]]
    problems += _problems_of_spark(account["spark"])
    problems += [f"{count} {name}" for name, count in account["bad_anomalies"].items()]
    if code != 0 and not problems:
        problems.append(f"it ended with {code}, and its account does not say why")
    if not (account["sound"] or problems):
        problems.append("its account says that it is not sound, and not why")
    return problems


def _problems_of_spark(account: dict[str, Any] | None) -> list[str]:
    if account is None or account["exact"]:
        return []
    return [f"Spark: {account[name]} {name}" for name in ("lost", "doubled", "wrong", "held_up") if account[name]]
