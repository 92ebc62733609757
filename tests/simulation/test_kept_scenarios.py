"""Runs that once failed, kept as files in `tests/scenarios/simulation`: each is sound now (docs/simulator.md).

Their violations and fingerprints are those of the commit at which they failed, and still do: whatever changes in the
code makes other runs. What keeps a bug out is a test where it was mended; docs/proof.md has the list.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from strandline.simulation.options import Options
from strandline.simulation.runs import run
from strandline.simulation.scenario import Scenario, load_scenario

KEPT = sorted((Path(__file__).parent.parent / "scenarios" / "simulation").glob("*.json"))
FOUND = re.compile(r"\d{4}-\d\d-\d\d at [0-9a-f]{7,}( without [0-9a-f]{7,})?")
NO_ABOUT = 'write what was wrong, in a sentence, as "about"'
NO_FOUND = 'write when it was found and at which commit it fails, as "found": "2026-11-15 at 7067839"'
NO_VIOLATION = "keep a run that failed: a sound one keeps nothing"


def missing_in(scenario: Scenario) -> list[str]:
    """What its keeper has yet to do: a file as `--save` has left it knows nothing of why it is kept."""
    is_there = {
        NO_ABOUT: scenario.about,
        NO_FOUND: FOUND.fullmatch(scenario.found),
        NO_VIOLATION: scenario.violation,
    }
    return [sentence for sentence, there in is_there.items() if not there]


def test_there_are_scenarios() -> None:
    assert KEPT


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.stem)
def test_what_once_failed_is_sound(path: Path) -> None:
    scenario = load_scenario(str(path))
    outcome = run(scenario.options)
    assert outcome.violation is None, f"{scenario.about} {outcome.command}: {outcome.violation}"
    assert outcome.acknowledged > 0, "a run in which nothing was written shows nothing"
    named = scenario.options.faults
    assert not named or any(outcome.faults[name] for name in named), f"none of {', '.join(named)} struck any more"


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.stem)
def test_a_file_says_what_it_is_kept_for(path: Path) -> None:
    assert missing_in(load_scenario(str(path))) == []


def test_of_a_file_as_it_was_saved_is_said_what_to_write() -> None:
    saved = Scenario(Options(seed=7), violation=None, fingerprint="0123")
    assert missing_in(saved) == [NO_ABOUT, NO_FOUND, NO_VIOLATION]
    assert missing_in(replace(saved, about="One alone.", found="2026-11-15 at 7067839")) == [NO_VIOLATION]


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.stem)
def test_a_file_is_written_as_it_was_read(path: Path) -> None:
    assert load_scenario(str(path)).as_json() == path.read_text(encoding="utf-8")


def test_a_scenario_of_a_run_is_that_run() -> None:
    shortest = min((load_scenario(str(path)) for path in KEPT), key=lambda scenario: scenario.options.seconds)
    outcome = run(shortest.options)
    assert Scenario.of(outcome).options == shortest.options
    assert Scenario.of(outcome).is_same_run(outcome)
