"""What one process of the simulated world sees of it: a clock of its own, timers, threads that take a while."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from random import Random
from typing import Any, TypeVar
from uuid import UUID
from zlib import crc32

from strandline.simulation.world import Event, Process, World

ELAPSED_BEFORE_MAX_MS = 10_000_000
Result = TypeVar("Result")
ThreadTime = Callable[[], int]  # how long, in microseconds, the next piece of work of a thread takes


class SimulatedHost(Process):
    def __init__(self, world: World, name: str, *, thread_time_us: ThreadTime, chance: Random) -> None:
        super().__init__(name)
        self.world = world
        self._thread_time_us = thread_time_us
        self._chance = chance
        self._jobs = 0
        self._elapsed_before_ms = crc32(name.encode()) % ELAPSED_BEFORE_MAX_MS  # another one in each life

    @property
    def is_idle(self) -> bool:
        return self._jobs == 0

    def now_ms(self) -> int:
        return self.world.now_ms

    def elapsed_ms(self) -> int:
        """Nothing like the other clock, nor like this one of another process: whoever takes one for the other, tells it
        to others or keeps it is noticed."""
        return self.world.now_us // 1_000 + self._elapsed_before_ms

    def call_soon(self, callback: Callable[[], object]) -> None:
        self.world.after(0, callback, self)

    post = call_soon

    def call_later(self, delay_ms: float, callback: Callable[[], object]) -> Event:
        return self.world.after(int(delay_ms * 1000), callback, self)

    def run_in_thread(self, work: Callable[[], Result], done: Callable[[Future[Result]], object]) -> None:
        """The work is done in one moment, some time from now; that it is done is heard of a little later."""
        future: Future[Any] = Future()

        def run() -> None:
            try:
                future.set_result(work())
            except Exception as failure:
                future.set_exception(failure)
            self.world.after(self._chance.randrange(200), tell, self)

        def tell() -> None:
            self._jobs -= 1
            done(future)

        self._jobs += 1
        self.world.after(self._thread_time_us(), run, self)

    def unique_id(self) -> UUID:
        return UUID(int=self._chance.getrandbits(128), version=4)

    def random_below(self, limit: int) -> int:
        return self._chance.randrange(limit)

    def close(self) -> None:
        """The process ends: nothing that it asked for comes any more."""
        self.is_alive = False
