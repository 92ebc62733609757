"""The commits of a group for one partition: which of them may have been the last at a moment.

That is the one that began last of those that had ended, whatever began after it, and whatever had not ended when it
began. The latter is found out once for each commit, so that a long one is not come back to from each that follows it.
What began after it is joined beforehand, in pieces: many may ask at once, and learn of the same commits.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable, Iterable, Iterator, Sequence
from functools import cached_property, reduce
from heapq import heappop, heappush
from itertools import accumulate
from typing import NamedTuple

from strandline.history.operations import Commit

NEVER_US = 2**63 - 1


class Committed(NamedTuple):
    began_us: int
    ended_us: int  # NEVER_US if its outcome is unknown: it may yet count
    timeline: Hashable
    offset: int
    commit: Commit


class Candidates(NamedTuple):
    """Commits of which any could have been the last."""

    lowest: Committed
    highest: Committed

    @classmethod
    def of(cls, committed: Committed) -> Candidates:
        return cls(committed, committed)

    def joined(self, other: Candidates) -> Candidates:
        return Candidates(
            min(self.lowest, other.lowest, key=lambda each: each.offset),
            max(self.highest, other.highest, key=lambda each: each.offset),
        )


class Joined:
    """Stretches of a list, each of which is joined from few pieces: a tree of pairs, of pairs of pairs, and so on."""

    def __init__(self, leaves: Sequence[Candidates]) -> None:
        self._count = len(leaves)
        self._nodes = [*leaves, *leaves]  # the parent of two is at half of their places; the leaves are at the end
        for index in range(self._count - 1, 0, -1):
            self._nodes[index] = self._nodes[2 * index].joined(self._nodes[2 * index + 1])

    def pieces(self, first: int, end: int) -> Iterator[Candidates]:
        first, end = first + self._count, end + self._count
        while first < end:
            if first % 2:
                yield self._nodes[first]
            if end % 2:
                yield self._nodes[end - 1]
            first, end = (first + 1) // 2, end // 2


class PlaceOfGroup:
    """What a group committed for one partition, by when it began."""

    def __init__(self, commits: list[Committed]) -> None:
        self.timelines = {each.timeline for each in commits}
        known = [each for each in commits if each.ended_us != NEVER_US]
        known.sort(key=lambda each: (each.began_us, each.commit.number))
        self._began_us = [each.began_us for each in known]
        self._beside = list(_beside(known))
        in_order_of_end = sorted((each.ended_us, index) for index, each in enumerate(known))
        self._ended_us = [ended_us for ended_us, _ in in_order_of_end]
        self._last = list(accumulate((index for _, index in in_order_of_end), max))  # to begin, of all up to each
        in_doubt = sorted((each for each in commits if each.ended_us == NEVER_US), key=lambda each: each.began_us)
        self._doubt_began_us = [each.began_us for each in in_doubt]
        self._in_doubt = list(accumulate(map(Candidates.of, in_doubt), Candidates.joined))  # all up to each

    def is_empty_until(self, known_us: int) -> bool:
        """Whether none was begun by then."""
        return not bisect_right(self._began_us, known_us) and not bisect_right(self._doubt_began_us, known_us)

    def candidates(self, began_us: int, known_us: int) -> Candidates | None:
        """Those that whoever asked between these moments may have found, or none if there is none for sure."""
        ended = bisect_right(self._ended_us, began_us)
        if not ended:
            return None
        last = self._beside[self._last[ended - 1]]
        begun, known = (bisect_right(self._began_us, moment_us) for moment_us in (began_us, known_us))
        doubtful = bisect_right(self._doubt_began_us, known_us)
        later = self._joined.pieces(begun - 1, known)  # and, beside the first of them, what else was under way
        return reduce(Candidates.joined, (*later, *self._in_doubt[doubtful - 1 : doubtful]), last)

    @cached_property
    def _joined(self) -> Joined:
        return Joined(self._beside)


def _beside(commits: list[Committed]) -> Iterable[Candidates]:
    """Of each, which are in the order in which they began, it and those before it that had not ended by then."""
    lowest: list[tuple[int, int]] = []  # offset and index
    highest: list[tuple[int, int]] = []  # the same, the offset negative
    for index, commit in enumerate(commits):
        heappush(lowest, (commit.offset, index))
        heappush(highest, (-commit.offset, index))
        for heap in (lowest, highest):
            while commits[heap[0][1]].ended_us < commit.began_us:
                heappop(heap)
        yield Candidates(commits[lowest[0][1]], commits[highest[0][1]])
