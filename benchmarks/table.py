"""The table, for people or for programs. Lines are made one by one, so that what was measured is seen at once."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

from benchmarks.measure import Aim, Figure, Row

COLUMNS = ("what", "ours", "spread", "by CPU", "beside", "theirs", "share", "by CPU", "aim", "met")
WIDTHS = (55, 12, 6, 7, 14, 7, 6, 6, 8, 6)  # of the guarded rows; what is longer pushes the rest of its line
LEFT_ALIGNED = (0, 4)
COLOURS = {"yes": "\x1b[32m", "by CPU": "\x1b[33m", "NO": "\x1b[31m"}
PLAIN = "\x1b[0m"


def as_json(rows: Sequence[Row]) -> str:
    return json.dumps([{**asdict(row), "what": row.what.strip(), "met": row.verdict} for row in rows], indent=2)


def heading(title: str) -> str:
    return f"{title}\n{_aligned(COLUMNS)}"


def as_line(row: Row, *, has_colours: bool) -> str:
    line = _aligned(cells_of(row))
    return f"{COLOURS[row.verdict]}{line}{PLAIN}" if has_colours and row.verdict else line


def _aligned(cells: Sequence[str]) -> str:
    aligned = (
        cell.ljust(width) if number in LEFT_ALIGNED else cell.rjust(width)
        for number, (cell, width) in enumerate(zip(cells, WIDTHS, strict=True))
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
