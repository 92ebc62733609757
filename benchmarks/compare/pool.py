"""The client processes: given tasks, started at one word, and timed together with the brokers that serve them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from tests.interop.process import die_with_parent

from benchmarks.compare.side import CompareFailed, Side
from benchmarks.scratch import CHECKOUT

Task = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Ran:
    """What the clients found, and what it took from the first word to the last."""

    results: list[dict[str, Any]]
    wall_s: float
    cpu_s: float  # the brokers'

    def total(self, name: str) -> float:
        return float(sum(result[name] for result in self.results if name in result))


class Client:
    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.compare.client"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=CHECKOUT,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
            preexec_fn=die_with_parent,
        )

    def say(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def hear(self, expected: str) -> None:
        line = self._line()
        if line != expected:
            raise CompareFailed(f"A client failed: {json.loads(line)['error'] if line else 'it has gone'}.")

    def result(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self._line())
        if "error" in found:
            raise CompareFailed(f"A client failed: {found['error']}.")
        return found

    def _line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            with suppress(OSError, ValueError):  # what was not written yet has nobody to read it
                assert pipe is not None
                pipe.close()


class Pool:
    """As many clients as the largest load needed so far; a load that failed leaves none behind."""

    def __init__(self) -> None:
        self._clients: list[Client] = []

    def run(self, side: Side, tasks: Sequence[Task]) -> Ran:
        while len(self._clients) < len(tasks):
            self._clients.append(Client())
        clients = self._clients[: len(tasks)]
        try:
            return _run(side, clients, tasks)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        clients, self._clients = self._clients, []
        for client in clients:
            client.end()


def _run(side: Side, clients: Sequence[Client], tasks: Sequence[Task]) -> Ran:
    for client, task in zip(clients, tasks, strict=True):
        client.say(json.dumps({"bootstrap": side.bootstrap, **task}))
    for client in clients:
        client.hear("ready")
    begun_s, begun_cpu_s = time.perf_counter(), side.cpu_s()
    for client in clients:
        client.say("go")
    for client in clients:
        client.hear("done")
    wall_s, cpu_s = time.perf_counter() - begun_s, side.cpu_s() - begun_cpu_s
    return Ran([client.result() for client in clients], wall_s, cpu_s)


@contextmanager
def client_pool() -> Iterator[Pool]:
    pool = Pool()
    try:
        yield pool
    finally:
        pool.close()
