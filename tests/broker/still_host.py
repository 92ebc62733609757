"""A host whose time stands still until it is told to pass, and whose threads work when they are told to."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar
from uuid import UUID

Result = TypeVar("Result")


class StillTimer:
    def __init__(self, at_ms: float, callback: Callable[[], object]) -> None:
        self.at_ms = at_ms
        self.callback: Callable[[], object] | None = callback

    def cancel(self) -> None:
        self.callback = None


class StillHost:
    def __init__(self) -> None:
        self.wall_clock_ms = 1_700_000_000_000
        self._passed_ms = 0.0
        self._timers: list[StillTimer] = []
        self._soon: deque[Callable[[], object]] = deque()
        self._work: deque[Callable[[], None]] = deque()
        self._ids = 0

    def now_ms(self) -> int:
        return self.wall_clock_ms

    def call_soon(self, callback: Callable[[], object]) -> None:
        self._soon.append(callback)

    def call_later(self, delay_ms: float, callback: Callable[[], object]) -> StillTimer:
        timer = StillTimer(self._passed_ms + delay_ms, callback)
        self._timers.append(timer)
        return timer

    def run_in_thread(self, work: Callable[[], Result], done: Callable[[Future[Result]], object]) -> None:
        def run() -> None:
            future: Future[Result] = Future()
            try:
                future.set_result(work())
            except Exception as failure:
                future.set_exception(failure)
            done(future)

        self._work.append(run)

    def unique_id(self) -> UUID:
        self._ids += 1
        return UUID(int=self._ids)

    # For tests.

    @property
    def set_timers(self) -> int:
        return sum(timer.callback is not None for timer in self._timers)

    def turn(self) -> None:
        """Whatever is due now, but no thread."""
        while self._soon:
            self._soon.popleft()()

    def work(self) -> bool:
        """The next piece that waits for a thread; False where there is none."""
        if not self._work:
            return False
        self._work.popleft()()
        self.turn()
        return True

    def settle(self) -> None:
        self.turn()
        while self.work():
            pass

    def pass_time(self, ms: int) -> None:
        until_ms = self._passed_ms + ms
        while due := [timer for timer in self._timers if timer.callback is not None and timer.at_ms <= until_ms]:
            first = min(due, key=lambda timer: timer.at_ms)
            self._advance_to(first.at_ms)
            self._timers.remove(first)
            assert first.callback is not None
            first.callback()
            self.turn()
        self._advance_to(until_ms)

    def _advance_to(self, at_ms: float) -> None:
        self.wall_clock_ms += int(at_ms - self._passed_ms)
        self._passed_ms = at_ms
