"""The ordered segments of one log.

Changes replace the list instead of altering it, so that whoever took `all()` before (a reader, the cleaner in its
thread) keeps a consistent picture and is never blocked (SPEC C5).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable

from strandline.log.segment import Segment


class Segments:
    __slots__ = ("_base_offsets", "_segments", "_with_aborted", "active")

    def __init__(self, segments: Iterable[Segment]) -> None:
        self._set(sorted(segments, key=lambda segment: segment.base_offset))

    def _set(self, segments: list[Segment]) -> None:
        self._segments = segments
        self._base_offsets = [segment.base_offset for segment in segments]
        self.active = segments[-1]  # a log always has at least one segment
        self._with_aborted: list[Segment] | None = None  # None until somebody has looked

    def all(self) -> list[Segment]:
        return self._segments

    def __len__(self) -> int:
        return len(self._segments)

    @property
    def first(self) -> Segment:
        return self._segments[0]

    @property
    def base_offsets(self) -> list[int]:
        return self._base_offsets

    @property
    def size_bytes(self) -> int:
        return sum(segment.size_bytes for segment in self._segments)

    def from_offset(self, offset: int) -> list[Segment]:
        """The segment that would hold `offset` and all after it."""
        return self._segments[max(0, bisect_right(self._base_offsets, offset) - 1) :]

    def with_aborted_from(self, offset: int, has_aborted: Callable[[Segment], bool]) -> list[Segment]:
        """Those from the one that would hold `offset` on which may have aborted transactions, in order. Few do; they
        are remembered, so that a reader at the beginning of a long log need not ask all the others each time."""
        if self._with_aborted is None:
            self._with_aborted = [segment for segment in self._segments[:-1] if has_aborted(segment)]
        first = self.holding(offset).base_offset
        found = [segment for segment in self._with_aborted if segment.base_offset >= first]
        return [*found, self.active] if has_aborted(self.active) else found

    def holding(self, offset: int) -> Segment:
        place = bisect_right(self._base_offsets, offset)
        return self._segments[place - 1 if place else 0]

    def after(self, segment: Segment) -> Segment | None:
        place = bisect_right(self._base_offsets, segment.base_offset)
        return self._segments[place] if place < len(self._segments) else None

    def add(self, segment: Segment) -> None:
        self._set(sorted([*self._segments, segment], key=lambda each: each.base_offset))

    def replace(self, old: Iterable[Segment], new: Iterable[Segment]) -> None:
        gone = set(map(id, old))
        kept = [segment for segment in self._segments if id(segment) not in gone]
        self._set(sorted([*kept, *new], key=lambda segment: segment.base_offset))
