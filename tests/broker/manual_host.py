"""A host whose time stands still and whose threads wait, until a test says otherwise."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from itertools import count
from typing import Any, TypeVar
from uuid import UUID

Result = TypeVar("Result")


class ManualTimer:
    def __init__(self, callback: Callable[[], object]) -> None:
        self.callback: Callable[[], object] | None = callback

    def cancel(self) -> None:
        self.callback = None


class ManualHost:
    def __init__(self, now_ms: int) -> None:
        self.time_ms = float(now_ms)
        self.clock_leap_ms = 0  # by which somebody has set the clock on the wall
        self.turns = 0  # of the event loop, in which something was done
        self._numbers = count()
        self._soon: deque[Callable[[], object]] = deque()
        self._later: list[tuple[float, int, ManualTimer]] = []
        self._threads: deque[tuple[Callable[[], Any], Callable[[Future[Any]], object]]] = deque()

    def now_ms(self) -> int:
        return int(self.time_ms) + self.clock_leap_ms

    def elapsed_ms(self) -> int:
        return int(self.time_ms)

    def call_soon(self, callback: Callable[[], object]) -> None:
        self._soon.append(callback)

    def call_later(self, delay_ms: float, callback: Callable[[], object]) -> ManualTimer:
        timer = ManualTimer(callback)
        heapq.heappush(self._later, (self.time_ms + delay_ms, next(self._numbers), timer))
        return timer

    def run_in_thread(self, work: Callable[[], Result], done: Callable[[Future[Result]], object]) -> None:
        self._threads.append((work, done))

    def unique_id(self) -> UUID:
        return UUID(int=next(self._numbers) + 1)

    def random_below(self, limit: int) -> int:
        return next(self._numbers) % limit

    @property
    def waiting_threads(self) -> int:
        return len(self._threads)

    @property
    def set_timers(self) -> int:
        return sum(timer.callback is not None for _, _, timer in self._later)

    def turn(self) -> None:
        """One turn of the event loop."""
        self.turns += bool(self._soon)
        for _ in range(len(self._soon)):
            self._soon.popleft()()

    def run_one_thread(self) -> None:
        """To its end, which comes as an event."""
        work, done = self._threads.popleft()
        future: Future[Any] = Future()
        try:
            future.set_result(work())
        except Exception as failure:
            future.set_exception(failure)
        self.call_soon(lambda: done(future))

    def run_events(self) -> None:
        while self._soon:
            self.turn()

    def settle(self) -> None:
        """Everything that does not wait for time."""
        while self._soon or self._threads:
            self.run_events()
            if self._threads:
                self.run_one_thread()

    def pass_time(self, milliseconds: float) -> None:
        end_ms = self.time_ms + milliseconds
        self.settle()
        while self._later and self._later[0][0] <= end_ms:
            self.time_ms, _, timer = heapq.heappop(self._later)
            if timer.callback is not None:
                timer.callback()
            self.settle()
        self.time_ms = end_ms
