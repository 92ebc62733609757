"""The calls of one session on their way: so many in flight, the others waiting, answered in the order they were made.

A call is *sent* when there is room, and *settled* when its outcome is known: by the server's answer, or because the
connection or the session came to its end. Answers leave from the head of the queue alone, whatever order the outcomes
come in. A call that needs no server is settled from the start, and still waits its turn.

There is one exception to the order: a call for which there is no room is refused at once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any, Generic, TypeVar

from strandline.metadata.answer import Answer
from strandline.metadata.errors import StoreError, TooManyCalls

Value = TypeVar("Value")
Post = Callable[[Callable[[], object]], object]  # run this soon, on the owner's thread
Settle = Callable[[Any], None]  # with the value, or the `StoreError`
Send = Callable[[Settle], object]


class Call(Generic[Value]):
    __slots__ = ("answer", "is_alone", "is_settled", "on_success", "outcome", "send")

    def __init__(self, send: Send, on_success: Callable[[], object] | None = None, *, is_alone: bool = False) -> None:
        self.answer: Answer[Value] = Answer()
        self.send = send
        self.on_success = on_success
        self.is_alone = is_alone
        self.is_settled = False
        self.outcome: Any = None

    def settle(self, outcome: Any) -> None:
        """The first outcome counts: what comes after a connection was given up is not an answer any more."""
        if not self.is_settled:
            self.is_settled, self.outcome = True, outcome

    def deliver(self) -> None:
        if self.on_success is not None and not isinstance(self.outcome, StoreError):
            self.on_success()
        self.answer.deliver(self.outcome)


class CallQueue:
    def __init__(self, post: Post, *, in_flight_max: int, waiting_max: int) -> None:
        self._post = post
        self._in_flight_max = in_flight_max
        self._waiting_max = waiting_max
        self._in_flight: deque[Call[Any]] = deque()
        self._waiting: deque[Call[Any]] = deque()
        self._is_delivery_posted = False

    @property
    def is_empty(self) -> bool:
        return not self._in_flight and not self._waiting

    def make(
        self, send: Send, on_success: Callable[[], object] | None = None, *, is_alone: bool = False
    ) -> Answer[Any]:
        """`send` is called once there is room. A call that is alone waits until none is in flight."""
        return self._add(Call(send, on_success, is_alone=is_alone))

    def settled(self, outcome: Any) -> Answer[Any]:
        """A call whose outcome is known already: an answer in its turn."""
        call: Call[Any] = Call(send=_not_sent)
        call.settle(outcome)
        return self._add(call)

    def settle_all(self, outcome: Any) -> None:
        for call in (*self._in_flight, *self._waiting):
            call.settle(outcome)
        self._deliver()

    def _add(self, call: Call[Any]) -> Answer[Any]:
        if len(self._waiting) >= self._waiting_max and not self._has_room_for(call):
            refusal = TooManyCalls(len(self._waiting))
            self._post(lambda: call.answer.deliver(refusal))
        else:
            self._waiting.append(call)
            self._send_more()
        return call.answer

    def _has_room_for(self, call: Call[Any]) -> bool:
        if call.is_alone:
            return not self._in_flight
        return len(self._in_flight) < self._in_flight_max

    def _send_more(self) -> None:
        while self._waiting and self._has_room_for(self._waiting[0]):
            call = self._waiting.popleft()
            self._in_flight.append(call)
            if not call.is_settled:
                call.send(partial(self._settle, call))
        if self._is_head_settled and not self._is_delivery_posted:
            self._is_delivery_posted = True
            self._post(self._deliver_posted)

    @property
    def _is_head_settled(self) -> bool:
        return bool(self._in_flight) and self._in_flight[0].is_settled

    def _settle(self, call: Call[Any], outcome: Any) -> None:
        call.settle(outcome)
        self._deliver()

    def _deliver_posted(self) -> None:
        self._is_delivery_posted = False
        self._deliver()

    def _deliver(self) -> None:
        """Those in flight now: a callback may ask again at once, and must not keep us here for ever."""
        try:
            for _ in range(len(self._in_flight)):
                if self._is_head_settled:
                    self._in_flight.popleft().deliver()
        finally:
            # A callback that fails costs the others a turn, and nothing else.
            self._send_more()


def _not_sent(_: Settle) -> None:
    """A settled call is never sent."""
