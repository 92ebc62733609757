"""Runs that once failed, kept as files in `tests/scenarios/simulation`: each is sound now (docs/simulator.md).

Their violations and fingerprints are those of the commit at which they failed, and still do: whatever changes in the
code makes other runs. What keeps a bug out is a test where it was mended; docs/proof.md has the list.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from strandline.simulation.runs import run
from strandline.simulation.scenario import Scenario, load_scenario

KEPT = sorted((Path(__file__).parent.parent / "scenarios" / "simulation").glob("*.json"))
FOUND = re.compile(r"\d{4}-\d\d-\d\d at [0-9a-f]{7,}( without [0-9a-f]{7,})?")


def test_there_are_scenarios() -> None:
    assert KEPT


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.stem)
def test_what_once_failed_is_sound(path: Path) -> None:
    scenario = load_scenario(str(path))
    outcome = run(scenario.options)
    assert outcome.violation is None, f"{scenario.about} {outcome.command}: {outcome.violation}"
    assert outcome.acknowledged > 0, "a run in which nothing was written shows nothing"


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.stem)
def test_a_file_says_what_it_is_kept_for(path: Path) -> None:
    scenario = load_scenario(str(path))
    assert scenario.about, "what was wrong, in `about`"
    assert scenario.violation is not None, "as what it failed: a sound run keeps nothing"
    assert FOUND.fullmatch(scenario.found), "the day and the commit at which it fails, in `found`"


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.stem)
def test_a_file_is_written_as_it_was_read(path: Path) -> None:
    assert load_scenario(str(path)).as_json() == path.read_text(encoding="utf-8")


def test_a_scenario_of_a_run_is_that_run() -> None:
    shortest = min((load_scenario(str(path)) for path in KEPT), key=lambda scenario: scenario.options.seconds)
    outcome = run(shortest.options)
    assert Scenario.of(outcome).options == shortest.options
    assert Scenario.of(outcome).is_same_run(outcome)
