"""The list of what was found, in docs/proof.md: every test and every scenario that it names is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.simulation.load_mutations import ALL_MUTATIONS

ROOT = Path(__file__).parent.parent.parent
SECTION = "## What was found, and the tests that keep it\n"
TEST = re.compile(r"`(tests/[\w/]+\.py)::(?:\w+::)?(\w+)(?:\[([^`]+)\])?`")


def section() -> str:
    _, _, rest = (ROOT / "docs" / "proof.md").read_text(encoding="utf-8").partition(SECTION)
    return rest.partition("\n## ")[0]


def named_tests() -> list[tuple[str, str, str]]:
    return TEST.findall(section())


@pytest.mark.parametrize(("path", "name", "case"), named_tests(), ids=lambda part: str(part))
def test_a_test_that_keeps_a_bug_out_is_there(path: str, name: str, case: str) -> None:
    assert re.search(rf"^ *def {name}\(", (ROOT / path).read_text(encoding="utf-8"), re.MULTILINE)
    if path.endswith("test_mutations.py"):
        assert case in {mutation.name for mutation in ALL_MUTATIONS if mutation.seed}
    elif case:
        assert (ROOT / "tests" / "scenarios" / "controller" / f"{case}.txt").exists()


def test_every_row_has_a_test_or_says_none() -> None:
    rows = [line for line in section().splitlines() if line.startswith("| ")][1:]
    assert len(rows) > 20
    assert [row for row in rows if not TEST.search(row) and "| none |" not in row] == []


def test_every_scenario_is_in_the_list_once() -> None:
    listed = re.findall(r"\| `(\w+)` \|$", section(), re.MULTILINE)
    kept = [path.stem for path in (ROOT / "tests" / "scenarios" / "simulation").glob("*.json")]
    advice = f'give it a row under "{SECTION[3:-1]}" in docs/proof.md, with its name at the end'
    assert sorted(listed) == sorted(kept), advice
