"""Work that runs in threads, and the wait for its end.

A log must not be closed while a thread syncs its files. So whatever housekeeping begins is counted here, and `stop`
lets nothing new begin and says when the last of it has ended.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

from strandline.broker.host import Host
from strandline.model.failures import check

logger = logging.getLogger(__name__)

Result = TypeVar("Result")


class Background:
    def __init__(self, host: Host) -> None:
        self.is_stopping = False
        self._host = host
        self._under_way = 0
        self._when_stopped: Callable[[], object] | None = None

    def run(self, work: Callable[[], Result], done: Callable[[Future[Result]], object]) -> None:
        """`work` in a thread, then `done` in the owner's. What is begun within `done` is waited for too."""
        self.hold()

        def end(future: Future[Result]) -> None:
            try:
                done(future)
            except Exception:
                logger.exception("what a thread did could not be brought to its end")
            finally:
                self.release()

        self._host.run_in_thread(work, end)

    def hold(self) -> None:
        """Something has begun that a stop must wait for, until `release`."""
        self._under_way += 1

    def release(self) -> None:
        check(self._under_way > 0, "what ends has begun")
        self._under_way -= 1
        self._tell_if_idle()

    def stop(self, when_stopped: Callable[[], object]) -> None:
        self.is_stopping = True
        self._when_stopped = when_stopped
        self._tell_if_idle()

    def _tell_if_idle(self) -> None:
        if self._under_way == 0 and self._when_stopped is not None:
            when_stopped, self._when_stopped = self._when_stopped, None
            self._host.call_soon(when_stopped)
