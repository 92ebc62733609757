"""From procedures to asyncio, for what starts and stops a broker."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from strandline.broker.procedures import begin

Value = TypeVar("Value")


async def completed(procedure: Coroutine[Any, None, Value]) -> Value:
    future: asyncio.Future[Value] = asyncio.get_running_loop().create_future()

    async def run() -> None:
        try:
            value = await procedure
        except Exception as failure:
            future.set_exception(failure)
        else:
            future.set_result(value)

    begin(run())
    return await future
