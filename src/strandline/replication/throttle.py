"""Throttled replication: a reassignment, or a replica that catches up, takes no more than it is given (SPEC R11).

Two lists of each topic name the replicas that are throttled where they lead and where they follow, as pairs of
partition and broker, `0:101`, or as `*` (`leader.replication.throttled.replicas`, and the same for `follower`). Each
broker has a rate for either side (`leader.replication.throttled.rate`). Only a replica that is not in sync is ever held
back, or the throttle itself would shrink ISRs; but all that a listed replica moves is counted.

The rate is measured over some whole windows and the one that has begun, as Kafka's is: the bytes of all that are kept,
by the time since the oldest began, which counts as one window at least.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from strandline.model.settings import BadSetting
from strandline.replication.settings import ReplicationQuotaSettings

EVERYWHERE = "*"


class ThrottledReplicas:
    """One of the two lists of a topic."""

    __slots__ = ("_everywhere", "_pairs")

    def __init__(self, entries: Iterable[str]) -> None:
        entries = tuple(entries)
        self._everywhere = EVERYWHERE in entries
        self._pairs = frozenset(_pair(entry) for entry in entries if entry != EVERYWHERE)

    def has(self, partition: int, broker_id: int) -> bool:
        return self._everywhere or (partition, broker_id) in self._pairs


def _pair(entry: str) -> tuple[int, int]:
    partition, separator, broker_id = entry.partition(":")
    if not separator or not partition.isdecimal() or not broker_id.isdecimal():
        raise BadSetting(f"{entry!r} is not a throttled replica: write partition:broker, or * for all")
    return int(partition), int(broker_id)


class ReplicationThrottle:
    """How much one side of a broker has moved for throttled replicas lately."""

    __slots__ = ("_window_ms", "_windows", "_windows_max", "bytes_per_second")

    def __init__(self, settings: ReplicationQuotaSettings, bytes_per_second: int | None = None) -> None:
        self.bytes_per_second = bytes_per_second  # None: no limit
        self._window_ms = settings.replication_quota_window_size_seconds * 1000
        self._windows_max = settings.replication_quota_window_num
        self._windows: deque[tuple[int, int]] = deque()  # (start, bytes), oldest first

    def record(self, byte_count: int, now_ms: int) -> None:
        if self._windows and now_ms - self._windows[-1][0] < self._window_ms:
            start_ms, before = self._windows.pop()
            self._windows.append((start_ms, before + byte_count))
        else:
            self._windows.append((now_ms, byte_count))
        self._forget(now_ms)

    def is_exceeded(self, now_ms: int) -> bool:
        return self.bytes_per_second is not None and self.rate(now_ms) > self.bytes_per_second

    def rate(self, now_ms: int) -> float:
        """Bytes in a second."""
        self._forget(now_ms)
        if not self._windows:
            return 0.0
        elapsed_ms = max(now_ms - self._windows[0][0], self._window_ms)
        return sum(byte_count for _, byte_count in self._windows) * 1000 / elapsed_ms

    def _forget(self, now_ms: int) -> None:
        oldest_ms = now_ms - self._window_ms * self._windows_max
        while self._windows and self._windows[0][0] <= oldest_ms:
            self._windows.popleft()
