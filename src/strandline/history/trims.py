"""What was deleted from a partition on purpose: below which offset, and by when."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Hashable
from heapq import nlargest
from itertools import accumulate

from strandline.history.operations import TimedOperation, Trim


class Trims:
    def __init__(self, timeline: Callable[[TimedOperation], Hashable]) -> None:
        self._timeline = timeline
        self._noted: dict[Hashable, list[tuple[int, int]]] = defaultdict(list)  # by timeline: when it began, the offset
        self._began_us: dict[Hashable, list[int]] = {}
        self._offsets: dict[Hashable, list[int]] = {}  # the highest of all up to each
        self._highest: list[tuple[int, Hashable]] = []  # those of the two timelines that come furthest

    def __bool__(self) -> bool:
        return bool(self._noted)

    def note(self, trim: Trim, offset: int) -> None:
        self._noted[self._timeline(trim)].append((trim.began_us, offset))

    def settle(self) -> None:
        """Once all are noted."""
        for timeline, noted in self._noted.items():
            noted.sort()
            self._began_us[timeline] = [began_us for began_us, _ in noted]
            self._offsets[timeline] = list(accumulate((offset for _, offset in noted), max))
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
        of_others = next((offset for offset, timeline in self._highest if timeline != own), 0)
        index = bisect_right(self._began_us.get(own, ()), operation.ended_us)
        return max(of_others, self._offsets[own][index - 1]) if index else of_others
