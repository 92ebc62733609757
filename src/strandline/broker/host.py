"""What a broker asks of the process around it: the time, timers, threads for what blocks, ids that nobody else has.

Everything of the broker above the sockets gets these from here, so that it can run in a simulation too. All callbacks
come in the one thread that owns the broker's state, and never inside the call that asked for them.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Protocol, TypeVar
from uuid import UUID, uuid4

from strandline.broker import patience

Result = TypeVar("Result")


class Timer(Protocol):
    def cancel(self) -> None: ...


class Host(Protocol):
    def now_ms(self) -> int:
        """Wall-clock time, as records and retention want it. Somebody may set it, by an hour and back."""
        ...

    def elapsed_ms(self) -> int:
        """From a moment that nobody knows: for how long something takes, lags or waits, whatever the wall says."""
        ...

    def call_soon(self, callback: Callable[[], object]) -> None: ...
    def call_later(self, delay_ms: float, callback: Callable[[], object]) -> Timer: ...
    def run_in_thread(self, work: Callable[[], Result], done: Callable[[Future[Result]], object]) -> None: ...
    def unique_id(self) -> UUID: ...
    def random_below(self, limit: int) -> int:
        """That nobody can guess."""
        ...


class LoopHost:
    """The real one, on an asyncio event loop."""

    def __init__(self, threads: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="background")
        self._patience = patience.Patience(self._loop)
        self._jobs = 0

    @property
    def is_idle(self) -> bool:
        """Whether everything that was given to threads has been done and told."""
        return self._jobs == 0

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def elapsed_ms(self) -> int:
        return time.monotonic_ns() // 1_000_000

    def call_soon(self, callback: Callable[[], object]) -> None:
        self._loop.call_soon(callback)

    def post(self, callback: Callable[[], object]) -> None:
        """`call_soon` from any thread. After the end of the loop nobody hears it."""
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(callback)

    def call_later(self, delay_ms: float, callback: Callable[[], object]) -> Timer:
        if delay_ms >= patience.FROM_MS:
            return self._patience.call_later(delay_ms, callback)
        return self._loop.call_later(delay_ms / 1000, callback)

    def run_in_thread(self, work: Callable[[], Result], done: Callable[[Future[Result]], object]) -> None:
        def tell(ready: Future[Result]) -> None:
            self._jobs -= 1
            done(ready)

        self._jobs += 1
        future = self._threads.submit(work)
        future.add_done_callback(lambda ready: self._loop.call_soon_threadsafe(tell, ready))

    def unique_id(self) -> UUID:
        return uuid4()

    def random_below(self, limit: int) -> int:
        return secrets.randbelow(limit)

    def close(self) -> None:
        """Waits for the threads; what they report is not heard any more."""
        self._threads.shutdown()
