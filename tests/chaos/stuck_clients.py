"""Clients that have come to a standstill by themselves, told apart from those that a cluster keeps waiting.

A librdkafka client has a main thread, which wakes at least once a second, whatever its brokers do: it has timers for
that. One that has not run for half a minute has locked itself up (seen in a consumer that had lost its session, after
hours), and no cluster could bring it back. Whoever supervises consumers replaces such a one; so does a run, and says
so. A client that is merely kept waiting wakes all the time, and stays: that it gets on is what the run has to show.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

MAIN_THREAD = "rdk:main"
CHECK_EVERY_S = 5.0
STUCK_S = 30.0
NEVER_SEEN = -1

Client = TypeVar("Client")


class ClientWatch:
    def __init__(self, when_stuck: Callable[[str], None], *, check_every_s: float = CHECK_EVERY_S) -> None:
        self._when_stuck = when_stuck
        self._check_every_s = check_every_s
        self._lock = threading.Lock()
        self._watched: dict[str, Watched] = {}
        self._ended = threading.Event()

    def start(self) -> None:
        threading.Thread(target=self._run, name="client-watch", daemon=True).start()

    def end(self) -> None:
        self._ended.set()

    def make(self, name: str, make: Callable[[], Client]) -> Client:
        """The client, which is watched from now on."""
        with self._lock:
            before = main_threads()
            made = make()
            self._watched[name] = Watched(main_threads() - before)
        return made

    def has(self, name: str) -> bool:
        """Whether it was made, and has not been forgotten."""
        return name in self._watched

    def forget(self, name: str) -> None:
        with self._lock:
            self._watched.pop(name, None)

    def check(self) -> None:
        for name, watched in list(self._watched.items()):
            if watched.stands_still() * self._check_every_s >= STUCK_S:
                self.forget(name)
                self._when_stuck(name)

    def _run(self) -> None:
        while not self._ended.wait(self._check_every_s):
            self.check()


class Watched:
    def __init__(self, threads: set[int]) -> None:
        """Others may have been made at the same time, and end before it: it is stuck when one that is there is."""
        self._switches = dict.fromkeys(threads, NEVER_SEEN)
        self._times = dict.fromkeys(threads, 0)

    @property
    def threads(self) -> set[int]:
        return set(self._switches)

    def stands_still(self) -> int:
        """How often in a row one of its threads had not moved."""
        for thread in self.threads:
            self._look_at(thread)
        return max(self._times.values(), default=0)

    def _look_at(self, thread: int) -> None:
        switches = switches_of(thread)
        if switches is None:
            del self._switches[thread], self._times[thread]
            return
        self._times[thread] = self._times[thread] + 1 if switches == self._switches[thread] else 0
        self._switches[thread] = switches


def main_threads() -> set[int]:
    """Of the librdkafka clients of this process."""
    found = set()
    for thread in os.listdir("/proc/self/task"):
        with suppress(OSError), open(f"/proc/self/task/{thread}/comm", encoding="utf-8") as file:
            if file.read().strip() == MAIN_THREAD:
                found.add(int(thread))
    return found


def switches_of(thread: int) -> int | None:
    """How often it has been given a core, or has given one back; None if it has gone, or was never a main thread.

    A new thread has its maker's name until it gives itself one: those that a main thread starts for its brokers look
    like main threads for a moment, and may sleep as long as they like.
    """
    with suppress(OSError), open(f"/proc/self/task/{thread}/status", encoding="utf-8") as file:
        fields = dict(line.rstrip("\n").split(":\t", 1) for line in file)
        if fields["Name"] == MAIN_THREAD:
            return int(fields["voluntary_ctxt_switches"]) + int(fields["nonvoluntary_ctxt_switches"])
    return None
