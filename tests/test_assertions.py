"""Programs that check with `assert` do not run where assertions are off: they would call anything sound."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SENTENCE = "assertions are off, and without them nothing would be found: run it without -O and without PYTHONOPTIMIZE"
PROGRAMS = {
    "tests.proof": ["crashes", "--crash-runs", "1"],
    "tests.chaos": ["--cycles", "1"],
    "tests.fuzz": ["--frames", "1"],
    "tests.exactness": ["--records", "1"],
    "tests.simulation.hunt": ["--seeds", "1", "acks=all"],
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_where_assertions_are_off_nothing_is_run(program: str) -> None:
    ran = run("-O", "-m", program, *PROGRAMS[program])
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr == f"{program.rpartition('.')[2]}: {SENTENCE}\n"


def test_the_environment_can_turn_them_off_too() -> None:
    ran = run("-m", "tests.fuzz", "--frames", "1", PYTHONOPTIMIZE="1")
    assert (ran.returncode, ran.stdout, ran.stderr) == (2, "", f"fuzz: {SENTENCE}\n")


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, **environment},
        timeout=120,
    )
