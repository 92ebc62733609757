"""Times of the simulated world as a reader has them."""

from __future__ import annotations

SECOND_US = 1_000_000


def in_seconds(duration_us: int) -> str:
    return f"{duration_us / SECOND_US:.1f} s"
