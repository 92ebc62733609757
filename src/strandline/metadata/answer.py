"""What a call to a store returns at once: the place where its outcome will be.

An answer is never ready when the call returns, and callbacks never run inside the call: the store delivers answers
and watch events later, in one order, on the thread that owns it. So code may register, change its own state and
return, and cannot be entered again halfway. Neither asyncio nor threads are needed here; to await one in asyncio:

    future = loop.create_future()
    answer.then(lambda ready: future.cancelled() or future.set_result(ready))
    value = (await future).value()

A coroutine that awaits nothing but answers needs no event loop either: see `broker.procedures`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, Generic, TypeVar

from strandline.model.failures import check

Value = TypeVar("Value")


class Unanswered(Exception):
    """The outcome of an answer that is no value: the base of everything a store, or a peer, may say instead."""


class _Nothing:
    """Not even None, which is the value of some answers."""


NOTHING = _Nothing()


class Answer(Generic[Value]):
    __slots__ = ("_callbacks", "_outcome")

    def __init__(self) -> None:
        self._outcome: Value | Unanswered | _Nothing = NOTHING
        self._callbacks: list[Callable[[Answer[Value]], object]] = []

    @property
    def is_ready(self) -> bool:
        return self._outcome is not NOTHING

    @property
    def error(self) -> Unanswered | None:
        return self._outcome if isinstance(self._outcome, Unanswered) else None

    def value(self) -> Value:
        """Raises the `Unanswered` if that is the outcome."""
        outcome = self._outcome
        if isinstance(outcome, Unanswered):
            raise outcome
        if isinstance(outcome, _Nothing):
            raise AssertionError("the value of an answer that is not there yet")
        return outcome

    def then(self, callback: Callable[[Answer[Value]], object]) -> None:
        """Call with this answer once it is ready; at once if it is."""
        if self.is_ready:
            callback(self)
        else:
            self._callbacks.append(callback)

    def __await__(self) -> Generator[Answer[Any], None, Value]:
        if not self.is_ready:
            yield self  # whoever runs the coroutine goes on with it once this is ready
        return self.value()

    def deliver(self, outcome: Value | Unanswered) -> None:
        """For stores: exactly once."""
        check(not self.is_ready, "an answer was given twice")
        self._outcome = outcome
        callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback(self)
