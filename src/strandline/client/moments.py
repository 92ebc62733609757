"""Times as people write them: milliseconds, seconds, a day, an instant of ISO 8601, how long ago (`-1h`, `-1d12h`)."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
UNIT_MS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 7 * 86_400_000}
MILLISECONDS = re.compile(r"[0-9]{13}")
SECONDS = re.compile(r"[0-9]{9,10}")
DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
INSTANT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]+)?)?(Z|[+-][0-9]{2}:[0-9]{2})?")
DURATION = re.compile(r"(?P<sign>[+-]?)(?P<parts>([0-9]{1,9}(ms|s|m|h|d|w))+)")
DURATION_PART = re.compile(r"([0-9]+)(ms|s|m|h|d|w)")


class BadMoment(ValueError):
    """One sentence that says what would do."""


def parse_moment(text: str, base_ms: int) -> int:
    """Milliseconds; a length of time counts from `base_ms`."""
    text = text.removeprefix("@")
    if MILLISECONDS.fullmatch(text):
        return int(text)
    if SECONDS.fullmatch(text):
        return int(text) * 1000
    if match := DURATION.fullmatch(text):
        length_ms = sum(int(number) * UNIT_MS[unit] for number, unit in DURATION_PART.findall(match["parts"]))
        return base_ms - length_ms if match["sign"] == "-" else base_ms + length_ms
    if DAY.fullmatch(text) or INSTANT.fullmatch(text):
        try:
            moment = datetime.fromisoformat(text)
        except ValueError as error:
            raise BadMoment(f"{text!r} is not a time: {error}") from None
        moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
        return (moment - EPOCH) // timedelta(milliseconds=1)
    raise BadMoment(f"{text!r} is not a time: write 1700000000000, 2026-11-15, 2026-11-15T04:12:42Z or -1h")
