"""Servers under load: a broker or a bare loop in a process of its own, and what its process has cost."""

from __future__ import annotations

import os
import re
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tests.interop.process import die_with_parent

from benchmarks.measure import Timing
from benchmarks.scratch import CHECKOUT

READY = re.compile(r"ready at \S+:(\d+)")


@dataclass(frozen=True, slots=True)
class Served:
    pid: int
    port: int
    ready_s: float

    def cpu_s(self) -> float:
        """User and system time of all its threads, in nanoseconds where `ps` has hundredths of a second."""
        nanoseconds = 0
        for task in os.listdir(f"/proc/{self.pid}/task"):
            with open(f"/proc/{self.pid}/task/{task}/schedstat", encoding="ascii") as file:
                nanoseconds += int(file.read().split()[0])
        return nanoseconds / 1e9

    def resident_bytes(self) -> int:
        with open(f"/proc/{self.pid}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Meter:
    """The wall time of a turn here, and the CPU time of the server meanwhile."""

    def __init__(self, served: Served) -> None:
        self._served = served
        self._cpu_s = served.cpu_s()
        self._wall_s = time.perf_counter()

    def timing(self) -> Timing:
        return Timing(time.perf_counter() - self._wall_s, self._served.cpu_s() - self._cpu_s)


@contextmanager
def broker(folder: str, *settings: str) -> Iterator[Served]:
    command = [sys.executable, "-m", "strandline", "serve", "--data", folder, "--port", "0"]
    with _started([*command, *(word for setting in settings for word in ("--set", setting))]) as (
        process,
        line,
        ready_s,
    ):
        match = READY.search(line)
        if match is None:
            raise RuntimeError(f"the broker did not start: {line!r}")
        yield Served(process.pid, int(match[1]), ready_s)


@contextmanager
def bare_loop(kind: str, *arguments: str) -> Iterator[Served]:
    with _started([sys.executable, "-m", "benchmarks.bare_loop", kind, *arguments]) as (process, line, ready_s):
        yield Served(process.pid, int(line), ready_s)


def installed_environment() -> dict[str, str]:
    """As after an installation: with bytecode on the disk, whatever whoever runs this has forbidden."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return kept | {"PYTHONPYCACHEPREFIX": f"{CHECKOUT}/data/bytecode"}


@contextmanager
def _started(command: list[str]) -> Iterator[tuple[subprocess.Popen[str], str, float]]:
    """In a group of its own: Ctrl-C is for the run, which ends its servers before it removes their files."""
    begun_s = time.perf_counter()
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        text=True,
        cwd=CHECKOUT,
        env=installed_environment(),
        process_group=0,
        preexec_fn=die_with_parent,
    ) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            yield process, line, time.perf_counter() - begun_s
        finally:
            process.terminate()
            process.wait()  # by itself, `Popen` waits for a quarter of a second where it is left by Ctrl-C


def allow_descriptors(count: int) -> None:
    """For as many as a load needs at once, here and in what is started from here."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < count:
        resource.setrlimit(
            resource.RLIMIT_NOFILE, (count if hard == resource.RLIM_INFINITY else min(count, hard), hard)
        )
