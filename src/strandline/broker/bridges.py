"""From procedures to asyncio, for what starts and stops a broker."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from strandline.broker.procedures import follow

Value = TypeVar("Value")


async def completed(procedure: Coroutine[Any, None, Value]) -> Value:
    future: asyncio.Future[Value] = asyncio.get_running_loop().create_future()

    def ended(outcome: Value | Exception) -> None:
        if future.done():
            return  # nobody waits for it any more
        if isinstance(outcome, Exception):
            future.set_exception(outcome)
        else:
            future.set_result(outcome)

    follow(procedure, ended)
    return await future
