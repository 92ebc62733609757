"""Tables that fit where they are shown.

A table stands as wide as its cells want to if there is room, and always where no terminal sets a limit. With less room
long cells are wrapped between words, but none to less than a readable width. With less than that, each row becomes a
block of `name: value` lines: a narrow terminal loses neither a column nor the shape of a word.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from textwrap import wrap

READABLE_WIDTH = 20  # a cell up to this is not wrapped
BETWEEN = "  "

Row = list[str]


def table_lines(columns: Row, rows: list[Row], width: int | None) -> Iterator[str]:
    """Columns whose name begins with `#` are numbers and stand to the right. Nothing limits the width if it is None."""
    names = [column.removeprefix("#") for column in columns]
    widths = _widths(names, rows, width)
    if widths is None:
        assert width is not None
        return _blocks(names, rows, width)
    is_number = [column.startswith("#") for column in columns]
    return _grid(names, rows, widths, is_number)


def _widths(names: Row, rows: list[Row], limit: int | None) -> list[int] | None:
    """Of each column; None if they cannot stand side by side."""
    widths = [max(map(len, cells)) for cells in zip(names, *rows, strict=True)]
    if limit is None:
        return widths
    least = [_least_width(name, cells) for name, *cells in zip(names, *rows, strict=True)]
    room = limit - len(BETWEEN) * (len(names) - 1)
    if sum(least) > room:
        return None
    while sum(widths) > room:
        widest = max(range(len(widths)), key=lambda column: (widths[column] > least[column], widths[column]))
        widths[widest] -= 1
    return widths


def _least_width(name: str, cells: Row) -> int:
    words = [word for text in (name, *cells) for word in text.split()]
    return max(*map(len, words), *(min(len(cell), READABLE_WIDTH) for cell in cells), 0)


def _grid(names: Row, rows: list[Row], widths: list[int], is_number: list[bool]) -> Iterator[str]:
    yield from _grid_row(names, widths, is_number, from_below=True)
    yield "─" * (sum(widths) + len(BETWEEN) * (len(widths) - 1))
    for row in rows:
        yield from _grid_row(row, widths, is_number)


def _grid_row(cells: Row, widths: list[int], is_number: list[bool], *, from_below: bool = False) -> Iterator[str]:
    wrapped = [_wrap(cell, width) for cell, width in zip(cells, widths, strict=True)]
    if from_below:
        height = max(map(len, wrapped))
        wrapped = [[""] * (height - len(lines)) + lines for lines in wrapped]
    for line in zip_longest(*wrapped, fillvalue=""):
        columns = zip(line, widths, is_number, strict=True)
        yield BETWEEN.join(text.rjust(width) if right else text.ljust(width) for text, width, right in columns).rstrip()


def _blocks(names: Row, rows: list[Row], width: int) -> Iterator[str]:
    indent = max(map(len, names)) + len(": ")
    for number, row in enumerate(rows):
        if number:
            yield ""
        for name, cell in zip(names, row, strict=True):
            first, *others = _wrap(cell, max(width - indent, READABLE_WIDTH))
            yield f"{name + ':':<{indent}}{first}".rstrip()
            yield from (" " * indent + line for line in others)


def _wrap(text: str, width: int) -> Row:
    return wrap(text, width, break_long_words=False, break_on_hyphens=False) or [""]
