"""How a run of the comparison ends: what it leaves of the published figures, what it says, and its exit code."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from benchmarks.compare.load_kind import Load
    from benchmarks.compare.results import Result, Store

CHECKOUT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PUBLISHED = ("ask", "flood-tiny", "start")
Measure = Callable[["Store", "Sequence[Load]"], None]


@pytest.fixture(autouse=True)
def _checkout(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """One in which some rows are published, and nothing was measured."""
    monkeypatch.setattr(sys, "path", [CHECKOUT, *sys.path])
    from benchmarks.compare import __main__ as compare

    monkeypatch.setattr(compare, "CHECKOUT", str(tmp_path))
    monkeypatch.setattr(compare, "_fetch_kafkas", dict)
    _publish(tmp_path, PUBLISHED)


def _publish(checkout: Path, names: Sequence[str]) -> None:
    from benchmarks.compare.page import write_page

    write_page([_row(name, 1.0) for name in names], str(checkout / "docs"))


def _row(name: str, ours: float, failure: str = "", measured_at: str = "2026-11-15 20:28") -> Result:
    from benchmarks.compare.results import Result

    turns = {"strandline": [{"p99_ms": ours}], "kafka": [{"p99_ms": 2.0}]}
    return Result(name, name, "one broker", {"kafka": "4.3.1"}, turns, measured_at=measured_at, failure=failure)


def _rows_of(checkout: Path) -> dict[str, float]:
    """What is published now of ours."""
    figures = json.loads((checkout / "docs" / "performance" / "figures.json").read_text())
    return {row["name"]: row["turns"]["strandline"][0]["p99_ms"] for row in figures}


def _run(monkeypatch: pytest.MonkeyPatch, measure: Measure, *arguments: str) -> int:
    from benchmarks.compare import __main__ as compare

    monkeypatch.setattr(compare, "Runner", lambda *given: SimpleNamespace(run=partial(measure, given[3])))
    return compare.main(arguments)


def _all(store: Store, loads: Sequence[Load]) -> None:
    for load in loads:
        store.save(_row(load.name, 1.5, measured_at="2026-11-20 10:00"))


def test_one_row_measured_in_a_new_clone_leaves_the_others_as_published(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert _run(monkeypatch, _all, "--only", "ask") == 0
    assert _rows_of(tmp_path) == {"ask": 1.5, "flood-tiny": 1.0, "start": 1.0}


def test_a_run_that_ended_early_leaves_the_others_as_published(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from benchmarks.compare.side import CompareFailed

    def measure(store: Store, loads: Sequence[Load]) -> None:
        _all(store, loads[:1])
        raise CompareFailed("A broker did not start.")

    assert _run(monkeypatch, measure) == 1
    assert _rows_of(tmp_path) == {"ask": 1.0, "flood-tiny": 1.0, "start": 1.5}


def test_a_load_that_failed_replaces_what_is_published_and_is_no_success(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def measure(store: Store, loads: Sequence[Load]) -> None:
        for load in loads:
            store.save(_row(load.name, 1.5, failure="strandline: it has gone", measured_at="2026-11-20 10:00"))

    assert _run(monkeypatch, measure, "--only", "ask") == 1
    assert "**failed** on our side" in (tmp_path / "docs" / "performance.md").read_text()
    assert _run(monkeypatch, measure, "--report") == 1


def test_whose_preparation_failed_is_told(tmp_path: Path) -> None:
    from benchmarks.compare.bench import Scale
    from benchmarks.compare.load_kind import Load
    from benchmarks.compare.provenance import of_this_run
    from benchmarks.compare.results import Store
    from benchmarks.compare.runner import Runner
    from benchmarks.compare.side import CompareFailed

    def fail() -> None:
        raise CompareFailed("It has gone.")

    store = Store(str(tmp_path / "results"))
    runner = Runner({}, str(tmp_path), Scale(is_quick=True, rounds=1), store, of_this_run(str(tmp_path), warm_s=0.0))
    turns: dict[str, Any] = {"strandline": dict, "kafka": dict}
    runner._measure(Load(name="ask", title="Ask"), {}, turns, {"strandline": lambda: None, "kafka": fail})
    (found,) = store.all(["ask"])
    assert found.failure == "kafka: It has gone."
    assert found.has_failed("kafka")
    assert not found.has_failed("strandline")


def test_what_is_published_is_not_measured_for_those_who_resume(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def measure(store: Store, loads: Sequence[Load]) -> None:
        asked.extend(load.name for load in loads)
        _all(store, loads)

    assert _run(monkeypatch, measure, "--published", "--only", "ask") == 0
    assert _run(monkeypatch, measure, "--published", "--resume", "--only", "ask", "--only", "start") == 0
    assert asked == ["ask", "start"]


def test_what_was_measured_here_before_the_published_does_not_replace_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def measure(store: Store, loads: Sequence[Load]) -> None:
        store.save(_row("start", 3.0, measured_at="2026-11-01 10:00"))
        _all(store, loads)

    assert _run(monkeypatch, measure, "--only", "ask") == 0
    assert _rows_of(tmp_path)["start"] == 1.0


def test_rows_that_somebody_took_out_of_the_file_come_back_from_what_is_committed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    who = ("-c", "user.name=A tester", "-c", "user.email=tester@example.com")
    for command in (["init", "-q"], ["add", "docs"], [*who, "commit", "-q", "-m", "Figures"]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    _publish(tmp_path, ["ask"])
    assert _run(monkeypatch, _all, "--only", "ask") == 0
    assert _rows_of(tmp_path) == {"ask": 1.5, "flood-tiny": 1.0, "start": 1.0}


def test_what_was_measured_is_told_in_the_same_words_from_what_is_published(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    figures = {"ask": 80.04999, "flood-tiny": 80.05001, "rf3-ask": 80.05001, "start": 80.04999}

    def measure(store: Store, loads: Sequence[Load]) -> None:
        for load in loads:
            store.save(_row(load.name, figures[load.name], measured_at="2026-11-20 10:00"))

    _run(monkeypatch, measure, *(word for name in figures for word in ("--only", name)))
    page = (tmp_path / "docs" / "performance.md").read_text()
    shutil.rmtree(tmp_path / "data")
    assert _run(monkeypatch, measure, "--published", "--report") == 0
    assert (tmp_path / "docs" / "performance.md").read_text() == page


@pytest.mark.parametrize(
    ("arguments", "command"),
    [
        ([], "make compare COMPARE=--resume\n"),
        (["--quick"], "make compare QUICK=1 COMPARE=--resume\n"),
        (["--resume", "--rounds", "4"], "make compare COMPARE='--rounds 4 --resume'\n"),
    ],
)
def test_a_run_that_is_broken_off_says_how_to_go_on(
    arguments: list[str], command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def measure(store: Store, loads: Sequence[Load]) -> None:
        del store, loads
        raise KeyboardInterrupt

    assert _run(monkeypatch, measure, *arguments) == 130
    assert capsys.readouterr().err.endswith(f"Go on with: {command}")


def test_a_second_run_beside_the_first_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from benchmarks.compare.only_run import only_run

    with only_run(str(tmp_path / "data")):
        assert _run(monkeypatch, _all, "--only", "ask") == 1
    told = capsys.readouterr().err
    assert f"Another comparison runs in this checkout, as process {os.getpid()}" in told
    assert _rows_of(tmp_path)["ask"] == 1.0
    assert _run(monkeypatch, _all, "--only", "ask") == 0


def test_make_asks_for_maven_before_it_fetches_anything_and_takes_0_for_no(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "setup.py").touch()

    def steps(*words: str) -> str:
        command = ["make", "-n", "-f", f"{CHECKOUT}/Makefile", "compare", *words]
        return subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True).stdout

    assert steps().index("command -v mvn") < steps().index("pip install")
    assert [" --quick" in steps(word) for word in ("QUICK=", "QUICK=0", "QUICK=1")] == [False, False, True]


def test_a_report_of_nothing_leaves_what_is_published_and_one_of_the_published_tells_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from benchmarks.compare import __main__ as compare

    before = (tmp_path / "docs" / "performance.md").read_text()
    assert compare.main(["--report"]) == 2
    assert capsys.readouterr().err.startswith("Nothing has been measured here yet.")
    assert (tmp_path / "docs" / "performance.md").read_text() == before
    assert compare.main(["--published", "--report"]) == 0
    assert "3 figures, 0 of them lost" in capsys.readouterr().out


def test_rows_that_read_say_that_they_are_older_than_connections_without_a_pace() -> None:
    from benchmarks.compare.catalogue import all_loads
    from benchmarks.compare.sources import read_notes

    notes = read_notes(f"{CHECKOUT}/docs/performance/notes.json")
    (unpaced,) = (change for change in notes.changes if change.commit == "95612be8ff")
    rows = [_row(name, 1.0, measured_at="2026-11-18 15:27") for name in all_loads()]
    older = {row.name for row in rows if unpaced.is_newer_than(row)}
    assert older >= {"catch-up-1", "segments-200", "end-to-end-1k", "fan-out-8", "far-behind", "rf3-ask"}
    assert not older & {"ask", "flood-1m", "start", "produce-1k-1m-1p-acks1-none", "java-producer"}


def test_every_published_row_is_of_a_load_that_there_is() -> None:
    from benchmarks.compare.catalogue import all_loads
    from benchmarks.compare.published import published

    rows: Any = published(CHECKOUT)
    assert {row.name for row in rows} <= all_loads().keys()
