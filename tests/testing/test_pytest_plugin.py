"""The pytest plugin, by running pytest on small test files."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

PLUGIN = "strandline.testing.pytest_plugin"
SOURCE = Path(__file__).resolve().parents[2] / "src"
IS_INSTALLED = any(point.value == PLUGIN for point in entry_points(group="pytest11"))


def run_pytest(folder: Path, test: str, *options: str, conftest: str = "") -> str:
    (folder / "test_mine.py").write_text(test)
    (folder / "conftest.py").write_text(conftest)
    plugin = [] if IS_INSTALLED else ["-p", PLUGIN]
    command = [sys.executable, "-m", "pytest", "-p", "no:randomly", "-q", "--strict-markers", "-W", "error"]
    run = subprocess.run(
        [*command, "-p", "no:cacheprovider", *plugin, *options, "."],
        cwd=folder, env={**os.environ, "PYTHONPATH": str(SOURCE)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return run.stdout + run.stderr


def test_each_test_has_an_empty_broker_of_its_own(tmp_path: Path) -> None:
    output = run_pytest(
        tmp_path,
        """
import os, socket
seen = []

def connects(broker):
    socket.create_connection(("127.0.0.1", broker.port)).close()
    seen.append(broker.data)
    return True

def test_one(strandline): assert connects(strandline)
def test_two(strandline): assert connects(strandline) and not os.path.exists(seen[0])
""",
    )
    assert "2 passed" in output, output


def test_one_broker_is_shared_by_a_session_and_settings_are_a_fixture(tmp_path: Path) -> None:
    output = run_pytest(
        tmp_path,
        """
from pathlib import Path
ports = set()
def test_one(strandline_broker): ports.add(strandline_broker.port)
def test_two(strandline_broker): ports.add(strandline_broker.port); assert len(ports) == 1
def test_three(strandline): assert "=41" in Path(strandline.data, "meta.properties").read_text()
""",
        conftest="""
import pytest
@pytest.fixture(scope="session")
def strandline_settings(): return {"broker.id": 41}
""",
    )
    assert "3 passed" in output, output


def test_a_mark_has_arguments_for_one_test(tmp_path: Path) -> None:
    output = run_pytest(
        tmp_path,
        """
import os, pytest
from pathlib import Path
@pytest.mark.strandline(process=True, settings={"broker.id": 5})
def test_it(strandline):
    assert strandline.pid != os.getpid()
    assert "=5" in Path(strandline.data, "meta.properties").read_text()
""",
    )
    assert "1 passed" in output, output


def test_a_run_that_uses_no_broker_imports_none(tmp_path: Path) -> None:
    """Everybody who has Strandline installed has this plugin in every run."""
    output = run_pytest(
        tmp_path,
        """
import sys
def test_it(): assert {name for name in sys.modules if name.startswith("strandline.")} <= {
    "strandline.testing", "strandline.testing.broker", "strandline.testing.cluster", "strandline.testing.failure",
    "strandline.testing.life", "strandline.testing.properties", "strandline.testing.pytest_plugin"}
""",
    )
    assert "1 passed" in output, output


def test_a_fixture_of_the_same_name_wins(tmp_path: Path) -> None:
    output = run_pytest(
        tmp_path,
        "def test_it(strandline): assert strandline == 'mine'",
        conftest="import pytest\n@pytest.fixture\ndef strandline(): return 'mine'",
    )
    assert "1 passed" in output, output


def test_a_broker_that_cannot_start_is_an_error_in_one_sentence(tmp_path: Path) -> None:
    output = run_pytest(
        tmp_path,
        """
import pytest
@pytest.mark.strandline(num_partitions=0)
def test_it(strandline): pass
""",
        "--tb=line",
    )
    assert "the broker did not start: num.partitions='0': must be at least 1" in output, output
