"""Times on the command line: milliseconds, ISO 8601, or how long ago (`1h`, or `@-1h` as in rpk)."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime, timedelta

import click

from strandline.cli.output import EPOCH
from strandline.client.moments import UNIT_MS

AGO = re.compile(r"@?-?(?P<number>[0-9]{1,9})(?P<unit>ms|s|m|h|d|w)")
MILLISECONDS = re.compile(r"@?(?P<number>[0-9]{1,18})")


def now_ms() -> int:
    return time.time_ns() // 1_000_000


class Timestamp(click.ParamType[int]):
    name = "T"

    def convert(self, value: str | int, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        if match := MILLISECONDS.fullmatch(value):
            return int(match["number"])
        if match := AGO.fullmatch(value):
            return now_ms() - int(match["number"]) * UNIT_MS[match["unit"]]
        try:
            moment = datetime.fromisoformat(value.removeprefix("@"))
        except ValueError:
            self.fail(
                f"{value!r} is not a time; write 1700000000000, 2026-11-15T04:12:42Z or 1h, which is an hour ago",
                param,
                ctx,
            )
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        return (moment - EPOCH) // timedelta(milliseconds=1)
