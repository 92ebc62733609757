"""A broker as a process of its own: `strandline serve`, as anybody would start it.

It ends with us. Its standard input is a pipe of which we hold the other end, and it stops when that closes, so that a
test run that is killed leaves no brokers behind.
"""

from __future__ import annotations

import errno
import os
import re
import selectors
import subprocess
import time
from collections.abc import Mapping

from strandline.program import serve_command
from strandline.testing.failure import BrokerFailed, port_taken
from strandline.testing.life import START_TIMEOUT_S, STOP_TIMEOUT_S

READY = re.compile(rb"strandline is ready at \S+:(\d+) ")
SAID_CHARACTERS_MAX = 4000  # of what the broker said, in a message


class BrokerProcess:
    def __init__(self, properties: Mapping[str, str], log_path: str) -> None:
        """What it says goes to a file: a pipe that nobody reads would stop it."""
        self._listener = properties["listeners"]
        self._log_path = log_path
        self._log_position = _size(log_path)
        with open(log_path, "ab") as log:
            self.process = subprocess.Popen(
                serve_command(properties, "--until-stdin-closes"),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
            )
        try:
            self.port = self._wait_until_ready()
        except BaseException:
            self.kill()
            raise

    def said(self) -> str:
        """On standard error."""
        with open(self._log_path, encoding="utf-8", errors="replace") as log:
            log.seek(self._log_position)
            return log.read()

    def is_alive(self) -> bool:
        return self.process.poll() is None

    def stop(self) -> None:
        self.process.terminate()
        try:
            code = self.process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.kill()
            raise BrokerFailed(f"the broker did not stop within {STOP_TIMEOUT_S:g} s{self._words()}") from None
        self._close_pipes()
        if code != 0:
            raise BrokerFailed(f"the broker ended with {code} instead of a clean stop{self._words()}")

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        self._close_pipes()

    def _wait_until_ready(self) -> int:
        assert self.process.stdout is not None
        deadline = time.monotonic() + START_TIMEOUT_S
        printed = b""
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            while (match := READY.match(printed)) is None or not printed.endswith(b"\n"):
                if not selector.select(deadline - time.monotonic()):
                    raise BrokerFailed(f"the broker was not ready within {START_TIMEOUT_S:g} s{self._words()}")
                piece = self.process.stdout.read1(65536)  # type: ignore[attr-defined]
                if not piece:
                    self.process.wait()
                    if os.strerror(errno.EADDRINUSE) in self.said():
                        raise port_taken(int(self._listener.rpartition(":")[2]))
                    raise BrokerFailed(f"the broker did not start{self._words()}")
                printed += piece
        return int(match[1])

    def _words(self) -> str:
        said = self.said().strip()[-SAID_CHARACTERS_MAX:].removeprefix("strandline: ")
        return f": {said}" if said else ", and said nothing"

    def _close_pipes(self) -> None:
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()


def _size(path: str) -> int:
    try:
        with open(path, "rb") as file:
            return file.seek(0, 2)
    except FileNotFoundError:
        return 0
