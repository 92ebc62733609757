"""What was deleted from a partition on purpose: below which offset, and by when.

A trim deletes what is there: who began to send after it had ended came to lie at or above its offset. One of unknown
outcome may happen yet.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Hashable
from heapq import nlargest
from itertools import accumulate

from strandline.history.operations import Outcome, TimedOperation, Trim

NEVER_US = 2**63 - 1


class Trims:
    def __init__(self, timeline: Callable[[TimedOperation], Hashable]) -> None:
        self._timeline = timeline
        self._noted: dict[Hashable, list[tuple[Trim, int]]] = defaultdict(list)  # by timeline, with its offset
        self._began_us: dict[Hashable, list[int]] = {}
        self._offsets: dict[Hashable, list[int]] = {}  # the highest of all up to each
        self._ended_us: dict[Hashable, list[int]] = {}
        self._offsets_left: dict[Hashable, list[int]] = {}  # the highest of each and all that ended later
        self._highest: list[tuple[int, Hashable]] = []  # those of the two timelines that come furthest

    def __bool__(self) -> bool:
        return bool(self._noted)

    def note(self, trim: Trim, offset: int) -> None:
        self._noted[self._timeline(trim)].append((trim, offset))

    def join(self, others: Trims, above: int) -> None:
        """Those of another partition that come further than this."""
        for timeline, noted in others._noted.items():
            further = [(trim, offset) for trim, offset in noted if offset > above]
            if further:
                self._noted[timeline] += further

    def settle(self) -> None:
        """Once all are noted."""
        for timeline, noted in self._noted.items():
            begins = sorted((trim.began_us, offset) for trim, offset in noted)
            self._began_us[timeline] = [began_us for began_us, _ in begins]
            self._offsets[timeline] = list(accumulate((offset for _, offset in begins), max))
            latest = sorted(((_ended_us(trim), offset) for trim, offset in noted), reverse=True)
            self._ended_us[timeline] = [ended_us for ended_us, _ in latest[::-1]]
            self._offsets_left[timeline] = list(accumulate((offset for _, offset in latest), max))[::-1]
        ends = ((offsets[-1], timeline) for timeline, offsets in self._offsets.items())
        self._highest = nlargest(2, ends, key=lambda end: end[0])

    @property
    def offset(self) -> int:
        """Below this, records may have been deleted at some time."""
        return self._highest[0][0] if self._highest else 0

    def offset_by(self, operation: TimedOperation) -> int:
        """Below this, records may have been deleted before it ended: what another clock timed may always have been."""
        if not self._highest:
            return 0
        own = self._timeline(operation)
        index = bisect_right(self._began_us.get(own, ()), operation.ended_us)
        return max(self._of_others(own), self._offsets[own][index - 1]) if index else self._of_others(own)

    def offset_since(self, operation: TimedOperation) -> int:
        """Below this, records may have been deleted after it began, or at a time of another clock."""
        if not self._highest:
            return 0
        own = self._timeline(operation)
        ended_us = self._ended_us.get(own, ())
        index = bisect_left(ended_us, operation.began_us)
        is_over = index == len(ended_us)
        return self._of_others(own) if is_over else max(self._of_others(own), self._offsets_left[own][index])

    def _of_others(self, own: Hashable) -> int:
        return next((offset for offset, timeline in self._highest if timeline != own), 0)


def _ended_us(trim: Trim) -> int:
    return NEVER_US if trim.outcome is Outcome.UNKNOWN else trim.ended_us
