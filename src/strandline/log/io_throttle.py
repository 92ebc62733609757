"""A bound on the bytes that background work reads and writes in a second (SPEC C6)."""

from __future__ import annotations

from collections.abc import Callable


class IoThrottle:
    """Call it with each count of bytes, after the fact: it sleeps until they are paid for. For one thread."""

    __slots__ = ("_bytes_per_second", "_free_at", "_monotonic", "_sleep")

    def __init__(
        self, bytes_per_second: float, monotonic: Callable[[], float], sleep: Callable[[float], object]
    ) -> None:
        self._bytes_per_second = bytes_per_second
        self._monotonic = monotonic
        self._sleep = sleep
        self._free_at = monotonic()

    def __call__(self, size_bytes: int) -> None:
        now = self._monotonic()
        # What was not used while idle is not saved up: a burst is what a throttle is there to prevent.
        self._free_at = max(self._free_at, now) + size_bytes / self._bytes_per_second
        if self._free_at > now:
            self._sleep(self._free_at - now)
