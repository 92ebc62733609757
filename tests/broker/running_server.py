"""A server on an event loop in a thread of its own, with a few handlers that show what the network can do."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Self, TypeVar

from tests.broker.kafka_peer import WAIT_S

from strandline.broker import event_loop
from strandline.broker.dispatch import Body, Dispatch, Handler, Instead, Request
from strandline.broker.handlers.api_versions import api_versions_handler
from strandline.broker.network_settings import NetworkSettings
from strandline.broker.server import Server
from strandline.log.log_slice import LogSlice
from strandline.model.settings import INT_MAX
from strandline.wire.versions import ApiKey

T = TypeVar("T")


class FakeClock:
    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


class RunningServer:
    """Heartbeat echoes, ListGroups parks, Fetch sends `slice`, LeaveGroup fails, Produce has no answer, and
    DescribeGroups takes a whole turn, by the clock. `handled` has whoever asked for one of these two or an echo."""

    def __init__(
        self, settings: NetworkSettings | None = None, *, host: str = "127.0.0.1", slice_to_send: LogSlice | None = None
    ) -> None:
        self.clock = FakeClock()
        self.parked: list[Request] = []
        self.handled: list[int] = []  # correlation ids
        self.may_go_on = threading.Event()  # those that take a turn wait for it
        self.may_go_on.set()
        self.addresses: list[tuple[str, int]] = []
        self.server: Server
        self._settings = settings or NetworkSettings()
        self._host = host
        self._slice = slice_to_send
        self._started: Future[asyncio.AbstractEventLoop] = Future()
        self._stop = asyncio.Event()
        self._thread = threading.Thread(target=lambda: event_loop.run(self._run()))

    def __enter__(self) -> Self:
        self._thread.start()
        self._loop = self._started.result(WAIT_S)
        return self

    def __exit__(self, *_: object) -> None:
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(WAIT_S)
        assert not self._thread.is_alive()

    @property
    def address(self) -> tuple[str, int]:
        return self.addresses[0]

    def call(self, function: Callable[[], T]) -> T:
        """In the thread of the event loop."""
        done: Future[T] = Future()
        self._loop.call_soon_threadsafe(lambda: done.set_result(function()))
        return done.result(WAIT_S)

    def wait_until(self, holds: Callable[[], bool]) -> None:
        """Asked between the turns of the event loop."""

        async def ask() -> None:
            while not holds():
                await asyncio.sleep(0.001)

        asyncio.run_coroutine_threadsafe(ask(), self._loop).result(WAIT_S)

    def run(self, coroutine: Coroutine[None, None, None]) -> None:
        asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(WAIT_S)

    def begin_stop(self) -> Future[None]:
        return asyncio.run_coroutine_threadsafe(self.server.stop(), self._loop)

    async def _run(self) -> None:
        handlers: dict[ApiKey, Handler] = {
            ApiKey.HEARTBEAT: self._echo,
            ApiKey.DESCRIBE_GROUPS: self._take_a_turn,
            ApiKey.LIST_GROUPS: self._park,
            ApiKey.FETCH: self._fetch,
            ApiKey.LEAVE_GROUP: fail,
            ApiKey.PRODUCE: lambda _: Instead.NO_ANSWER,
        }
        handlers[ApiKey.API_VERSIONS] = api_versions_handler(handlers)
        dispatch = Dispatch(handlers, entries_max=INT_MAX)  # large bodies are bytes to echo here, nobody's entries
        try:
            self.server = Server(self._settings, dispatch, clock=self.clock)
            self.addresses = self.server.listen(self._host, 0)
        except OSError as failure:
            self._started.set_exception(failure)
            return
        self._started.set_result(asyncio.get_running_loop())
        await self._stop.wait()
        await self.server.stop()

    def _park(self, request: Request) -> Instead:
        self.parked.append(request)
        return Instead.PARKED

    def _echo(self, request: Request) -> bytes:
        self.handled.append(request.header.correlation_id)
        return bytes(request.body)

    def _take_a_turn(self, request: Request) -> bytes:
        self.may_go_on.wait(WAIT_S)
        self.clock.now_s += self._settings.socket_turn_ms / 1000
        return self._echo(request)

    def _fetch(self, _: Request) -> Body:
        assert self._slice is not None
        return [b"head", self._slice, b"tail"], 4 + self._slice.length + 4


def fail(_: Request) -> bytes:
    raise KeyError("what nobody foresaw")
