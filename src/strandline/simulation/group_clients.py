"""A simulated client that is a member of a group, of whatever protocol: what happens to it, and how busy it is.

It does not read: whatever it does for a partition begins where the group was found to be, which is all that a
coordinator is asked to keep.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import Enum
from typing import TYPE_CHECKING

from strandline.broker.peers import PeerFailed
from strandline.simulation.coordinated import CoordinatedClient

if TYPE_CHECKING:
    from strandline.simulation.grouped_load import GroupedLoad

SECOND_US = 1_000_000
AWAY_S = (10, 60)
AWAY_LOOK_MS = 500
NEVER_US = -1
FOR_EVER_US = 1 << 62
BUSY_COMMITS, QUIET_COMMITS = 0.6, 0.05  # the share of beats at which it commits


class Again(Exception):
    """It has to join again, as the member that it is or as another."""


class Fate(Enum):
    WORK = 0
    LEAVE = 1
    DIE = 2
    SLEEP = 3  # for longer than its session
    STAY_AWAY = 4  # dead, and not started again for long: nothing but its session tells
    LINGER = 5  # it is there, and does not do what others wait for: nothing but a timer of the coordinator's tells


class GroupClient(CoordinatedClient, ABC):
    def __init__(self, load: GroupedLoad, name: str, instance_id: str | None, session_timeout_ms: int) -> None:
        simulation = load.simulation
        super().__init__(load.world, simulation.network, name, simulation.names)
        self.is_stopping = False
        self.is_done = False
        self._instance_id = instance_id
        self._session_timeout_ms = session_timeout_ms
        self._positions: dict[int, int] = {}  # of its partitions
        self._next_fate: Fate | None = None  # if somebody says so
        self._back_us = 0  # from when on it is away, or lingers, no more
        self.idle_since_us = NEVER_US  # when it last left, went away, or began to linger
        self._grouped = load

    def start(self) -> None:
        self.begin(self._run())

    @property
    def is_at_work(self) -> bool:
        return bool(self._positions)

    def meet_next(self, fate: Fate) -> None:
        self._next_fate, self.idle_since_us = fate, NEVER_US

    def come_back(self) -> None:
        self._back_us = 0

    async def _run(self) -> None:
        while not self.is_stopping:
            try:
                await self._join()
                await self._work()
            except (Again, PeerFailed):
                self._positions = {}
            await self.pause(self.pace.of(self.chance.randint(10, 200)))
        await self._leave()
        self.is_done = True

    async def _work(self) -> None:
        while not self.is_stopping:
            await self._meet(self._fate())
            await self.pause(min(self.pace.pause_ms(), self._session_timeout_ms // 2))
            if self._positions and self.chance.random() < (QUIET_COMMITS if self._is_quiet else BUSY_COMMITS):
                await self._commit()
            else:
                await self._beat()

    @property
    def _is_quiet(self) -> bool:
        return self.world.seasons.quiet_left_us(self.world.now_us) > 0

    def _fate(self) -> Fate:
        if self._next_fate is not None:
            fate, self._next_fate = self._next_fate, None
            return fate
        if self._grouped.is_healed or self._is_quiet:
            return Fate.WORK
        return self.chance.choices(list(Fate), (100, 2, 1, 1, 1, 1))[0]

    async def _meet(self, fate: Fate) -> None:
        if fate is Fate.SLEEP:
            await self.pause(self._session_timeout_ms * 2)
        elif fate is Fate.LINGER:
            await self._be_about_to_linger()
        elif fate is Fate.LEAVE:
            self.idle_since_us = self.world.now_us
            await self._leave()
            raise Again
        elif fate is not Fate.WORK:
            self._forget_itself()
            if fate is Fate.STAY_AWAY:
                await self._stay_away()
            raise Again

    async def _stay_away(self) -> None:
        self._positions = {}
        self.idle_since_us = self.world.now_us
        self.world.tell(f"{self.name} stays away")
        away_us = FOR_EVER_US if self._grouped.is_healed else self.chance.randint(*AWAY_S) * SECOND_US
        self._back_us = self.world.now_us + away_us
        while self.world.now_us < self._back_us and not self.is_stopping:
            await self.pause(AWAY_LOOK_MS)

    @abstractmethod
    async def _join(self) -> None:
        """Raises `Again` and `PeerFailed`, as do all that ask."""

    @abstractmethod
    async def _leave(self) -> None:
        """If it is a member."""

    @abstractmethod
    async def _beat(self) -> None:
        """Says that it lives."""

    @abstractmethod
    async def _commit(self) -> None:
        """Does something for one of its partitions, and commits how far it is."""

    @abstractmethod
    async def _be_about_to_linger(self) -> None:
        """From when it lingers, it is idle."""

    @abstractmethod
    def _forget_itself(self) -> None:
        """It is another process now."""
