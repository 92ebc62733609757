"""`strandline` as a process of its own, in a directory of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from strandline.cluster.cluster_plan import ClusterRefused
from strandline.cluster.process_cluster import ProcessCluster

SOURCE = Path(__file__).parent.parent.parent / "src"
ENVIRONMENT = {
    **{name: value for name, value in os.environ.items() if not name.startswith("STRANDLINE_")},
    "PYTHONPATH": str(SOURCE),
    "PYTHONUNBUFFERED": "1",
}
WAIT_S = 60.0


def _hear_interrupts() -> None:
    """As from a terminal: tests that run in the background of a shell were born deaf to Ctrl-C, and so are children."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class ClusterCommands:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = dict(ENVIRONMENT)
        self._started: list[subprocess.Popen[str]] = []

    def run(self, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self._command(*arguments),
            cwd=self.folder,
            env=self.environment,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=WAIT_S,
            check=False,
        )

    def __call__(self, *arguments: str, stdin: str = "") -> str:
        done = self.run(*arguments, stdin=stdin)
        assert done.returncode == 0, done.stderr + done.stdout
        return done.stdout

    def refused(self, *arguments: str) -> str:
        """The one sentence that goes with exit code 1."""
        done = self.run(*arguments)
        assert done.returncode == 1, done.stderr + done.stdout
        assert done.stderr.count("\n") == 1, done.stderr
        return done.stderr.removeprefix("strandline: ").rstrip("\n")

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        started = subprocess.Popen(
            self._command(*arguments),
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            preexec_fn=_hear_interrupts,
        )
        self._started.append(started)
        return started

    def close(self) -> None:
        """Nothing is left running, also of a test that fails."""
        for started in self._started:
            started.kill()
            started.wait()
            assert started.stdout is not None
            started.stdout.close()
        for plan in self.folder.glob("*/cluster.json"):
            with suppress(ClusterRefused):  # a damaged one
                ProcessCluster.find(plan.parent).kill_all()

    def status(self) -> dict[str, Any]:
        found = json.loads(self("cluster", "status", "--format", "json"))
        assert isinstance(found, dict)
        return found

    def states(self) -> dict[str, str]:
        return {row["process"]: row["state"] for row in self.status()["processes"]}

    def in_sync(self, topic: str, bootstrap: str) -> list[int]:
        rows = self("cluster", "partitions", "--format", "json", "-b", bootstrap).splitlines()
        (found,) = (row for row in map(json.loads, rows) if row["topic"] == topic)
        return sorted(found["in_sync"])

    @staticmethod
    def _command(*arguments: str) -> list[str]:
        return [sys.executable, "-m", "strandline", *arguments]


def wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WAIT_S
    while not holds():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.05)
