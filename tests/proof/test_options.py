"""`python -m tests.proof`: what it does if it is not told otherwise, and what it says of that."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from tests.proof import __main__ as program
from tests.proof.__main__ import AMOUNTS, main
from tests.proof.results import Result, load

from strandline.cli.output import EXIT_INTERRUPTED, counted


def test_its_help_has_every_default(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert ended.value.code == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "--seed SEED the first of each part but the mutations (default: a fresh one)" in told
    for name, amount, what in AMOUNTS:
        assert f"{name} N {what} (default: {amount})" in told


def test_a_part_that_is_not_there_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["floods"])
    assert ended.value.code == 2
    assert "there is no part floods; there are seeds, mutations, " in capsys.readouterr().err


def test_by_default_there_are_seeds_enough_for_every_safeguard_of_the_published_table() -> None:
    published = load("mutations")
    assert published is not None
    needed = max(seeds for _, _, seeds in published.figures["table"])
    default = {name: amount for name, amount, _ in AMOUNTS}["--mutation-seeds"]
    assert default > needed, f"{counted(needed, 'seed')} were needed"
    made = subprocess.run(["make", "-n", "-o", ".venv/.cluster-ready", "proof"], capture_output=True, text=True)
    assert "tests.proof" in made.stdout
    assert "--mutation-seeds" not in made.stdout, "make goes by the default"


@pytest.mark.parametrize(("parts", "is_fetched"), [("scoreboard", False), ("scoreboard seeds", True), ("", True)])
def test_where_nothing_is_run_nothing_is_fetched_for_it(parts: str, is_fetched: bool) -> None:
    """Both halves of the environment are taken for out of date."""
    command = ["make", "-n", "-W", "pyproject.toml", "proof", f"PARTS={parts}"]
    made = subprocess.run(command, capture_output=True, text=True, check=True)
    assert f"tests.proof {parts}" in made.stdout
    assert ("fetching PySpark" in made.stdout) == is_fetched


def test_an_interrupt_keeps_the_parts_that_have_ended(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> Result:
        raise KeyboardInterrupt

    monkeypatch.chdir(tmp_path)
    figures = {"runs": 1, "steps": 2, "crashes": 3, "byte_positions": 4}
    ended = Result("crashes", False, 1.0, figures, ["seed 3: a record was lost"])
    monkeypatch.setattr(program, "prove_crashes", lambda *_: ended)
    monkeypatch.setattr(program, "prove_frames", interrupted)
    monkeypatch.setattr(program, "write_document", lambda _: None)
    assert main(["crashes", "frames", "kills"]) == EXIT_INTERRUPTED
    assert load("crashes") == ended
    printed, complaint = capsys.readouterr()
    assert "crashes: seed 3: a record was lost" in printed
    assert complaint == "proof: interrupted amid frames, of which nothing is kept\n"


@pytest.mark.parametrize("name", [name for name, _, _ in AMOUNTS])
@pytest.mark.parametrize("nothing", ["0", "-5", "none"])
def test_nothing_is_not_taken_for_a_proof(name: str, nothing: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["scoreboard", f"{name}={nothing}"])
    assert ended.value.code == 2
    assert f"argument {name}: {nothing} is " in capsys.readouterr().err
