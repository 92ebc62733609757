"""How busy a client is. It changes, as it does in life: bursts, and longer stretches in which little comes.

Each client has a pace of its own, so that at any moment some are busy and others are not, and none ever stops. A run
that is all bursts shows less for its time: what is interesting happens around faults, of which there are as many.
"""

from __future__ import annotations

from random import Random

from strandline.simulation.world import World

SECOND_US = 1_000_000
PAUSES_MS = ((5, 500), (50, 3_000), (500, 15_000))
WEIGHTS = (1, 4, 7)  # of the time
LASTS_S = (5, 40)
FOR_EVER_US = 1 << 62


class Pace:
    def __init__(self, world: World, chance: Random) -> None:
        self._world = world
        self._chance = chance
        self._until_us = 0
        self._pause_ms = PAUSES_MS[0]

    def keep_to(self, pause_ms: tuple[int, int] | None) -> None:
        """It does not change, if somebody says so."""
        if pause_ms is not None:
            self._pause_ms, self._until_us = pause_ms, FOR_EVER_US

    def hurry(self) -> None:
        """The end of the run is waited for."""
        self._pause_ms, self._until_us = PAUSES_MS[1], FOR_EVER_US

    def pause_ms(self) -> int:
        """Until it does something again."""
        if self._world.now_us >= self._until_us:
            (self._pause_ms,) = self._chance.choices(PAUSES_MS, WEIGHTS)
            self._until_us = self._world.now_us + self._chance.randint(*LASTS_S) * SECOND_US
        return self.of(self._chance.randint(*self._pause_ms))

    def of(self, busy_pause_ms: int) -> int:
        """A pause of that length, which is longer in quiet times."""
        return self._world.seasons.pause_ms(self._world.now_us, busy_pause_ms)
