"""Something that is done again and again, so long after the last time as a setting says."""

from __future__ import annotations

import logging
from collections.abc import Callable

from strandline.broker.host import Host, Timer

logger = logging.getLogger(__name__)

SHORTEST_MS = 1


class Repeating:
    """A task that fails is logged and done again all the same: the next time may be better."""

    def __init__(
        self,
        host: Host,
        task: Callable[[], object],
        interval_ms: Callable[[], float],
        first_ms: float | None = None,
    ) -> None:
        """`interval_ms` is asked each time, so that a setting may change. The first time comes no later than that."""
        self._host = host
        self._task = task
        self._interval_ms = interval_ms
        self._first_ms = first_ms
        self._timer: Timer | None = None
        self._is_stopped = False

    def start(self) -> None:
        interval_ms = self._interval_ms()
        self._arm(interval_ms if self._first_ms is None else min(self._first_ms, interval_ms))

    def stop(self) -> None:
        self._is_stopped = True
        if self._timer is not None:
            self._timer.cancel()

    def _arm(self, delay_ms: float) -> None:
        self._timer = self._host.call_later(max(SHORTEST_MS, delay_ms), self._run)

    def _run(self) -> None:
        try:
            self._task()
        except Exception:
            logger.exception("a task of housekeeping failed")
        if not self._is_stopped:
            self._arm(self._interval_ms())
