"""Timers that are cheap because they may be a little late: none is forgotten, none rings too early."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from strandline.broker.patience import TICK_MS, Patience


def on_a_loop(scene: Callable[[Patience, asyncio.AbstractEventLoop], Coroutine[Any, Any, None]]) -> None:
    async def run() -> None:
        loop = asyncio.get_running_loop()
        await asyncio.wait_for(scene(Patience(loop), loop), 10)

    asyncio.run(run())


def test_it_rings_after_its_time_and_at_most_a_tick_later() -> None:
    async def scene(patience: Patience, loop: asyncio.AbstractEventLoop) -> None:
        rung, set_s = loop.create_future(), loop.time()
        patience.call_later(30, lambda: rung.set_result(loop.time()))
        ((tick, _),) = patience._by_tick.items()
        assert set_s + 0.03 < tick * TICK_MS / 1000 <= loop.time() + 0.03 + TICK_MS / 1000
        assert await rung - set_s >= 0.03
        assert not patience._by_tick

    on_a_loop(scene)


def test_who_is_cancelled_is_not_called_nor_kept_and_the_others_are() -> None:
    async def scene(patience: Patience, _: asyncio.AbstractEventLoop) -> None:
        called: list[int] = []
        timers = [patience.call_later(20, lambda number=number: called.append(number)) for number in range(4)]  # type: ignore[misc]
        timers[1].cancel()
        timers[1].cancel()
        assert sum(map(len, patience._by_tick.values())) == 3
        patience.call_later(20, timers[3].cancel)  # which has rung then
        while patience._by_tick:
            await asyncio.sleep(0.005)
        await asyncio.sleep(0)
        assert called == [0, 2, 3]

    on_a_loop(scene)


def test_one_may_cancel_the_next_and_fail_without_harm_to_the_others() -> None:
    async def scene(patience: Patience, loop: asyncio.AbstractEventLoop) -> None:
        called: list[str] = []
        failures: list[dict[str, Any]] = []
        loop.set_exception_handler(lambda _, context: failures.append(context))

        def fail() -> None:
            second.cancel()
            raise RuntimeError("a bug")

        patience.call_later(20, fail)
        second = patience.call_later(20, lambda: called.append("second"))
        third = loop.create_future()
        patience.call_later(20, lambda: third.set_result(None))
        await third
        assert called == []
        assert len(failures) == 1

    on_a_loop(scene)
