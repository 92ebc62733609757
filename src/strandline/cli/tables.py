"""Tables and progress bars. Imported only where one is really shown, because `rich` takes its time."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from rich import box
from rich.console import Console, JustifyMethod
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

PIPED_WIDTH = 1000  # nothing is wrapped where no terminal sets a limit


def print_table(title: str, columns: Iterable[str], rows: Iterable[Iterable[str]]) -> None:
    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        is_number, is_time = column.startswith("#"), column.endswith("timestamp")
        justify: JustifyMethod = "right" if is_number else "left"
        table.add_column(column.removeprefix("#"), justify=justify, overflow="fold", no_wrap=is_time)
    for row in rows:
        table.add_row(*row)
    console = Console(file=sys.stdout, width=None if sys.stdout.isatty() else PIPED_WIDTH, markup=False)
    with console.capture() as capture:
        console.print(table)
    for line in capture.get().splitlines():
        sys.stdout.write(line.rstrip() + "\n")
    sys.stdout.flush()


def progress_bar() -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
