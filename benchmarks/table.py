"""The table, for people or for programs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

from benchmarks.measure import Aim, Figure, Row

COLUMNS = ("what", "ours", "spread", "by CPU", "beside", "theirs", "share", "by CPU", "aim", "met")
LEFT_ALIGNED = (0, 4)
STYLES = {"": "", "yes": "green", "by CPU": "yellow", "NO": "red"}


def as_json(rows: Sequence[Row]) -> str:
    return json.dumps([{**asdict(row), "what": row.what.strip(), "met": row.verdict} for row in rows], indent=2)


def print_table(rows: Sequence[Row], title: str) -> None:
    try:
        from rich import box
        from rich.console import Console
        from rich.table import Table
    except ImportError:
        print(as_text(rows, title))
        return
    console = Console()
    if console.width < 120:  # a table folded into narrow cells is harder to read than plain lines
        print(as_text(rows, title))
        return
    table = Table(title=title, box=box.SIMPLE_HEAD, title_justify="left")
    for number, column in enumerate(COLUMNS):
        table.add_column(column, justify="left" if number in LEFT_ALIGNED else "right", no_wrap=True)
    for row in rows:
        table.add_row(*cells_of(row), style=STYLES[row.verdict])
    console.print(table)


def as_text(rows: Sequence[Row], title: str) -> str:
    lines = [COLUMNS, *map(cells_of, rows)]
    widths = [max(len(line[number]) for line in lines) for number in range(len(COLUMNS))]
    return "\n".join([title, *(_aligned(line, widths) for line in lines)])


def _aligned(cells: Sequence[str], widths: Sequence[int]) -> str:
    aligned = (
        cell.ljust(width) if number in LEFT_ALIGNED else cell.rjust(width)
        for number, (cell, width) in enumerate(zip(cells, widths, strict=True))
    )
    return "  ".join(aligned).rstrip()


def cells_of(row: Row) -> tuple[str, ...]:
    return (
        row.what,
        f"{_number(row.ours.wall)} {row.unit}",
        f"±{row.ours.spread:.0%}" if row.ours.spread else "",
        _number(row.ours.cpu),
        row.twin,
        _number(row.theirs.wall) if row.theirs else "",
        _share(row.share, "wall"),
        _share(row.share, "cpu"),
        _aim(row.aim, row.unit),
        row.verdict,
    )


def _number(value: float) -> str:
    if value >= 100 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def _share(share: Figure | None, which: str) -> str:
    if share is None:
        return ""
    value: float = getattr(share, which)
    return f"×{_number(value)}" if value >= 2 else f"{value:.0%}" if value >= 0.1 else f"{value:.1%}"


def _aim(aim: Aim | None, unit: str) -> str:
    if aim is None:
        return ""
    sign, bound = ("≥", aim.at_least) if aim.at_least is not None else ("≤", aim.at_most)
    return f"{sign} {bound:.0%}" if aim.of_share else f"{sign} {_number(bound or 0)} {unit}"
