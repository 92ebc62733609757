"""A session of the contract on a ZooKeeper client: what may be asked when, who watches what, and how it ends.

Everything here happens on the owner's thread.

    opening ──▶ connected ◀──▶ suspended        as the client tells
       │            │               │
       └────────────┴───────────────┴──▶ over   expired, as the client tells, or closed

Suspended, nothing is sent: a request that left minutes after it was asked for would be of no use to anyone. Calls in
flight and new ones end in `ConnectionLost` until the session is connected again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any, Protocol

from strandline.metadata.answer import Answer
from strandline.metadata.errors import (
    ConnectionLost,
    IllegalPath,
    MultiFailed,
    SessionClosed,
    SessionExpired,
    SessionOver,
    StoreError,
)
from strandline.metadata.operations import ANY_VERSION, Create, Delete, Operation, SetData, check_path, check_request
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
from strandline.metadata.watches import Watches, WatchKind
from strandline.metadata.zookeeper_calls import CallQueue, Settle

NO_SESSION_ID = 0


class Client(Protocol):
    """See `zookeeper_client.ZooKeeperClient`. Each settles with the value or a `StoreError`, or is never heard of."""

    def start(self) -> None: ...
    def stop(self, settle: Settle, /) -> None: ...
    def make_chroot(self, settle: Settle, /) -> None: ...
    def get(self, path: str, is_watched: bool, settle: Settle, /) -> None: ...
    def exists(self, path: str, is_watched: bool, settle: Settle, /) -> None: ...
    def children(self, path: str, is_watched: bool, settle: Settle, /) -> None: ...
    def create(self, operation: Create, settle: Settle, /) -> None: ...
    def set(self, operation: SetData, settle: Settle, /) -> None: ...
    def delete(self, operation: Delete, settle: Settle, /) -> None: ...
    def multi(self, operations: Sequence[Operation], settle: Settle, /) -> None: ...


class ZooKeeperSession:
    def __init__(self, calls: CallQueue, listener: SessionListener, *, chroot_bytes: int, unreachable: str) -> None:
        """`unreachable` is what to say if it can never be opened."""
        self.session_id = NO_SESSION_ID
        self._calls = calls
        self._listener = listener
        self._chroot_bytes = chroot_bytes
        self._unreachable = unreachable
        self._opened: Answer[Session] = Answer()
        self._watches = Watches()
        self._is_suspended = False
        self._over: type[SessionOver] | None = None
        self._client: Client

    def open(self, client: Client) -> Answer[Session]:
        self._client = client
        client.start()
        return self._opened

    # What the client tells

    def told_state(self, state: SessionState, session_id: int) -> None:
        if not self._opened.is_ready:
            self._told_while_opening(state, session_id)
        elif state is SessionState.CONNECTED:
            self._is_suspended = False
            self._tell_listener(state)
        elif state is SessionState.SUSPENDED:
            self._suspend()
        else:
            self._expire()

    def _told_while_opening(self, state: SessionState, session_id: int) -> None:
        if state is SessionState.CONNECTED:
            self.session_id = session_id
            self._client.make_chroot(self._finish_opening)
        else:
            self._finish_opening(ConnectionLost(self._unreachable))

    def _finish_opening(self, outcome: StoreError | None) -> None:
        if self._opened.is_ready:
            return  # It was given up before.
        if outcome is not None:
            self._over = SessionExpired
            self._client.stop(_ignore)
        self._opened.deliver(self if outcome is None else outcome)

    def _suspend(self) -> None:
        self._is_suspended = True
        self._watches.drop_session(self.session_id)
        if self._over is SessionClosed:
            self._client.stop(_ignore)
        self._tell_listener(SessionState.SUSPENDED)
        self._calls.settle_all(ConnectionLost("the connection to ZooKeeper is lost"))

    def _expire(self) -> None:
        self._watches.drop_session(self.session_id)
        was_closed = self._over is SessionClosed
        self._over = SessionExpired
        if not was_closed:
            self._listener(SessionState.EXPIRED)
        self._calls.settle_all(self._over_error())

    def _tell_listener(self, state: SessionState) -> None:
        if self._over is None:
            self._listener(state)

    def told_event(self, event: WatchEvent) -> None:
        with ExitStack() as stack:  # each is called, also after one that fails
            for watcher in reversed(list(self._watches.hear(event))):
                stack.callback(watcher, event)

    # The contract

    def get(self, path: str, watcher: Watcher | None = None) -> Answer[NodeData]:
        return self._read(self._client.get, WatchKind.DATA, path, watcher)

    def exists(self, path: str, watcher: Watcher | None = None) -> Answer[Stat | None]:
        return self._read(self._client.exists, WatchKind.DATA, path, watcher)

    def children(self, path: str, watcher: Watcher | None = None) -> Answer[Children]:
        return self._read(self._client.children, WatchKind.CHILDREN, path, watcher)

    def create(
        self, path: str, data: bytes = b"", *, ephemeral: bool = False, sequential: bool = False
    ) -> Answer[Created]:
        operation = Create(path, data, ephemeral, sequential)
        return self._change_one(operation, lambda settle: self._client.create(operation, settle))

    def set(self, path: str, data: bytes, version: int = ANY_VERSION) -> Answer[Stat]:
        operation = SetData(path, data, version)
        return self._change_one(operation, lambda settle: self._client.set(operation, settle))

    def delete(self, path: str, version: int = ANY_VERSION) -> Answer[None]:
        operation = Delete(path, version)
        return self._change_one(operation, lambda settle: self._client.delete(operation, settle))

    def multi(self, operations: Sequence[Operation]) -> Answer[tuple[OperationResult, ...]]:
        asked = tuple(operations)
        refusal = self._refusal() or self._illegal(asked)
        if refusal is not None:
            return self._calls.settled(refusal)
        return self._calls.make(lambda settle: self._client.multi(asked, settle))

    def close(self) -> Answer[None]:
        if self._over is not None:
            return self._calls.settled(None)
        self._over = SessionClosed
        self._watches.drop_session(self.session_id)
        if self._is_suspended:  # KAFKA-9189: nobody waits for a ZooKeeper that is not there
            self._client.stop(_ignore)
            return self._calls.settled(ConnectionLost("the session was not connected: it ends when its time is up"))
        return self._calls.make(self._client.stop, is_alone=True)

    def _read(
        self, read: Callable[[str, bool, Settle], None], kind: WatchKind, path: str, watcher: Watcher | None
    ) -> Answer[Any]:
        refusal = self._refusal() or _illegal_path(path)
        if refusal is not None:
            return self._calls.settled(refusal)
        return self._calls.make(
            lambda settle: read(path, watcher is not None, settle), lambda: self._watch(kind, path, watcher)
        )

    def _watch(self, kind: WatchKind, path: str, watcher: Watcher | None) -> None:
        if watcher is not None and self._over is None:
            self._watches.add(kind, path, self.session_id, watcher)

    def _change_one(self, operation: Operation, send: Callable[[Settle], None]) -> Answer[Any]:
        refusal = self._refusal() or self._illegal((operation,))
        if refusal is None:
            return self._calls.make(send)
        return self._calls.settled(refusal.cause if isinstance(refusal, MultiFailed) else refusal)

    def _illegal(self, operations: Sequence[Operation]) -> StoreError | None:
        try:
            check_request(operations, prefix_bytes=self._chroot_bytes)
        except StoreError as error:
            return error
        for index, operation in enumerate(operations):
            if isinstance(operation, Delete) and operation.path == "/":
                return MultiFailed(index, IllegalPath("/", "the root is never deleted"))
        return None

    def _refusal(self) -> StoreError | None:
        if self._over is not None:
            return self._over_error()
        return ConnectionLost("the connection to ZooKeeper is lost") if self._is_suspended else None

    def _over_error(self) -> SessionOver:
        return (self._over or SessionExpired)(f"session {self.session_id} is over")


def _illegal_path(path: str) -> StoreError | None:
    try:
        check_path(path)
    except IllegalPath as error:
        return error
    return None


def _ignore(_: object) -> None:
    """Nobody waits for it."""
