"""A progress bar for work that takes long, on a terminal only."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import ProgressColumn

WORTH_SHOWING_BYTES = 64 * 2**20
STEP_BYTES = 4 * 2**20
WORTH_SHOWING_RECORDS = 100_000
STEP_RECORDS = 5_000

Advance = Callable[[int], None]


@contextmanager
def scanning(what: str, total_bytes: int) -> Iterator[Advance]:
    """Gives a function to be called with each number of bytes read."""
    if total_bytes < WORTH_SHOWING_BYTES or not sys.stderr.isatty():
        yield _ignore
        return
    # Imported only where a bar is really shown, because `rich` takes its time.
    from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with _bar(what, total_bytes, columns, STEP_BYTES) as advance:
        yield advance


@contextmanager
def counting(what: str, total: int) -> Iterator[Advance]:
    """The same for a number of records, where these do not go to the terminal themselves."""
    if total < WORTH_SHOWING_RECORDS or not sys.stderr.isatty() or sys.stdout.isatty():
        yield _ignore
        return
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with _bar(what, total, columns, STEP_RECORDS) as advance:
        yield advance


@contextmanager
def reaching(what: str) -> Iterator[Callable[[int, int], None]]:
    """Gives a function to be called now and then with how many bytes there are, and how many there shall be."""
    if not sys.stderr.isatty():
        yield lambda *_: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


@contextmanager
def _bar(what: str, total: int, columns: Iterable[ProgressColumn], step: int) -> Iterator[Advance]:
    from rich.console import Console
    from rich.progress import Progress

    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total)
        pending = 0

        def advance(done: int) -> None:
            nonlocal pending
            pending += done
            if pending >= step:
                bar.advance(task, pending)
                pending = 0

        yield advance


def _ignore(done: int) -> None:
    """Nobody is watching."""
