"""Replies that come one by one, and are wanted together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

R = TypeVar("R")


class Gathering(Generic[R]):
    """Replies to several commands, in the order of the commands; `done` hears them all together."""

    def __init__(self, count: int, done: Callable[[Sequence[R]], object]) -> None:
        self._replies: dict[int, R] = {}
        self._count = count
        self._done = done
        if not count:
            done([])

    def put(self, place: int, reply: R) -> None:
        self._replies[place] = reply
        if len(self._replies) == self._count:
            self._done([self._replies[place] for place in range(self._count)])
