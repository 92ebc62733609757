"""Busy and quiet times of a run. Two minutes are busy; what it lasts beyond that lies between, in some long pieces.

Faults and bursts of work come close together, where they meet one another. In between hardly anything is done and
nothing breaks, for minutes: sessions, transactions, records and what is remembered of producers expire, a cluster comes
to rest, and is struck again. Hours of that cost little, so there are many of them in a minute.
"""

from __future__ import annotations

from bisect import bisect_right
from random import Random

SECOND_US = 1_000_000
BUSY_S = 120
QUIET_TIMES = (2, 4)  # how many of them
QUIET_PAUSE_MS = (10_000, 90_000)  # of whoever has little to do
LATE_MS = 3_000  # who rests goes on that much after the others, at most


class Seasons:
    def __init__(self, chance: Random, begin_us: int, seconds: int) -> None:
        """Busy at the beginning and at the end; all the time, if there are no more seconds than that."""
        self._chance = chance
        self._begin_us, self._end_us = begin_us, begin_us + seconds * SECOND_US
        self._busy_until_us = 0
        self._bounds_us: list[int] = []  # quiet from the first to the second, from the third to the fourth…
        quiet_s = seconds - BUSY_S
        if quiet_s > 0:
            count = chance.randint(*QUIET_TIMES)
            quiet, busy = _pieces(chance, quiet_s, count), _pieces(chance, BUSY_S, count + 1)
            at_us = begin_us
            for busy_us, quiet_us in zip(busy, quiet, strict=False):
                self._bounds_us += [at_us + busy_us, at_us + busy_us + quiet_us]
                at_us += busy_us + quiet_us

    @property
    def has_quiet_times(self) -> bool:
        return bool(self._bounds_us)

    def quiet_left_us(self, now_us: int) -> int:
        """None is left while everybody is busy."""
        place = bisect_right(self._bounds_us, now_us)
        return 0 if place % 2 == 0 or now_us < self._busy_until_us else self._bounds_us[place] - now_us

    def busy_us(self, now_us: int) -> int:
        """How much of it has been busy so far, by its plan."""
        bounds_us = [min(bound_us, now_us) for bound_us in self._bounds_us]
        quiet_us = sum(end_us - begin_us for begin_us, end_us in zip(bounds_us[::2], bounds_us[1::2], strict=True))
        return max(min(now_us, self._end_us) - self._begin_us, 0) - quiet_us

    def stay_busy(self, until_us: int) -> None:
        """Something is being waited for that takes others to work."""
        self._busy_until_us = max(self._busy_until_us, until_us)

    def pause_ms(self, now_us: int, busy_pause_ms: int) -> int:
        """Of whoever would pause for that long in a busy time."""
        left_us = self.quiet_left_us(now_us)
        if not left_us:
            return busy_pause_ms
        return min(self._chance.randint(*QUIET_PAUSE_MS), left_us // 1000 + self._chance.randint(1, LATE_MS))


def _pieces(chance: Random, seconds: int, count: int) -> list[int]:
    """In microseconds; none is much smaller than the others."""
    shares = [chance.uniform(1, 4) for _ in range(count)]
    return [int(seconds * SECOND_US * share / sum(shares)) for share in shares]
