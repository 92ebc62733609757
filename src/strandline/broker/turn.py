"""One at a time, in the order in which they came: for procedures that must not go on in the middle of one another."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TypeVar

from strandline.broker.host import Host
from strandline.broker.procedures import Procedure
from strandline.metadata.answer import Answer

Value = TypeVar("Value")


class Turn:
    __slots__ = ("_host", "_is_taken", "_waiting")

    def __init__(self, host: Host) -> None:
        self._host = host
        self._is_taken = False
        self._waiting: deque[Answer[None]] = deque()

    async def take(self, do: Callable[[], Procedure[Value]]) -> Value:
        """When those before it are done."""
        if self._is_taken:
            mine: Answer[None] = Answer()
            self._waiting.append(mine)
            await mine
        self._is_taken = True
        try:
            return await do()
        finally:
            self._give_back()

    def _give_back(self) -> None:
        if self._waiting:  # it stays taken: nobody comes in between
            following = self._waiting.popleft()
            self._host.call_soon(lambda: following.deliver(None))
        else:
            self._is_taken = False
