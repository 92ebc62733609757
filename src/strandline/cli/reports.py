"""What commands tell about a cluster, in four formats from the same rows.

text   a table of the columns that matter most       json   every row whole, one object on a line
wide   a table of all columns                        yaml   every row whole, as a list
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import click

from strandline.cli.output import Output, terminal_width

Row = Mapping[str, Any]

# What a terminal would obey, as a record's text may want it to; and what is no text at all. A new line is the table's.
UNPRINTABLE = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\ud800-\udfff]")

report_format_option = click.option(
    "--format",
    "output_format",
    type=click.Choice(["text", "wide", "json", "yaml"]),
    default="text",
    show_default=True,
    help="wide shows more columns; json prints one object on each line.",
)


class Column(NamedTuple):
    key: str  # of the row
    heading: str = ""  # the key in capital letters unless given
    is_number: bool = False
    is_wide: bool = False  # shown in the wide format only

    @property
    def title(self) -> str:
        return ("#" if self.is_number else "") + (self.heading or self.key.replace("_", " "))


class Report(Output):
    def __init__(self, output_format: str) -> None:
        super().__init__(output_format)
        self.is_yaml = output_format == "yaml"
        self.is_wide = output_format == "wide"
        self.is_text = not (self.is_json or self.is_yaml)

    def rows(self, columns: Sequence[Column], rows: Iterable[Row], *, title: str | None = None) -> None:
        """A table without its title where a program reads it."""
        if self.is_json:
            for row in rows:
                self.object(row)
        elif self.is_yaml:
            self._yaml(list(rows))
        else:
            self._table([column for column in columns if self.is_wide or not column.is_wide], list(rows), title)

    def facts(self, facts: Row) -> None:
        """A single thing: its names and values below each other."""
        if self.is_json:
            self.object(facts)
        elif self.is_yaml:
            self._yaml(facts)
        else:
            width = max(map(len, facts))
            for name, value in facts.items():
                self.line(f"{name.replace('_', ' '):<{width}}  {cell(value)}".rstrip())

    def facts_and_rows(self, facts: Row, name: str, columns: Sequence[Column], rows: Sequence[Row]) -> None:
        """A single thing and what it consists of: below it for people, for programs in it by this name."""
        if self.is_text:
            self.facts(facts)
            self.line("")
            self.rows(columns, rows)
        else:
            self.facts({**facts, name: rows})

    def _table(self, columns: Sequence[Column], rows: Sequence[Row], title: str | None) -> None:
        from strandline.cli.tables import table_lines

        if title is not None:
            self.line(click.style(title, bold=True) if sys.stdout.isatty() else title)
            self.line("")
        names = [column.title for column in columns]
        for line in table_lines(
            names, [[cell(row[column.key]) for column in columns] for row in rows], terminal_width()
        ):
            self.line(line)

    def _yaml(self, value: Any) -> None:
        from strandline.cli.yaml_text import yaml_lines

        for line in yaml_lines(value):
            self.line(line)


def cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ",".join(map(cell, value)) or "-"
    return UNPRINTABLE.sub(_escaped, str(value))


def _escaped(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode("ascii")
