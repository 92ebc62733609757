"""One metadata store for all brokers of a cluster in this process: in a thread of its own, as ZooKeeper is a process.

A broker's calls go to the store's thread, answers and events come back to the broker's, both in their order. Between
the two is what a connection to ZooKeeper has: it can be cut, and a session of which nothing is heard for too long
expires, whatever the broker thinks of it (SPEC M1, R7).
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any, TypeVar

from strandline.broker.host import LoopHost
from strandline.broker.store_loop import StoreLoop
from strandline.log.filesystem import RealFileSystem
from strandline.metadata.answer import Answer
from strandline.metadata.embedded import EmbeddedStore
from strandline.metadata.errors import ConnectionLost
from strandline.metadata.operations import ANY_VERSION, Operation
from strandline.metadata.store import (
    Children,
    Created,
    NodeData,
    OperationResult,
    Session,
    SessionListener,
    SessionState,
    Stat,
    Watcher,
    WatchEvent,
)

Value = TypeVar("Value")
WAIT_S = 30.0
CUT = "the connection to the metadata store is lost"


class StoreThread:
    def __init__(self, directory: str) -> None:
        self.store: EmbeddedStore
        self._started: Future[None] = Future()
        self._end = asyncio.Event()
        self._thread = threading.Thread(target=self._run, args=(directory,), name="strandline-store", daemon=True)
        self._thread.start()
        self._started.result(WAIT_S)

    def _run(self, directory: str) -> None:
        try:
            asyncio.run(self._serve(directory))
        except BaseException as failure:
            if self._started.done():
                raise
            self._started.set_exception(failure)

    async def _serve(self, directory: str) -> None:
        self.loop = asyncio.get_running_loop()
        host = LoopHost(1)
        store_loop = StoreLoop(host)
        self.store = EmbeddedStore.open(RealFileSystem(), directory, clock_ms=host.now_ms, wake=store_loop.wake)
        store_loop.runs(self.store)
        self._started.set_result(None)
        await self._end.wait()
        host.close()
        self.store.close()

    def post(self, work: Callable[[], object]) -> None:
        self.loop.call_soon_threadsafe(work)

    def ask(self, question: Callable[[], Value]) -> Value:
        """In the store's thread; for the test's."""
        answered: Future[Value] = Future()

        def work() -> None:
            try:
                answered.set_result(question())
            except Exception as failure:
                answered.set_exception(failure)

        self.post(work)
        return answered.result(WAIT_S)

    def close(self) -> None:
        self.post(self._end.set)
        self._thread.join(WAIT_S)


class StoreConnection:
    """The store, for one broker: a `MetadataStore` in the broker's thread, with faults from the test's."""

    def __init__(self, thread: StoreThread, session_timeout_ms: int) -> None:
        self._thread = thread
        self._session_timeout_ms = session_timeout_ms
        self._loop: asyncio.AbstractEventLoop | None = None
        self._sessions: list[RemoteSession] = []
        self._is_cut = False

    def runs_in(self, loop: asyncio.AbstractEventLoop) -> None:
        """The broker's, in which answers are delivered."""
        self._loop = loop

    def post(self, work: Callable[[], object]) -> None:
        """To the broker, if it still lives."""
        if self._loop is not None and not self._loop.is_closed():
            try:
                self._loop.call_soon_threadsafe(work)
            except RuntimeError:
                return  # it has ended just now

    def open_session(self, listener: SessionListener) -> Answer[Session]:
        answer: Answer[Session] = Answer()
        if self._is_cut:
            self.post(lambda: answer.deliver(ConnectionLost(CUT)))
            return answer
        session = RemoteSession(self, self._thread, listener)

        def opened(ready: Answer[Session]) -> None:
            session.inner = ready.value()
            self.post(lambda: answer.deliver(session))

        self._sessions.append(session)
        self._thread.post(lambda: self._thread.store.open_session(session.state_changed).then(opened))
        return answer

    # Faults, from the test's thread.

    def cut(self) -> None:
        """Nothing goes through. The session is over when it takes too long."""
        self._is_cut = True
        for session in self._sessions:
            self.post(session.cut)
        self.be_silent()

    def heal(self) -> None:
        self._is_cut = False
        self.speak()
        for session in self._sessions:
            self.post(session.heal)

    def be_silent(self) -> None:
        """The store hears nothing of the broker: it is cut off, stands still, or is dead."""
        for session in self._sessions:
            self._thread.post(partial(session.expire_later, self._session_timeout_ms))

    def speak(self) -> None:
        for session in self._sessions:
            self._thread.post(session.expire_not)


