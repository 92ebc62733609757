"""A progress bar for scans that take long, on a terminal only."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

WORTH_SHOWING_BYTES = 64 * 2**20
STEP_BYTES = 4 * 2**20

Advance = Callable[[int], None]


@contextmanager
def scanning(what: str, total_bytes: int) -> Iterator[Advance]:
    """Gives a function to be called with each number of bytes read."""
    if total_bytes < WORTH_SHOWING_BYTES or not sys.stderr.isatty():
        yield _ignore
        return
    # Imported only where a bar is really shown, because `rich` takes its time.
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total_bytes)
        pending = 0

        def advance(read_bytes: int) -> None:
            nonlocal pending
            pending += read_bytes
            if pending >= STEP_BYTES:
                bar.advance(task, pending)
                pending = 0

        yield advance


def _ignore(read_bytes: int) -> None:
    """Nobody is watching."""
