"""The controller as transcripts (SPEC R6, R7, T1 to T5): every word it says in a story, reviewed once and kept.

`REWRITE=1 python -m pytest tests/controller/test_controller_scenarios.py` writes the answers anew; read the diff.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.controller.transcript import replayed

SCENARIOS = sorted((Path(__file__).parent.parent / "scenarios" / "controller").glob("*.txt"))


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_scenario(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    again = replayed(text)
    if os.environ.get("REWRITE"):
        path.write_text(again, encoding="utf-8")
    else:
        assert again == text


def test_there_are_scenarios() -> None:
    assert len(SCENARIOS) >= 8
