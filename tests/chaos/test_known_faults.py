"""What chaos is asked for: a wrong fault is told before anything is made, all that there are can be asked for, and a
directory that cannot be one is refused."""

from __future__ import annotations

import os
import subprocess
import sys
from argparse import Namespace
from pathlib import Path

import pytest
from tests.chaos import program
from tests.chaos.known_faults import known_with
from tests.chaos.program import INTERRUPTED, NOT_POSSIBLE, _cluster, main
from tests.chaos.run import SETTINGS

PLAIN = {"network": False, "spark": False, "spare_brokers": 0, "zookeepers": 1, "session_ms": 4000, "seed": 1}


def test_a_wrong_name_leaves_nothing_behind(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.chaos", "--faults", "kill-leader,nosuch"],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == NOT_POSSIBLE
    assert done.stdout == ""
    assert done.stderr.startswith("chaos: there is no nosuch with these options; there are bounce-controller, ")
    assert not list(tmp_path.iterdir())


def test_cycles_or_minutes_and_not_both(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["tests.chaos", "--cycles", "1", "--minutes", "1"])
    with pytest.raises(SystemExit, match=f"^{NOT_POSSIBLE}$"):
        main()
    assert "argument --minutes: not allowed with argument --cycles" in capsys.readouterr().err


@pytest.mark.parametrize("path", ["{file}", "{file}/chaos", "/proc/chaos", "/proc"])
def test_a_directory_that_cannot_be_one_is_a_sentence(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """And no traceback, whose exit code says that a promise was broken."""
    (tmp_path / "file").touch()
    directory = path.format(file=tmp_path / "file")
    monkeypatch.setattr(sys, "argv", ["tests.chaos", "--directory", directory])
    assert main() == NOT_POSSIBLE
    assert capsys.readouterr().err.startswith(f"chaos: the run cannot be kept in {directory}: ")


def test_so_is_one_that_an_earlier_run_has_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "cluster" / "broker-1").mkdir(parents=True)
    monkeypatch.setattr(sys, "argv", ["tests.chaos", "--directory", str(tmp_path)])
    assert main() == NOT_POSSIBLE
    assert capsys.readouterr().err.startswith(f"chaos: {tmp_path}/cluster has in it what is not a cluster's")


def test_whoever_interrupts_a_run_reads_a_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(sys, "argv", ["tests.chaos"])
    monkeypatch.setattr(program, "_run", interrupted)
    assert main() == INTERRUPTED
    assert capsys.readouterr().err == "chaos: interrupted; the histories were not checked\n"


@pytest.mark.parametrize("more", [{}, {"spare_brokers": 1}, {"zookeepers": 3}])
def test_the_names_are_those_of_the_faults_of_a_cluster(tmp_path: Path, more: dict[str, int]) -> None:
    options = Namespace(**{**PLAIN, **more})
    cluster, faults = _cluster(str(tmp_path), SETTINGS, options)
    cluster.close()
    assert faults.keys() == known_with(options)
