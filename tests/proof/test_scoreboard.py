"""The scoreboard is put together from what the parts left, whenever they were run."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tests.fuzz.run import Report
from tests.proof import processes, simulated, stored
from tests.proof.results import Result, current_commit, load, result
from tests.proof.scoreboard import BEGIN, DOCUMENT, END, as_markdown, as_text, rows, write_document
from tests.simulation.load_mutations import ALL_MUTATIONS


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs").mkdir()
    (tmp_path / "src").mkdir()
    (tmp_path / DOCUMENT).write_text(f"# Proof\n{BEGIN}{END}The rest.\n")
    subprocess.run(["git", "init", "-q"], check=True)
    commit("the first")
    return tmp_path


def commit(message: str) -> None:
    Path("src/code.py").write_text(message)
    subprocess.run(["git", "add", "src"], check=True)
    author = ["-c", "user.name=somebody", "-c", "user.email=somebody@example.org"]
    subprocess.run(["git", *author, "commit", "-qm", message], check=True)


def prove_frames(**figures: int) -> None:
    found = {"frames": 1_000_000, "kinds": 200, **figures}
    result(
        "frames",
        commit=current_commit(),
        seconds=1,
        figures=found,
        command="python -m tests.proof frames --seed 7",
        problems=[],
    ).save()


def prove_mutations(*names: str) -> None:
    table = [[name, "StrongIsr", 3] for name in names]
    figures = {"caught": len(table), "mutations": len(table), "seeds_max": 500, "table": table}
    result("mutations", commit=current_commit(), seconds=1, figures=figures, command="", problems=[]).save()


def prove_seeds(**figures: float) -> None:
    hours = {"simulated_hours": 100.0, "hours_per_minute": 12.0, "hours_per_core_minute": 6.0}
    counts = {"acknowledged": 5, "read": 4, "steps": 3, "faults": {}, "violations": 0}
    found = {"seeds": 300, "first_seed": 7, **hours, **counts, **figures}
    result("seeds", commit=current_commit(), seconds=1, figures=found, command="", problems=[]).save()


def prove_kills(**figures: Any) -> None:
    counts = {"acknowledged": 9, "checked_operations": 12, "transactions_committed": 1, "transactions_aborted": 0}
    wrong = {"lost": 0, "doubled": 0, "out_of_order": 0, "bad_anomalies": {}}
    silences = {"seconds": 60.0, "faults": {"kill-leader": 1}, "unavailable_s_all": {"p50": 1.0, "p99": 2.0}}
    replicas: dict[str, Any] = {"replica_bytes_compared": 100, "replica_differences": []}
    found = {**counts, **wrong, **silences, **replicas, **figures}
    result(
        "kills",
        commit=current_commit(),
        seconds=1,
        figures=found,
        command="python -m tests.chaos --seed 11",
        problems=[],
    ).save()


@pytest.mark.usefixtures("repository")
def test_parts_that_were_not_run_are_told_of() -> None:
    prove_frames()
    found = dict(rows())
    assert found["frames fuzzed"] == "1,000,000, of 200 APIs and versions"
    assert found["seeds"] == found["chaos"] == "not run"
    assert [name for name in found if "measured" in name] == ["frames: measured"]
    assert "ago" not in found["frames: measured"]


@pytest.mark.usefixtures("repository")
def test_a_part_that_is_about_older_code_says_so() -> None:
    prove_frames()
    first = load("frames")
    assert first is not None
    commit("the second")
    assert dict(rows())["frames: measured"] == f"{first.taken} UTC at {first.commit}, 1 commit to the code ago"
    commit("the third")
    assert dict(rows())["frames: measured"].endswith(", 2 commits to the code ago")


@pytest.mark.usefixtures("repository")
def test_a_commit_that_the_clone_does_not_have_does_not_pass_for_the_current_one() -> None:
    prove_frames()
    first = load("frames")
    assert first is not None
    replace(first, commit="0123456789").save()
    assert dict(rows())["frames: measured"].endswith(" at 0123456789, a commit that this clone does not have")


def leaves_an_account(program: Path) -> Path:
    """In place of `python -m tests.chaos --directory …`."""
    program.write_text('#!/bin/sh\necho "{}" >"$4/scoreboard.json"\n')
    program.chmod(0o755)
    return program


@pytest.mark.parametrize(
    ("module", "work", "proof"),
    [
        (simulated, "run_all", lambda: simulated.prove_seeds(1, 7)),
        (simulated, "hunt", lambda: simulated.prove_mutations(1)),
        (stored, "in_order", lambda: stored.prove_crashes(1, 7)),
        (processes, "faults", lambda: processes.prove_frames(1, 7)),
        (processes, "_problems_of", lambda: processes.prove_kills(1, 7)),
    ],
)
def test_a_commit_that_is_made_meanwhile_was_not_run(
    module: ModuleType, work: str, proof: Callable[[], Result], repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def commit_meanwhile(*_: object) -> list[str]:
        commit(f"while it runs, {time.monotonic_ns()}")
        return []

    monkeypatch.setattr(processes, "fuzz", lambda *_: (Report(7), ""))
    monkeypatch.setattr(sys, "executable", str(leaves_an_account(repository / "chaos")))
    monkeypatch.setattr(module, work, commit_meanwhile)
    before = current_commit()
    assert proof().commit == before
    assert current_commit() != before


@pytest.mark.usefixtures("repository")
def test_a_clone_knows_what_was_proved_elsewhere() -> None:
    prove_frames()
    subprocess.run(["git", "add", "docs"], check=True)
    commit("what was proved")
    subprocess.run(["git", "clone", "-q", ".", "clone"], check=True)
    os.chdir("clone")
    assert dict(rows())["frames fuzzed"] == "1,000,000, of 200 APIs and versions"


@pytest.mark.usefixtures("repository")
def test_what_was_found_is_told() -> None:
    result("kills", commit=current_commit(), seconds=1, figures={}, command="", problems=["1 lost\nand more"]).save()
    assert ("!", "kills: 1 lost") in rows()
    assert "no account" in as_text(rows())


@pytest.mark.usefixtures("repository")
def test_a_part_that_was_not_sound_does_not_look_clean() -> None:
    """Whoever wrote its file did not say why."""
    prove_frames()
    first = load("frames")
    assert first is not None
    assert [value for name, value in rows() if name == "!"] == []
    replace(first, sound=False).save()
    assert ("!", "frames: it was not sound, and nobody has written down why") in rows()


def test_what_has_a_problem_is_not_sound_and_what_has_none_is() -> None:
    assert result("frames", commit=current_commit(), seconds=1, figures={}, command="", problems=[]).sound
    assert not result("frames", commit=current_commit(), seconds=1, figures={}, command="", problems=["it grew"]).sound


def test_the_document_keeps_everything_else(repository: Path) -> None:
    prove_frames()
    write_document(rows())
    write_document(rows())
    text = (repository / DOCUMENT).read_text()
    assert text.startswith(f"# Proof\n{BEGIN}| | |")
    assert text.endswith(f"{END}The rest.\n")
    assert text.count("| frames fuzzed |") == 1


@pytest.mark.usefixtures("repository")
def test_safeguards_that_came_after_the_last_measurement_are_named() -> None:
    first, second, *others = [mutation.name for mutation in ALL_MUTATIONS]
    prove_mutations(first, second)
    found = dict(rows())
    assert found["mutations caught"] == "2 of 2 that were tried, within 500 seeds each"
    assert found["mutations: not measured"] == f"{len(others)}: {'; '.join(others)}"
    table = as_markdown(rows()).splitlines()
    assert f"| {first} | StrongIsr | 3 |" in table
    assert f"| {others[0]} | not measured | |" in table


@pytest.mark.usefixtures("repository")
def test_safeguards_that_are_gone_are_named_and_when_all_are_measured_none_is() -> None:
    names = [mutation.name for mutation in ALL_MUTATIONS]
    prove_mutations(*names, "a rule of yesterday")
    found = dict(rows())
    assert found["mutations: measured, and gone since"] == "1: a rule of yesterday"
    assert "mutations: not measured" not in found
    prove_mutations(*names)
    assert [name for name, _ in rows() if name.startswith("mutations: ")] == ["mutations: measured"]


@pytest.mark.usefixtures("repository")
def test_how_many_hours_were_busy_is_said_where_it_is_known() -> None:
    prove_seeds(busy_hours=10.5)
    assert dict(rows())["busy hours"].startswith("10.5 of these; ")
    prove_seeds(busy_hours=0.0)
    assert "busy hours" not in dict(rows())


@pytest.mark.usefixtures("repository")
def test_a_part_says_its_seed_and_how_to_repeat_it() -> None:
    prove_frames(seed=7)
    prove_kills(seed=11)
    found = dict(rows())
    assert (found["frames: seed"], found["kills: seed"]) == ("7", "11")
    assert found["frames: to repeat"] == "python -m tests.proof frames --seed 7"
    assert found["kills: to repeat"] == "python -m tests.chaos --seed 11"
    prove_frames()
    assert dict(rows())["frames: seed"] == "not kept by this run"


@pytest.mark.usefixtures("repository")
def test_bad_anomalies_of_all_kinds_are_counted_together() -> None:
    prove_kills()
    assert dict(rows())["kills: bad anomalies"] == "0"
    prove_kills(bad_anomalies={"lost-commit": 2, "G1a": 1})
    assert dict(rows())["kills: bad anomalies"] == "3"
