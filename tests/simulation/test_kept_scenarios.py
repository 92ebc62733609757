"""Runs that once failed, kept as files in `tests/scenarios/simulation`: each is sound now (docs/simulator.md).

Their fingerprints are those of the day on which they were saved: whatever changes in the code makes other runs.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from strandline.simulation.runs import run
from strandline.simulation.scenario import Scenario, load_scenario

KEPT = sorted((Path(__file__).parent.parent / "scenarios" / "simulation").glob("*.json"))


def test_there_are_scenarios() -> None:
    assert KEPT


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.stem)
def test_what_once_failed_is_sound(path: Path) -> None:
    scenario = load_scenario(str(path))
    assert scenario.about, "what was wrong is said in `about`"
    outcome = run(scenario.options)
    assert outcome.violation is None, f"{scenario.about} {outcome.command}: {outcome.violation}"
    assert outcome.acknowledged > 0, "a run in which nothing was written shows nothing"


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.stem)
def test_a_file_is_written_as_it_was_read(path: Path) -> None:
    assert load_scenario(str(path)).as_json() == path.read_text(encoding="utf-8")


def test_a_scenario_of_a_run_is_that_run() -> None:
    scenario = load_scenario(str(KEPT[0]))
    outcome = run(scenario.options)
    assert Scenario.of(outcome).options == scenario.options
    assert Scenario.of(outcome).is_same_run(outcome)
