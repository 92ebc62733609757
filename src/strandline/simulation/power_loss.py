"""What power loss decides: for everything that was not synced, whether it reached the platter.

Real machines leave no fixed order. The kernel writes pages back when it likes, the drive reorders sectors,
the file system commits names and lengths on its own schedule. A `Fate` answers each of these questions
once; `RandomFate` draws the answers, `FixedFate` gives the corner cases by name.
"""

from __future__ import annotations

from random import Random
from typing import NamedTuple, Protocol


class Fate(Protocol):
    def begin_file(self) -> None:
        """The questions up to the next call are about one file."""
        ...

    def keeps_entry(self) -> bool:
        """Whether the next un-synced creation, rename or removal survives."""
        ...

    def keeps_resize(self) -> bool: ...
    def keeps_sector(self) -> bool: ...
    def keeps_time(self) -> bool: ...
    def length(self, shortest: int, longest: int) -> int: ...


class RandomFate:
    """Each file, and all names together, have their own luck: fair coins hardly ever keep all."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._entry_luck = self._luck()
        self._sector_luck = 0.0

    def _luck(self) -> float:
        return self._random.choice((0.0, 0.5, 0.9, 1.0))

    def begin_file(self) -> None:
        self._sector_luck = self._luck()

    def keeps_entry(self) -> bool:
        return self._random.random() < self._entry_luck

    def keeps_resize(self) -> bool:
        return self._random.random() < 0.5

    def keeps_sector(self) -> bool:
        return self._random.random() < self._sector_luck

    def keeps_time(self) -> bool:
        return self._random.random() < 0.5

    def length(self, shortest: int, longest: int) -> int:
        return self._random.choice((shortest, longest, self._random.randint(shortest, longest)))


class FixedFate:
    """The first `entries_kept` changes of names survive; all lengths or none, and all sectors or none."""

    def __init__(self, entries_kept: int, *, lengths: bool, sectors: bool) -> None:
        self._entries_left = entries_kept
        self._lengths = lengths
        self._sectors = sectors

    def begin_file(self) -> None:
        pass

    def keeps_entry(self) -> bool:
        self._entries_left -= 1
        return self._entries_left >= 0

    def keeps_resize(self) -> bool:
        return self._lengths

    def keeps_sector(self) -> bool:
        return self._sectors

    def keeps_time(self) -> bool:
        return self._lengths

    def length(self, shortest: int, longest: int) -> int:
        return longest if self._lengths else shortest


class NamedFate(NamedTuple):
    name: str
    fate: FixedFate


def corner_cases(entries: int) -> list[NamedFate]:
    """The extremes first, then every prefix of the un-synced changes of names, with and without data."""
    cases = [
        NamedFate("everything lost", FixedFate(0, lengths=False, sectors=False)),
        NamedFate("everything kept", FixedFate(entries, lengths=True, sectors=True)),
        NamedFate("only names kept", FixedFate(entries, lengths=False, sectors=False)),
        NamedFate("only data kept", FixedFate(0, lengths=True, sectors=True)),
        NamedFate("names and lengths kept, zeros inside", FixedFate(entries, lengths=True, sectors=False)),
    ]
    for kept in range(1, entries):
        name = f"first {kept} of {entries} names kept"
        cases.append(NamedFate(name + ", no data", FixedFate(kept, lengths=False, sectors=False)))
        cases.append(NamedFate(name + ", all data", FixedFate(kept, lengths=True, sectors=True)))
    return cases
