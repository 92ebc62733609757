"""From answers and procedures to asyncio, for what starts and stops a broker."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from strandline.broker.procedures import begin
from strandline.metadata.answer import Answer

Value = TypeVar("Value")


async def awaited(answer: Answer[Value]) -> Value:
    """The bridge from answers to asyncio, for the start alone."""
    future: asyncio.Future[Answer[Value]] = asyncio.get_running_loop().create_future()
    answer.then(future.set_result)
    return (await future).value()


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
