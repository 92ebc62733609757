"""One place in a partition on the command line, in the language of offsets."""

from __future__ import annotations

import click

from strandline.cli.offset_language import Anchor, BadOffset, OffsetRange, parse_offsets
from strandline.cli.times import now_ms


class OffsetPoint(click.ParamType[OffsetRange]):
    """`start`, `47`, `@-1h`: where a range may begin, without an end."""

    name = "OFFSET"

    def convert(
        self, value: str | OffsetRange, param: click.Parameter | None, ctx: click.Context | None
    ) -> OffsetRange:
        if isinstance(value, OffsetRange):
            return value
        try:
            wanted = parse_offsets((value,), now_ms())
        except BadOffset as error:
            self.fail(str(error), param, ctx)
        if wanted.end is not None or wanted.start.anchor is Anchor.STORED:
            self.fail(f"{value!r} is not one place: write start, end, 47, +5, -5, @-1h or @2026-11-15", param, ctx)
        return wanted
