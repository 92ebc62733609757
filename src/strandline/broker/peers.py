"""The other brokers, as this one speaks to them: the controller to all, followers to leaders.

An answer is a value, or `PeerFailed`: the broker could not be reached, went away, or took too long. What it did with
the request is not known then. Requests of one purpose to one broker go over one connection, in order; a purpose of
its own has a long poll, which would hold up the others.

A broker is a peer of its own too: what the controller tells itself goes straight to the handler, without a socket.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from enum import Enum
from functools import partial
from typing import Any, Protocol, TypeVar

from strandline.broker.procedures import begin
from strandline.client.connection import Connection, HearBegun
from strandline.client.failures import ClientError
from strandline.client.settings import Address, ClientSettings
from strandline.metadata.answer import Answer, Unanswered
from strandline.wire.layout import Message

M = TypeVar("M", bound=Message)
STOPS = "this broker stops"
LocalHandler = Callable[[Message], Coroutine[Answer[Any], None, Message]]


class PeerFailed(Unanswered):
    """One plain sentence."""


class Purpose(Enum):
    CONTROL = "control"
    FETCH = "fetch"
    VERIFICATION = "verification"
    MARKERS = "markers"


class Peers(Protocol):
    def ask(
        self,
        broker_id: int,
        request: Message,
        response: type[M],
        *,
        version: int,
        purpose: Purpose,
        timeout_ms: int,
        hear_begun: HearBegun | None = None,
    ) -> Answer[M]:
        """`hear_begun` may be given the body of an answer as far as it has come, before all of it is delivered."""
        ...

    def hang_up(self, broker_id: int, purpose: Purpose) -> None:
        """Give up what is under way; the next request goes over a new connection."""
        ...


class OwnRequests:
    """Requests of a broker to itself: straight to the handler, without a connection."""

    def __init__(self, handlers: dict[int, LocalHandler]) -> None:
        """By API key."""
        self._handlers = handlers
        self._under_way = 0

    def __contains__(self, api_key: int) -> bool:
        return api_key in self._handlers

    @property
    def are_under_way(self) -> bool:
        return self._under_way > 0

    def ask(self, request: Message, call_soon: Callable[[Callable[[], None]], object]) -> Answer[Any]:
        answer: Answer[Any] = Answer()
        self._under_way += 1
        call_soon(lambda: begin(self._run(request, answer)))
        return answer

    async def _run(self, request: Message, answer: Answer[Any]) -> None:
        try:
            response = await self._handlers[request.api_key](request)
        except Unanswered as failure:  # it needed the store, say
            answer.deliver(PeerFailed(str(failure)))
            return
        except Exception as failure:
            answer.deliver(PeerFailed(f"our own handler failed: {failure!r}"))
            raise
        finally:
            self._under_way -= 1
        answer.deliver(response)


class SocketPeers:
    def __init__(
        self,
        broker_id: int,
        address_of: Callable[[int], Address | None],
        local_handlers: dict[int, LocalHandler],
        settings: ClientSettings,
    ) -> None:
        """`local_handlers` by API key, for requests to ourselves."""
        self._broker_id = broker_id
        self._address_of = address_of
        self._own = OwnRequests(local_handlers)
        self._settings = settings
        self._loop = asyncio.get_running_loop()
        self._connections: dict[tuple[int, Purpose], Connection] = {}
        self._connecting: dict[tuple[int, Purpose], asyncio.Task[Connection]] = {}
        self._asking: set[asyncio.Task[None]] = set()
        self._is_open = True

    def ask(
        self,
        broker_id: int,
        request: Message,
        response: type[M],
        *,
        version: int,
        purpose: Purpose,
        timeout_ms: int,
        hear_begun: HearBegun | None = None,
    ) -> Answer[M]:
        if broker_id == self._broker_id and request.api_key in self._own:
            return self._own.ask(request, self._loop.call_soon)
        answer: Answer[M] = Answer()
        connection = self._connections.get((broker_id, purpose))
        if not self._is_open:
            self._loop.call_soon(answer.deliver, PeerFailed(STOPS))
        elif connection is not None and connection.is_open:
            connection.send_then(
                request,
                response,
                partial(_deliver, answer),
                version=version,
                timeout_ms=timeout_ms,
                hear_begun=hear_begun,
            )
        else:
            asking = self._connect_and_send((broker_id, purpose), request, response, version, timeout_ms, answer)
            task = self._loop.create_task(asking)
            self._asking.add(task)
            task.add_done_callback(self._asking.discard)
        return answer

    @property
    def is_asking_ourselves(self) -> bool:
        return self._own.are_under_way

    def hang_up(self, broker_id: int, purpose: Purpose) -> None:
        connection = self._connections.pop((broker_id, purpose), None)
        if connection is not None:
            connection.close()

    def close(self) -> None:
        """Whoever is told that its question has failed may ask again: that must not begin a connection nobody ends."""
        self._is_open = False
        for connection in list(self._connections.values()):
            connection.close()
        for task in (*self._asking, *self._connecting.values()):
            task.cancel()

    async def _connect_and_send(
        self,
        place: tuple[int, Purpose],
        request: Message,
        response: type[M],
        version: int,
        timeout_ms: int,
        answer: Answer[M],
    ) -> None:
        try:
            connection = await self._connected(place)
        except (ClientError, asyncio.CancelledError) as failure:
            answer.deliver(PeerFailed(str(failure) or STOPS))
            return
        connection.send_then(request, response, partial(_deliver, answer), version=version, timeout_ms=timeout_ms)

    async def _connected(self, place: tuple[int, Purpose]) -> Connection:
        connection = self._connections.get(place)
        if connection is not None and connection.is_open:
            return connection
        if place not in self._connecting:
            self._connecting[place] = self._loop.create_task(self._connect(place))
        return await asyncio.shield(self._connecting[place])

    async def _connect(self, place: tuple[int, Purpose]) -> Connection:
        try:
            address = self._address_of(place[0])
            if address is None:
                raise ClientError(f"nobody knows where broker {place[0]} is")
            connection = await Connection.open(address, self._settings)
            self._connections[place] = connection
            return connection
        finally:
            del self._connecting[place]


def _deliver(answer: Answer[M], outcome: M | ClientError) -> None:
    answer.deliver(PeerFailed(str(outcome)) if isinstance(outcome, ClientError) else outcome)
