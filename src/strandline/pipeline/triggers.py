"""How often a pipeline looks for records: `once`, or a length of time as people write it.

Spark takes whole words, and fractions of seconds alone, so that a length goes to it in milliseconds.
"""

from __future__ import annotations

import re

ONCE = "once"
LENGTH = re.compile(r"(?P<number>[0-9]{1,9}(\.[0-9]{1,9})?) *(?P<unit>[a-z]+)")
UNIT_MS = {
    **dict.fromkeys(("ms", "millisecond", "milliseconds"), 1),
    **dict.fromkeys(("s", "second", "seconds"), 1000),
    **dict.fromkeys(("m", "minute", "minutes"), 60_000),
    **dict.fromkeys(("h", "hour", "hours"), 3_600_000),
    **dict.fromkeys(("day", "days"), 86_400_000),
}
LENGTH_MAX_MS = 365 * UNIT_MS["day"]


def milliseconds_of(length: str) -> int | None:
    """None where it is none that can be used: a part of a millisecond, or more than a year."""
    match = LENGTH.fullmatch(length)
    if match is None or match["unit"] not in UNIT_MS:
        return None
    exact_ms = float(match["number"]) * UNIT_MS[match["unit"]]
    is_whole = exact_ms == int(exact_ms)
    return int(exact_ms) if is_whole and exact_ms <= LENGTH_MAX_MS else None
