"""Timers for what nearly always comes long before: cheap to set and to cancel, and late by a tenth of a second at most.

An event loop keeps its timers in order, which costs a record that waits for its replicas more than the rest of its
waiting: nearly every one is cancelled, and the order was for nothing. Here those of the same tenth of a second share
one timer of the loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

TICK_MS = 100
FROM_MS = 5_000  # for whom a tick more is nothing


class PatientTimer:
    __slots__ = ("_callback", "_others")

    def __init__(self, callback: Callable[[], object], others: dict[PatientTimer, None]) -> None:
        """`others` are those that ring at the same time, and this one as long as it is set."""
        self._callback = callback
        self._others = others

    def cancel(self) -> None:
        self._others.pop(self, None)

    def ring(self) -> None:
        if self in self._others:  # or one before it has cancelled it
            del self._others[self]
            self._callback()


class Patience:
    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._by_tick: dict[int, dict[PatientTimer, None]] = {}

    def call_later(self, delay_ms: float, callback: Callable[[], object]) -> PatientTimer:
        tick = int((self._loop.time() * 1000 + delay_ms) // TICK_MS) + 1
        timers = self._by_tick.get(tick)
        if timers is None:
            timers = self._by_tick[tick] = {}
            self._loop.call_at(tick * TICK_MS / 1000, self._ring, tick)
        timer = PatientTimer(callback, timers)
        timers[timer] = None
        return timer

    def _ring(self, tick: int) -> None:
        """Each in a call of its own: what goes wrong in one is no matter of the others."""
        for timer in self._by_tick.pop(tick):
            self._loop.call_soon(timer.ring)
