"""Proofs look with `assert`: a Python that passes over assertions would find everything sound."""

from __future__ import annotations

import sys

MISUSED = 2


def demand_assertions(program: str) -> None:
    """Ends with one sentence where they are off."""
    if sys.flags.optimize:
        print(
            f"{program}: assertions are off, and without them nothing would be found:"
            " run it without -O and without PYTHONOPTIMIZE",
            file=sys.stderr,
        )
        raise SystemExit(MISUSED)
