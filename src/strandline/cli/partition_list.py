"""Partitions on the command line."""

from __future__ import annotations

import click


class PartitionList(click.ParamType[tuple[int, ...]]):
    """`0,2,5`."""

    name = "N,N"

    def convert(
        self, value: str | tuple[int, ...], param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...]:
        if isinstance(value, tuple):
            return value
        parts = value.split(",")
        if not all(part.isascii() and part.isdigit() and len(part) < 10 for part in parts):
            self.fail(f"{value!r} is not a list of partitions: write 0 or 0,2,5", param, ctx)
        return tuple(dict.fromkeys(map(int, parts)))
