"""Faults by their names: a wrong one is told before anything is made, and all that there are can be asked for."""

from __future__ import annotations

import os
import subprocess
import sys
from argparse import Namespace
from pathlib import Path

import pytest
from tests.chaos.known_faults import known_with
from tests.chaos.program import NOT_POSSIBLE, _cluster
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


@pytest.mark.parametrize("more", [{}, {"spare_brokers": 1}, {"zookeepers": 3}])
def test_the_names_are_those_of_the_faults_of_a_cluster(tmp_path: Path, more: dict[str, int]) -> None:
    options = Namespace(**{**PLAIN, **more})
    cluster, faults = _cluster(str(tmp_path), SETTINGS, options)
    cluster.close()
    assert faults.keys() == known_with(options)
