"""One line on a terminal that says how far long work is, and makes way for whatever is printed meanwhile.

A bar of `rich` (`progress`) wants the terminal for itself; here results are printed while the work goes on. The line is
drawn by a thread, since the work is at something else.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self

from strandline.cli.output import Output

EVERY_S = 0.25
COLUMNS = 80  # of a terminal that does not say
ERASE = "\r\033[K"


class ProgressLine:
    """While it is entered, and on a terminal only."""

    def __init__(self, text: Callable[[], str]) -> None:
        self._text = text
        self.is_shown = False
        self._is_drawn = False
        self._turn = threading.Lock()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._draw_now_and_then, daemon=True)

    def __enter__(self) -> Self:
        self.is_shown = sys.stderr.isatty()
        if self.is_shown:
            # Ctrl-C is for the thread that works: it holds it back while it starts a process (`many_runs`).
            before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
            self._thread.start()
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, failure: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.is_shown:
            self._ended.set()
            self._thread.join()
            self._erase()
            self.is_shown = False

    @contextmanager
    def out_of_the_way(self) -> Iterator[None]:
        with self._turn:
            self._erase()
            yield

    def _draw_now_and_then(self) -> None:
        while not self._ended.wait(EVERY_S):
            with self._turn:
                sys.stderr.write(f"{ERASE}{self._text()[: _columns() - 1]}")
                sys.stderr.flush()
                self._is_drawn = True

    def _erase(self) -> None:
        if self._is_drawn:
            sys.stderr.write(ERASE)
            sys.stderr.flush()
            self._is_drawn = False


def _columns() -> int:
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or COLUMNS
    except OSError:
        return COLUMNS


class OutputPast(Output):
    """Standard output, and notes, that go past such a line."""

    def __init__(self, output_format: str, progress: ProgressLine) -> None:
        super().__init__(output_format)
        self._progress = progress

    def line(self, text: str) -> None:
        if not self._progress.is_shown:
            super().line(text)
            return
        with self._progress.out_of_the_way():
            super().line(text)
            self.flush()

    def note(self, text: str) -> None:
        with self._progress.out_of_the_way():
            super().note(text)
