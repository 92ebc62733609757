"""A process that outlives whoever started it, and is found again by its directory.

It has a session of its own, so that an interrupt at the terminal is not for it, and writes what it says to a log file.
Its pid file holds the pid and when the process began: pids are used again, and nothing may be sent to a stranger.
"""

from __future__ import annotations

import glob
import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

POLL_S = 0.01
STOP_TIMEOUT_S = 10.0
PAUSE_TIMEOUT_S = 10.0
PAUSED_STATE, GONE = "T", "X"
ZOMBIE = "Z"
DEAD_STATES = {ZOMBIE, GONE}


class ProcessFailed(Exception):
    """One sentence: which process, and what it did or did not do."""


class ServerProcess:
    def __init__(self, name: str, directory: str, command: Sequence[str], *, title: str | None = None) -> None:
        """`command` begins with the path of a program. Files have the name, sentences the title."""
        self.title = title or name
        self.log_path = f"{directory}/{name}.log"
        self._pid_path = f"{directory}/{name}.pid"
        self._command = list(command)

    @property
    def pid(self) -> int | None:
        """None when it does not run."""
        try:
            with open(self._pid_path, encoding="ascii") as file:
                pid, began = map(int, file.read().split())
        except (FileNotFoundError, ValueError):
            return None
        return pid if _beginning_of(pid) == began else None

    @property
    def is_paused(self) -> bool:
        pid = self.pid
        return pid is not None and _is_paused(pid)

    def start(self) -> None:
        if self.pid is not None:
            raise ProcessFailed(f"{self.title} runs already, as process {self.pid}.")
        log = (os.POSIX_SPAWN_OPEN, 1, self.log_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        nothing = (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)
        try:
            with _uninterrupted():
                pid = os.posix_spawn(
                    self._command[0],
                    self._command,
                    os.environ,
                    file_actions=[nothing, log, (os.POSIX_SPAWN_DUP2, 1, 2)],
                    setsid=True,
                    setsigmask=[],
                    setsigdef=[signal.SIGINT, signal.SIGPIPE],
                )
                with open(self._pid_path, "w", encoding="ascii") as file:
                    file.write(f"{pid} {_beginning_of(pid) or 0}")
        except OSError as error:
            raise ProcessFailed(f"{self.title} cannot be started: {error}.") from None

    def stop(self, timeout_s: float = STOP_TIMEOUT_S) -> bool:
        """Asks, and kills what does not listen. Whether it did."""
        self.ask_to_stop()
        has_listened = self._is_gone_within(timeout_s)
        if not has_listened:
            self.kill()
        return has_listened

    def ask_to_stop(self) -> None:
        """Returns at once. A paused process cannot listen."""
        self._send(signal.SIGTERM)
        self._send(signal.SIGCONT)

    def kill(self) -> None:
        self._send(signal.SIGKILL)
        if not self._is_gone_within(STOP_TIMEOUT_S):
            raise ProcessFailed(f"{self.title}, process {self.pid}, cannot be killed.")

    def pause(self) -> None:
        """Returns when none of its threads runs any more."""
        pid = self.pid
        if pid is not None:
            os.kill(pid, signal.SIGSTOP)
            self.wait_until(lambda: _is_paused(pid), PAUSE_TIMEOUT_S)

    def resume(self) -> None:
        self._send(signal.SIGCONT)

    def wait_until(self, is_ready: Callable[[], bool], timeout_s: float) -> None:
        """Raises `ProcessFailed` when it ends before that, or takes too long."""
        deadline = time.monotonic() + timeout_s
        while not is_ready():
            self.check_awaited(deadline, timeout_s)
            time.sleep(POLL_S)

    def check_awaited(self, deadline: float, timeout_s: float) -> None:
        """For those who wait for several. The deadline is one of `time.monotonic`."""
        if self.pid is None:
            raise ProcessFailed(f"{self.title} has ended while it was waited for; {self._last_words()}")
        if time.monotonic() > deadline:
            raise ProcessFailed(f"{self.title} was not ready within {timeout_s:g} s; {self._last_words()}")

    def _last_words(self) -> str:
        try:
            with open(self.log_path, encoding="utf-8", errors="replace") as file:
                lines = [line.strip() for line in file if line.strip()]
        except FileNotFoundError:
            lines = []
        return f"the last line of {self.log_path}: {lines[-1][:200]}" if lines else f"{self.log_path} is empty."

    def _send(self, number: signal.Signals) -> None:
        pid = self.pid
        if pid is not None:
            with suppress(ProcessLookupError):  # it has ended by itself
                os.kill(pid, number)

    def _is_gone_within(self, timeout_s: float) -> bool:
        deadline = time.monotonic() + timeout_s
        while self.pid is not None:
            if time.monotonic() > deadline:
                return False
            time.sleep(POLL_S)
        self._bury()
        return True

    def _bury(self) -> None:
        """A child of ours stays in the table of processes until its parent has asked for it."""
        try:
            with open(self._pid_path, encoding="ascii") as file:
                os.waitpid(int(file.read().split()[0]), os.WNOHANG)
        except (FileNotFoundError, ValueError, IndexError, ChildProcessError):
            return  # It was not a child of ours.


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Or a process could run that no file knows of."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _beginning_of(pid: int) -> int | None:
    """When the process began, in ticks since the machine did; None for one that is no more."""
    state, began = _state_and_beginning(f"/proc/{pid}/stat")
    if state == ZOMBIE and len(glob.glob(f"/proc/{pid}/task/*")) > 1:
        return began  # its first thread is gone; the others still hold its files and ports
    return None if state in DEAD_STATES else began


def _is_paused(pid: int) -> bool:
    threads = glob.glob(f"/proc/{pid}/task/*/stat")
    return all(_state_and_beginning(thread)[0] in {PAUSED_STATE, *DEAD_STATES} for thread in threads)


def _state_and_beginning(stat_path: str) -> tuple[str, int]:
    try:
        with open(stat_path, encoding="utf-8", errors="replace") as file:
            # The second field is the program's name, in parentheses that the name may have too.
            fields = file.read().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return GONE, 0
    return fields[0], int(fields[19])
