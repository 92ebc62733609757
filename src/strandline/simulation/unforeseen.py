"""Exceptions that nobody foresaw: the broker logs them and goes on, as it must; here each is a bug.

What brokers log otherwise goes into the transcript, where one is kept.
"""

from __future__ import annotations

import logging
import traceback
from types import TracebackType
from typing import Self

from strandline.simulation.world import World

LOGGER = logging.getLogger("strandline")


class Unforeseen(logging.Handler):
    """While it is entered, nothing of the broker's log goes elsewhere."""

    def __init__(self, world: World, *, level: int = logging.INFO) -> None:
        super().__init__(level)
        self._world = world
        self.failures: list[str] = []
        self._before: tuple[bool, int, list[logging.Handler]] | None = None

    def __enter__(self) -> Self:
        self._before = (LOGGER.propagate, LOGGER.level, LOGGER.handlers[:])
        LOGGER.propagate, LOGGER.handlers = False, [self]
        LOGGER.setLevel(self.level)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, failure: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._before is not None
        LOGGER.propagate, level, LOGGER.handlers = self._before
        LOGGER.setLevel(level)

    def emit(self, record: logging.LogRecord) -> None:
        self._world.keep(f"{self._world.now_us / 1000:12.3f}   {record.name[11:]}: {record.getMessage()}")
        if record.exc_info and record.exc_info[1] is not None:
            self.failures.append(
                f"{record.getMessage()[:200]}\n{''.join(traceback.format_exception(record.exc_info[1]))}"
            )
