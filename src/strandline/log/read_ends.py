"""Where readers came to the end of a segment: whoever goes on from there needs no search.

Followers and consumers at the end of a log ask for what came since, again and again. The offset and position at which
the segment ended, when somebody read it up to there, is where they begin.
"""

from __future__ import annotations

READ_ENDS_MAX = 16


class ReadEnds(dict[int, int]):
    """Positions by offset, of the last few ends."""

    __slots__ = ()

    def note(self, log_end_offset: int, position: int) -> None:
        self[log_end_offset] = position
        if len(self) > READ_ENDS_MAX:
            del self[next(iter(self))]
