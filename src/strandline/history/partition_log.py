"""A partition's log as clients know it: which value lies at which offset, who says so, and who has read past it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterator
from functools import cached_property
from itertools import islice
from typing import NamedTuple, TypeAlias

from strandline.history.operations import Poll, Send, TimedOperation
from strandline.history.trims import Trims
from strandline.model.partitions import TopicPartition

OFFSET_MAX = 2**63 - 1

Witness: TypeAlias = Send | Poll


class Claim(NamedTuple):
    value: str
    witness: Witness


class Stretch:
    """A part of a list of offsets, which is not copied: a consumer may go back and forth over a long one very often."""

    __slots__ = ("_begin", "_end", "_offsets")

    def __init__(self, offsets: list[int], begin: int, end: int) -> None:
        self._offsets, self._begin, self._end = offsets, begin, max(begin, end)

    def __len__(self) -> int:
        return self._end - self._begin

    def __iter__(self) -> Iterator[int]:
        return islice(self._offsets, self._begin, self._end)

    def first(self, count: int) -> list[int]:
        return self._offsets[self._begin : min(self._end, self._begin + count)]


class PartitionLog:
    def __init__(self, partition: TopicPartition, timeline: Callable[[TimedOperation], Hashable]) -> None:
        self.partition = partition
        self.claims: dict[int, Claim] = {}  # by offset; of several, the first
        self.contradictions: dict[int, dict[str, Claim]] = {}  # further ones, by offset and value
        self.place_of: dict[str, int] = {}  # the first offset at which a value was seen
        self.repeats: dict[str, list[tuple[int, Witness]]] = {}  # further ones
        self.read_values: set[str] = set()
        self.committed_offsets: set[int] = set()  # read by those who read committed records only
        self.trims = Trims(timeline)
        self.known: list[int] = []  # offsets that hold a record for sure, in order
        self.visible: list[int] = []  # those of them that readers of committed records must see
        self._stretches: list[tuple[int, int]] = []
        self._is_merged = True

    def claim(self, offset: int, value: str, witness: Witness) -> None:
        known = self.claims.get(offset)
        if known is not None and known[0] == value:
            return
        if known is None:
            self.claims[offset] = Claim(value, witness)
        else:
            self.contradictions.setdefault(offset, {}).setdefault(value, Claim(value, witness))
        if self.place_of.setdefault(value, offset) != offset:
            self.repeats.setdefault(value, []).append((offset, witness))

    def witness_of(self, value: str, offset: int) -> Witness | None:
        """The first who says that this value lies here."""
        claim = self.claims.get(offset)
        if claim is None or claim.value != value:
            claim = self.contradictions.get(offset, {}).get(value)
        return None if claim is None else claim.witness

    def is_read_at(self, offset: int, value: str) -> bool:
        return isinstance(self.witness_of(value, offset), Poll)

    @cached_property
    def lowest_free_offset(self) -> int:
        """Where the first record may lie of which nobody knows where it does."""
        return next((free for free, offset in enumerate(self.known) if free != offset), len(self.known))

    def between(self, first: int, end: int, at: TimedOperation, *, is_committed: bool) -> Stretch:
        """Offsets from `first` on and below `end` that a reader must not have passed over then."""
        offsets = self.visible if is_committed else self.known
        return Stretch(offsets, bisect_left(offsets, max(first, self.trims.offset_by(at))), bisect_left(offsets, end))

    def passed(self, first: int, last: int) -> None:
        """Somebody read from `first` to `last` without a break that would excuse what is missing."""
        self._stretches.append((first, last))
        self._is_merged = False

    def passed_by(self, poll: Poll, first: int, last: int) -> None:
        """The same, of what cannot have been deleted by then."""
        first = max(first, self.trims.offset_by(poll))
        if first <= last:
            self.passed(first, last)

    def reader_passed(self, offset: int) -> int | None:
        """How far somebody read who came past this offset, or None if nobody did."""
        if not self._is_merged:
            self._merge()
        index = bisect_left(self._stretches, (offset + 1,)) - 1
        if index < 0 or self._stretches[index][1] < offset:
            return None
        return self._stretches[index][1]

    def _merge(self) -> None:
        merged: list[tuple[int, int]] = []
        for first, last in sorted(self._stretches):
            if merged and first <= merged[-1][1]:
                merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
            else:
                merged.append((first, last))
        self._stretches, self._is_merged = merged, True
