"""Who waits until everything that a partition has appended so far is committed, in order.

With one replica nobody ever waits. With more, the high watermark follows when they have fetched; if it does not come in
time, or the partition gets another leader, the records may be committed or not, and nobody is told that they are. After
a failed write nobody is told anything. What must happen however long it takes, such as a transaction's markers, waits
in a queue without a timeout.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from strandline.broker.host import Host, Timer
from strandline.broker.partition import Partition
from strandline.model.failures import ErrorCode, Refused


class Waiting(NamedTuple):
    end_offset: int
    committed: Callable[[], object]
    failed: Callable[[Refused], object]
    timer: Timer | None


class CommitQueue:
    def __init__(self, partition: Partition, host: Host, timeout_ms: int | None) -> None:
        self._partition = partition
        self._host = host
        self._timeout_ms = timeout_ms
        self._waiting: deque[Waiting] = deque()
        self._is_looking = False

    def when_committed(self, committed: Callable[[], object], failed: Callable[[Refused], object]) -> None:
        """One of the two is called, the first at once if there is nothing to wait for."""
        end_offset = self._partition.log.log_end_offset
        if self._partition.log.failure is not None:
            failed(self._storage_failed())
            return
        if end_offset <= self._partition.high_watermark and not self._waiting:
            committed()
            return
        if not self._waiting:
            self._partition.watch(self)
        timer = None if self._timeout_ms is None else self._host.call_later(self._timeout_ms, self._time_is_up)
        self._waiting.append(Waiting(end_offset, committed, failed, timer))

    def partition_moved(self, _: Partition) -> None:
        if not self._is_looking:
            self._is_looking = True
            self._host.call_soon(self._look)

    def _look(self) -> None:
        self._is_looking = False
        if self._partition.log.failure is not None:
            self.abandon(self._storage_failed())
        while self._waiting and self._waiting[0].end_offset <= self._partition.high_watermark:
            self._next().committed()

    def _storage_failed(self) -> Refused:
        return Refused(ErrorCode.KAFKA_STORAGE_ERROR, f"{self._partition.name} is offline")

    def _time_is_up(self) -> None:
        """All have the same time, so it is the first whose time it is."""
        self._next().failed(Refused(ErrorCode.REQUEST_TIMED_OUT, "the records were not replicated in time"))

    def abandon(self, refused: Refused) -> None:
        while self._waiting:
            self._next().failed(refused)

    def _next(self) -> Waiting:
        first = self._waiting.popleft()
        if first.timer is not None:
            first.timer.cancel()
        if not self._waiting:
            self._partition.unwatch(self)
        return first
