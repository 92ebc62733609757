"""Requests over a simulated line, as any client of the protocol makes them: in order, each with its patience.

Who loses patience with one request hangs up, and all that were under way on the line have failed: what became of them
is not known.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, TypeVar

from strandline.broker.peers import PeerFailed
from strandline.client.connection import HearBegun
from strandline.metadata.answer import Answer
from strandline.simulation.network import Line, Network
from strandline.simulation.simulated_host import SimulatedHost
from strandline.simulation.world import Event
from strandline.wire.asking import decoder_of, parts_of
from strandline.wire.header import decode_correlation_id, frame_request, response_body
from strandline.wire.layout import Message

M = TypeVar("M", bound=Message)
SIZE_BYTES = 4


class Call:
    __slots__ = ("answer", "api_key", "correlation_id", "deadline", "hear_begun", "response", "version")

    def __init__(
        self,
        correlation_id: int,
        api_key: int,
        version: int,
        response: type[Any],
        answer: Answer[Any],
        deadline: Event,
        hear_begun: HearBegun | None,
    ) -> None:
        self.correlation_id = correlation_id
        self.api_key = api_key
        self.version = version
        self.response = response
        self.answer = answer
        self.deadline = deadline
        self.hear_begun = hear_begun


class Caller:
    """One line to one broker; it may be used until `is_open` is false."""

    def __init__(self, network: Network, host: SimulatedHost, place: str, target: str, client_id: str) -> None:
        self._host = host
        self._client_id = client_id.encode()
        self._line: Line = network.dial(host, place, self, target)
        self._calls: deque[Call] = deque()
        self._correlation_id = 0
        self._buffer = b""
        self.is_open = True
        self.when_hung_up: Callable[[], object] = lambda: None

    @property
    def in_flight(self) -> int:
        return len(self._calls)

    def ask(
        self,
        request: Message,
        response: type[M],
        *,
        version: int,
        timeout_ms: int,
        hear_begun: HearBegun | None = None,
    ) -> Answer[M]:
        answer: Answer[M] = Answer()
        self._correlation_id += 1
        deadline = self._host.call_later(timeout_ms, lambda: self._fail(f"no answer within {timeout_ms} ms"))
        call = Call(self._correlation_id, request.api_key, version, response, answer, deadline, hear_begun)
        self._calls.append(call)
        self.tell(request, version=version, correlation_id=self._correlation_id)
        return answer

    def tell(self, request: Message, *, version: int, correlation_id: int = 0) -> None:
        """Without an answer: Produce with acks=0."""
        body = b"".join(parts_of(request, version))
        head = frame_request(request.api_key, version, correlation_id, self._client_id, len(body))
        self._line.to_server.send(head + body)

    def hang_up(self) -> None:
        self._fail("the line was given up")

    def _fail(self, reason: str) -> None:
        if not self.is_open:
            return
        self.is_open = False
        self._line.hang_up_by_client()
        calls, self._calls = self._calls, deque()
        for call in calls:
            call.deadline.cancel()
        self._host.call_soon(lambda: _give_up(calls, reason))
        self.when_hung_up()

    # The line.

    def hung_up(self) -> None:
        self._fail("the other side hung up")

    def received(self, data: bytes) -> None:
        if not self.is_open:
            return
        self._buffer += data
        while len(self._buffer) >= SIZE_BYTES:
            end = SIZE_BYTES + int.from_bytes(self._buffer[:SIZE_BYTES], "big")
            if len(self._buffer) < end:
                return
            frame, self._buffer = self._buffer[SIZE_BYTES:end], self._buffer[end:]
            self._heard(frame)

    def _heard(self, frame: bytes) -> None:
        call = self._calls.popleft()
        assert decode_correlation_id(frame) == call.correlation_id, "an answer to another request"
        call.deadline.cancel()
        body = response_body(call.api_key, call.version, memoryview(frame))
        if call.hear_begun is not None:
            call.hear_begun(body[: len(body) // 2])
        call.answer.deliver(decoder_of(call.response)(call.version, body))


def _give_up(calls: deque[Call], reason: str) -> None:
    for call in calls:
        call.answer.deliver(PeerFailed(reason))
