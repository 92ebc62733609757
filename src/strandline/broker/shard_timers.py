"""The timers of a shard, each known by its key.

A timer that is due is due, whatever the wall clock says by then: if that was set back meanwhile, a session must still
end (KAFKA-8803). So whoever is told also hears what time it was set for.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Generic, TypeVar

from strandline.broker.host import Host, Timer

K = TypeVar("K")


class ShardTimers(Generic[K]):
    def __init__(self, host: Host, fired: Callable[[K, int], object]) -> None:
        """`fired` hears the key, and the time that was set."""
        self._host = host
        self._fired = fired
        self._running: dict[K, Timer] = {}

    def set(self, key: K, at_ms: int | None, now_ms: int) -> None:
        """In place of the one before; None for no more."""
        running = self._running.pop(key, None)
        if running is not None:
            running.cancel()
        if at_ms is not None:
            self._running[key] = self._host.call_later(at_ms - now_ms, partial(self._due, key, at_ms))

    def cancel_all(self) -> None:
        for timer in self._running.values():
            timer.cancel()
        self._running.clear()

    def _due(self, key: K, at_ms: int) -> None:
        del self._running[key]
        self._fired(key, at_ms)
