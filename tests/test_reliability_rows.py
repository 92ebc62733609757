"""docs/reliability-rows.md: every row is there, and every test that it names."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "reliability-rows.md").read_text(encoding="utf-8")
NAMED_TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")
SCENARIO = re.compile(r"`(tests/scenarios/[\w/]+\.txt)`")


def test_no_row_is_missing() -> None:
    assert re.findall(r"^\| (\d+) \|", PAGE, re.MULTILINE) == [str(number) for number in range(1, 26)]


@pytest.mark.parametrize(("path", "name"), sorted(set(NAMED_TEST.findall(PAGE))))
def test_the_test_is_there(path: str, name: str) -> None:
    assert re.search(rf"^(async )?def {name}\(", (ROOT / path).read_text(encoding="utf-8"), re.MULTILINE)


@pytest.mark.parametrize("path", sorted(set(SCENARIO.findall(PAGE))))
def test_the_scenario_is_there(path: str) -> None:
    assert (ROOT / path).is_file()
