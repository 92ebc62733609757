"""Ctrl-C ends a command with exit code 130 and a sentence, unless it is how the command is meant to end."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.cli.commands import ENVIRONMENT, WAIT_S

from strandline.cli.output import EXIT_INTERRUPTED

INTERRUPTED = "strandline: interrupted\n"
# A shell starts what goes on in the background with SIGINT ignored, and so may whoever runs these tests.
MAIN = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from strandline.__main__ import main
main()
"""
# Ctrl-C comes when the module that the first argument names is imported, while a class is being made.
INTERRUPTED_AT_IMPORT = """
import os, signal, sys
MODULE = sys.argv.pop(1)
class Maker:
    def __set_name__(self, owner, name):
        os.kill(os.getpid(), signal.SIGINT)
        for _ in range(1000):
            pass
class Finder:
    def find_spec(name, *_):
        if name == MODULE:
            sys.meta_path.remove(Finder)
            type("Made", (), {"maker": Maker()})
sys.meta_path.insert(0, Finder)
"""


@contextmanager
def started(*arguments: str | Path, program: str = MAIN) -> Iterator[subprocess.Popen[str]]:
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [sys.executable, "-c", program, *map(str, arguments)], stdout=pipe, stderr=pipe, text=True, env=ENVIRONMENT
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def interrupted(process: subprocess.Popen[str]) -> tuple[int, str]:
    process.send_signal(signal.SIGINT)
    _, complaints = process.communicate(timeout=WAIT_S)
    return process.returncode, complaints


def as_soon_as_read(path: str, flags: int) -> int:
    """Not for ever, if nobody reads it."""
    deadline_s = time.monotonic() + WAIT_S
    while True:
        try:
            return os.open(path, flags | os.O_NONBLOCK)
        except OSError:
            assert time.monotonic() < deadline_s
            time.sleep(0.02)


def test_a_history_that_was_not_read_to_its_end_has_no_bad_anomaly(tmp_path: Path) -> None:
    """Exit code 1 would say so."""
    pipe = tmp_path / "history.jsonl"
    os.mkfifo(pipe)
    with started("check-history", pipe) as process, open(pipe, "w", opener=as_soon_as_read) as writer:
        json.dump({"op": "send", "process": "anna", "topic": "orders", "partition": 0, "value": "a"}, writer)
        writer.flush()
        assert interrupted(process) == (EXIT_INTERRUPTED, INTERRUPTED)


@pytest.mark.parametrize(
    ("arguments", "ended"),
    [
        (("topic", "list"), (EXIT_INTERRUPTED, INTERRUPTED)),
        (("offsets", "orders"), (EXIT_INTERRUPTED, INTERRUPTED)),
        (("consume", "orders"), (0, "")),
    ],
)
def test_a_command_that_waits_for_a_broker(arguments: tuple[str, ...], ended: tuple[int, str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(WAIT_S)
        with started(*arguments, "-b", f"127.0.0.1:{silent.getsockname()[1]}") as process:
            connection, _ = silent.accept()
            with connection:
                assert interrupted(process) == ended


@pytest.mark.parametrize("module", ["strandline.cli.main", "click", "strandline.cli.simulate", "strandline.broker"])
def test_before_a_command_has_begun(module: str) -> None:
    with started(module, "simulate", program=f"{INTERRUPTED_AT_IMPORT}{MAIN[1:]}") as process:
        printed, complaints = process.communicate(timeout=WAIT_S)
    assert (process.returncode, printed, complaints) == (EXIT_INTERRUPTED, "", INTERRUPTED)
