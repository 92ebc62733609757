"""A program as a child that is always ended; its log goes to a file, a line of which says it is ready."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Self

START_TIMEOUT_SECONDS = 90
STOP_TIMEOUT_SECONDS = 60
PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None)


def die_with_parent() -> None:
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Child:
    """Started by `with`; leaving the block stops it as `kill` would, and by force if that takes too long."""

    def __init__(self, command: Sequence[str], log_file: Path, ready_line: str) -> None:
        self._command = list(command)
        self._log_file = log_file
        self._ready_line = ready_line
        self._ready_or_gone = threading.Event()
        self._is_ready = False
        self.environment = os.environ | {"LC_ALL": "C.UTF-8", "PYTHONPATH": os.pathsep.join(sys.path)}

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            self._command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
            preexec_fn=die_with_parent,
            env=self.environment,
        )
        assert self._process.stdout is not None
        self._reader = threading.Thread(target=self._keep_log, args=(self._process.stdout,), daemon=True)
        self._reader.start()
        self._ready_or_gone.wait(START_TIMEOUT_SECONDS)
        if not self._is_ready:
            self.kill()
            raise RuntimeError(f"{self._ready_line!r} did not appear; the log ends with:\n{self.log_tail()}")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """A clean stop: the server's own shutdown hook runs to its end."""
        if self._process.poll() is not None:
            return
        self._process.terminate()
        try:
            self._process.wait(STOP_TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            raise RuntimeError(f"the server did not stop; the log ends with:\n{self.log_tail()}") from None
        self._reader.join()

    def kill(self) -> None:
        """kill -9: nothing of the server's runs after this."""
        self._process.kill()
        self._process.wait()
        self._reader.join()

    @property
    def pid(self) -> int:
        return self._process.pid

    def log_tail(self, lines: int = 30) -> str:
        return "\n".join(self.log().splitlines()[-lines:])

    def log(self) -> str:
        return self._log_file.read_text("utf-8")

    def _keep_log(self, output: IO[str]) -> None:
        with output, self._log_file.open("w", encoding="utf-8") as kept:
            for line in output:
                kept.write(line)
                kept.flush()
                if not self._is_ready and self._ready_line in line:
                    self._is_ready = True
                    self._ready_or_gone.set()
        self._ready_or_gone.set()
