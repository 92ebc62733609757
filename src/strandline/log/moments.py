"""Times as people read them, in the sentences of plans and reports."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def moment(timestamp_ms: int) -> str:
    """In UTC to the millisecond; a number that no calendar holds (a client may send any) as that number."""
    try:
        when = EPOCH + timedelta(milliseconds=timestamp_ms)
    except OverflowError:
        return f"{timestamp_ms} ms after 1970"
    return when.isoformat(sep=" ", timespec="milliseconds").removesuffix("+00:00") + " UTC"
