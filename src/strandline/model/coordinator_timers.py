"""Timers in the decisions of a coordinator, of groups or of transactions: there is one for each key, a new one replaces
the old, and one without a time cancels it."""

from __future__ import annotations

from typing import Generic, NamedTuple, TypeVar

KeyT = TypeVar("KeyT")


class Timer(NamedTuple, Generic[KeyT]):
    key: KeyT
    at_ms: int | None  # None: cancelled

    def __str__(self) -> str:
        return f"timer {self.key} {'off' if self.at_ms is None else f'at {self.at_ms}'}"


class TimedDraft(Generic[KeyT]):
    """A decision in the making, as far as it is about timers."""

    __slots__ = ("_running", "_timers", "now_ms")

    def __init__(self, running: dict[KeyT, int], now_ms: int) -> None:
        """`running` are the coordinator's own, with their times; they change when the decision is made."""
        self.now_ms = now_ms
        self._running = running
        self._timers: dict[KeyT, int | None] = {}

    def set_timer(self, key: KeyT, delay_ms: int) -> None:
        self._timers[key] = self.now_ms + delay_ms

    def cancel_timer(self, key: KeyT) -> None:
        if key in self._running:
            self._timers[key] = None
        else:
            self._timers.pop(key, None)

    def _decided_timers(self) -> tuple[Timer[KeyT], ...]:
        for key, at_ms in self._timers.items():
            if at_ms is None:
                self._running.pop(key, None)
            else:
                self._running[key] = at_ms
        return tuple(Timer(key, at_ms) for key, at_ms in self._timers.items())