class RemoteSession:
    def __init__(self, connection: StoreConnection, thread: StoreThread, listener: SessionListener) -> None:
        self.inner: Session
        self._connection = connection
        self._thread = thread
        self._listener = listener
        self._expiry: asyncio.TimerHandle | None = None
        # In the broker's thread:
        self._is_cut = False
        self._is_expired = False
        self._pending: dict[Answer[Any], None] = {}
        self._watchers: dict[Watcher, Watcher] = {}

    @property
    def session_id(self) -> int:
        return self.inner.session_id

    # In the store's thread.

    def expire_later(self, after_ms: int) -> None:
        if self._expiry is None:
            self._expiry = self._thread.loop.call_later(
                after_ms / 1000, lambda: self._thread.store.expire(self.session_id)
            )

    def expire_not(self) -> None:
        if self._expiry is not None:
            self._expiry.cancel()
            self._expiry = None

    def state_changed(self, state: SessionState) -> None:
        self._connection.post(lambda: self._heard(state))

    # In the broker's thread.

    def _heard(self, state: SessionState) -> None:
        if state is SessionState.EXPIRED:
            self._is_expired = True
            if self._is_cut:
                return  # who hears nothing does not hear this either, until the connection is there again
        self._listener(state)

    def cut(self) -> None:
        self._is_cut = True
        self._watchers.clear()
        pending, self._pending = self._pending, {}
        for answer in pending:
            answer.deliver(ConnectionLost(CUT))
        self._listener(SessionState.SUSPENDED)

    def heal(self) -> None:
        self._is_cut = False
        self._listener(SessionState.EXPIRED if self._is_expired else SessionState.CONNECTED)

    def _call(self, call: Callable[[Session], Answer[Value]]) -> Answer[Value]:
        answer: Answer[Value] = Answer()
        if self._is_cut:
            self._connection.post(lambda: answer.deliver(ConnectionLost(CUT)))
            return answer
        self._pending[answer] = None
        self._thread.post(
            lambda: call(self.inner).then(lambda ready: self._connection.post(lambda: self._answered(answer, ready)))
        )
        return answer

    def _answered(self, answer: Answer[Value], ready: Answer[Value]) -> None:
        if answer in self._pending:
            del self._pending[answer]
            error = ready.error
            answer.deliver(ready.value() if error is None else error)

    def _watcher(self, watcher: Watcher | None) -> Watcher | None:
        """One for each of the broker's, for a callable that is set twice fires once."""
        if watcher is None:
            return None
        known = self._watchers.get(watcher)
        if known is not None:
            return known

        def fired(event: WatchEvent) -> None:
            self._connection.post(lambda: self._fired(watcher, fired, event))

        self._watchers[watcher] = fired
        return fired

    def _fired(self, watcher: Watcher, fired: Watcher, event: WatchEvent) -> None:
        if self._watchers.get(watcher) is fired:  # else the connection was lost since, and its watches with it
            watcher(event)

    def get(self, path: str, watcher: Watcher | None = None) -> Answer[NodeData]:
        fired = self._watcher(watcher)
        return self._call(lambda inner: inner.get(path, fired))

    def exists(self, path: str, watcher: Watcher | None = None) -> Answer[Stat | None]:
        fired = self._watcher(watcher)
        return self._call(lambda inner: inner.exists(path, fired))

    def children(self, path: str, watcher: Watcher | None = None) -> Answer[Children]:
        fired = self._watcher(watcher)
        return self._call(lambda inner: inner.children(path, fired))

    def create(
        self, path: str, data: bytes = b"", *, ephemeral: bool = False, sequential: bool = False
    ) -> Answer[Created]:
        return self._call(lambda inner: inner.create(path, data, ephemeral=ephemeral, sequential=sequential))

    def set(self, path: str, data: bytes, version: int = ANY_VERSION) -> Answer[Stat]:
        return self._call(lambda inner: inner.set(path, data, version))

    def delete(self, path: str, version: int = ANY_VERSION) -> Answer[None]:
        return self._call(lambda inner: inner.delete(path, version))

    def multi(self, operations: Sequence[Operation]) -> Answer[tuple[OperationResult, ...]]:
        return self._call(lambda inner: inner.multi(operations))

    def close(self) -> Answer[None]:
        return self._call(lambda inner: inner.close())
