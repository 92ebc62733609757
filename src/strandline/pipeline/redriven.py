"""Which letters of a partition were sent, in a note of a few ranges: `1 12-15,20` beside the first that was not."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Self

FORMAT = "1"
NOTE_BYTES_MAX = 4000  # brokers keep 4,096 (offset.metadata.max.bytes)
LETTERS_MAX = 10_000_000  # in one note; more is somebody else's


def write_ranges(offsets: Collection[int]) -> str:
    ranges: list[list[int]] = []
    for offset in sorted(offsets):
        if ranges and ranges[-1][1] + 1 == offset:
            ranges[-1][1] = offset
        else:
            ranges.append([offset, offset])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)


def read_ranges(text: str) -> set[int]:
    """ValueError if there are none."""
    found: set[int] = set()
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        offsets = range(int(first), int(last or first) + 1)
        if not 0 < len(offsets) <= LETTERS_MAX:
            raise ValueError(part)
        found.update(offsets)
    return found


@dataclass(slots=True)
class Sent:
    """Letters of one partition that were sent."""

    offsets: set[int] = field(default_factory=set)  # at or above the committed one
    first_open: int = 0  # everything below was sent, or is gone

    @classmethod
    def read(cls, offset: int, note: str) -> Self:
        """ValueError if it is no note of ours."""
        written_in, _, ranges = note.partition(" ")
        if written_in != FORMAT:
            raise ValueError(note)
        return cls(read_ranges(ranges), offset)

    @property
    def note(self) -> str:
        return f"{FORMAT} {write_ranges(self.offsets)}"

    @property
    def has_room(self) -> bool:
        return len(self.note) <= NOTE_BYTES_MAX

    def __contains__(self, offset: int) -> bool:
        return offset < self.first_open or offset in self.offsets

    def close_up(self, log_start: int, held: Collection[int]) -> None:
        """Past all that was sent, or is not there (any more)."""
        self.first_open = max(self.first_open, log_start)
        last = max(self.offsets, default=-1)
        while self.first_open <= last and (self.first_open in self.offsets or self.first_open not in held):
            self.first_open += 1
        self.offsets = {offset for offset in self.offsets if offset >= self.first_open}
