"""A run of the benchmarks that is broken off says so, and leaves no process and no file behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cluster.cluster_commands import WAIT_S, wait_until

CHECKOUT = Path(__file__).resolve().parents[2]
BEGUN = {
    "produce-16k": "bench-*/serve/bare",  # a bare loop beside a broker, in the middle of a flood
    "idle-partitions": "bench-*/cluster/cluster/broker-1/broker.pid",
}


@pytest.mark.parametrize("benchmark", BEGUN)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_run_that_is_broken_off_leaves_nothing(benchmark: str, number: signal.Signals, tmp_path: Path) -> None:
    run = subprocess.Popen(
        [sys.executable, "-m", "benchmarks", "--only", benchmark],
        cwd=CHECKOUT,
        env=os.environ | {"TMPDIR": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        process_group=0,
    )
    wait_until(lambda: any(tmp_path.glob(BEGUN[benchmark])))
    os.killpg(run.pid, number)  # to all of them, as Ctrl-C at a terminal is
    _, said = run.communicate(timeout=WAIT_S)
    assert (run.returncode, said) == (130, "Broken off: nothing of this run was judged or written to the history.\n")
    assert os.listdir(tmp_path) == []
    assert processes_that_name(str(tmp_path)) == []


def processes_that_name(path: str) -> list[str]:
    found = []
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = place.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:  # it has ended meanwhile
            continue
        if path in command:
            found.append(command)
    return found
