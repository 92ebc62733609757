"""The scoreboard is put together from what the parts left, whenever they were run."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from tests.proof.results import load, result
from tests.proof.scoreboard import BEGIN, DOCUMENT, END, as_text, rows, write_document


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
    result("frames", sound=True, seconds=1, figures={"frames": 1_000_000, "kinds": 200, **figures}).save()


@pytest.mark.usefixtures("repository")
def test_parts_that_were_not_run_are_told_of() -> None:
    prove_frames()
    found = dict(rows())
    assert found["frames fuzzed"] == "1,000,000, of 200 APIs and versions"
    assert found["seeds"] == found["chaos"] == "not run"
    assert not any("measured at" in name for name in found)


@pytest.mark.usefixtures("repository")
def test_a_part_that_is_about_older_code_says_so() -> None:
    prove_frames()
    first = load("frames")
    assert first is not None
    commit("the second")
    assert dict(rows())["frames: measured at"] == f"{first.commit}, 1 commit to the code ago"


@pytest.mark.usefixtures("repository")
def test_what_was_found_is_told() -> None:
    result("kills", sound=False, seconds=1, figures={}, problems=["1 lost\nand more"]).save()
    assert ("!", "1 lost") in rows()
    assert "no account" in as_text(rows())


def test_the_document_keeps_everything_else(repository: Path) -> None:
    prove_frames()
    write_document(rows())
    write_document(rows())
    text = (repository / DOCUMENT).read_text()
    assert text.startswith(f"# Proof\n{BEGIN}| | |")
    assert text.endswith(f"{END}The rest.\n")
    assert text.count("| frames fuzzed |") == 1
