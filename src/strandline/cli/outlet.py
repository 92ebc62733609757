"""Standard output that somebody may hold up: a pipe into a pager, a terminal after Ctrl-S.

A write waits for as long as its reader likes. Python goes on with it after a signal, and asyncio hears of the signal
when the write is over: such a command could only be killed. So while it prints, Ctrl-C and SIGTERM start a clock. Who
takes nothing until it has run out gets nothing more: the rest goes nowhere, and the command ends as if it had been
interrupted before it printed that.
"""

from __future__ import annotations

import asyncio
import select
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from strandline.cli.output import let_stdout_go

ENDINGS = (signal.SIGINT, signal.SIGTERM)
PATIENCE_S = 1.0


class Outlet:
    def __init__(self) -> None:
        self.is_given_up = False

    @contextmanager
    def printing(self) -> Iterator[None]:
        handlers = dict.fromkeys(ENDINGS, self._hurry) | {signal.SIGALRM: self._look}
        before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            for number, handler in before.items():
                signal.signal(number, handler)
        if self.is_given_up:
            raise asyncio.CancelledError("nobody takes what is printed")

    def _hurry(self, _: int, __: FrameType | None) -> None:
        signal.setitimer(signal.ITIMER_REAL, PATIENCE_S, PATIENCE_S)

    def _look(self, _: int, __: FrameType | None) -> None:
        takes_more = select.select([], [sys.stdout.fileno()], [], 0)[1]
        if not takes_more:
            self.is_given_up = True
            let_stdout_go()
