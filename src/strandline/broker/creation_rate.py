"""A bound on the connections that are accepted in a second (`max.connection.creation.rate`, KIP-612).

A client that connects, is refused and connects again costs more than any request. Those beyond the rate wait in the
kernel's queue, which is what its length is for.
"""

from __future__ import annotations

from collections.abc import Callable


class CreationRate:
    """After a quiet second, as many as a second allows may come at once."""

    __slots__ = ("_clock", "_left", "_noted_s", "per_second")

    def __init__(self, per_second: int, clock: Callable[[], float]) -> None:
        self.per_second = per_second
        self._clock = clock
        self._left = float(per_second)
        self._noted_s = clock()

    def take(self) -> float:
        """0 if another connection may come now; else for how many seconds none may."""
        now_s = self._clock()
        self._left = min(self.per_second, self._left + (now_s - self._noted_s) * self.per_second)
        self._noted_s = now_s
        if self._left < 1:
            return (1 - self._left) / self.per_second
        self._left -= 1
        return 0.0
