"""Exceptions that nobody foresaw: the broker logs them and goes on, as it must; here each is a bug.

What brokers log otherwise goes into the transcript. An exception of a simulated client, or of whoever looks on, is a
bug of the simulation: it says so.
"""

from __future__ import annotations

import logging
import re
import traceback
from types import TracebackType
from typing import Self

from strandline.simulation.machine import MachineHost
from strandline.simulation.world import Process, World

LOGGER = logging.getLogger("strandline")
ADDRESS = re.compile(" at 0x[0-9a-f]+")
UNFORESEEN, SIMULATOR = "Unforeseen", "Simulator"


class Unforeseen(logging.Handler):
    """While it is entered, nothing of the broker's log goes elsewhere."""

    def __init__(self, world: World, *, level: int = logging.INFO) -> None:
        super().__init__(level)
        self._world = world
        self.failures: list[tuple[str, str]] = []  # the name of what does not hold, and what was raised
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
        host = self._world.acting
        name = f"{host.machine.name} " if isinstance(host, MachineHost) else ""
        message = record.getMessage()
        if record.exc_info and record.exc_info[1] is not None:
            message = ADDRESS.sub("", message)  # of a coroutine: another in each run
            trace = "".join(traceback.format_exception(record.exc_info[1]))
            self.failures.append(blamed(host, f"{message[:200]}\n{trace}"))
        self._world.tell(f"  {name}{record.name[11:]}: {message}")


def blamed(process: Process | None, raised: str) -> tuple[str, str]:
    """Who raised it: a broker, or the simulation around it."""
    if isinstance(process, MachineHost):
        return UNFORESEEN, f"{process.machine.name}: {raised}"
    who = "whoever looks on" if process is None else process.name
    return SIMULATOR, f"the simulation itself failed, not a broker ({who}): {raised}"
