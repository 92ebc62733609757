"""`python -m tests.proof`: what it does if it is not told otherwise, and what it says of that."""

from __future__ import annotations

import subprocess

import pytest
from tests.proof.__main__ import AMOUNTS, main
from tests.proof.results import load

from strandline.cli.output import counted


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


@pytest.mark.parametrize("name", [name for name, _, _ in AMOUNTS])
@pytest.mark.parametrize("nothing", ["0", "-5", "none"])
def test_nothing_is_not_taken_for_a_proof(name: str, nothing: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["scoreboard", f"{name}={nothing}"])
    assert ended.value.code == 2
    assert f"argument {name}: {nothing} is " in capsys.readouterr().err
