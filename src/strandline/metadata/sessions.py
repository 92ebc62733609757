"""A session over a tree in this process: the calls of the contract, each turned into a piece of work for its host.

The embedded store is a host. A simulated store that loses connections is another: it decides when work is done and
what becomes of the answer, and the calls stay the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from strandline.metadata.answer import Answer
from strandline.metadata.errors import MultiFailed, SessionOver
from strandline.metadata.operations import ANY_VERSION, Create, Delete, Operation, SetData, check_path, check_request
from strandline.metadata.store import (
    Children,
    Created,
    NodeData,
    OperationResult,
    SessionListener,
    Stat,
    Watcher,
)
from strandline.metadata.tree import Tree
from strandline.metadata.watches import Watches, WatchKind

Value = TypeVar("Value")


class SessionHost(Protocol):
    @property
    def tree(self) -> Tree: ...
    @property
    def watches(self) -> Watches: ...

    def answer(self, work: Callable[[], Value]) -> Answer[Value]:
        """Do `work`, and deliver what it returns, or the `StoreError` it raises, in its turn."""
        ...

    def change(self, session_id: int, operations: tuple[Operation, ...]) -> tuple[OperationResult, ...]: ...
    def close_session(self, session: TreeSession) -> None: ...


class TreeSession:
    def __init__(self, host: SessionHost, session_id: int, listener: SessionListener) -> None:
        self._host = host
        self._session_id = session_id
        self.listener = listener
        self.over: type[SessionOver] | None = None  # how it ended, if it did

    @property
    def session_id(self) -> int:
        return self._session_id

    def get(self, path: str, watcher: Watcher | None = None) -> Answer[NodeData]:
        def work() -> NodeData:
            found = NodeData(self._host.tree.find(path).data, self._host.tree.stat(path))
            self._watch(WatchKind.DATA, path, watcher)
            return found

        return self._read(path, work)

    def exists(self, path: str, watcher: Watcher | None = None) -> Answer[Stat | None]:
        def work() -> Stat | None:
            self._watch(WatchKind.DATA, path, watcher)
            return self._host.tree.stat(path) if path in self._host.tree.nodes else None

        return self._read(path, work)

    def children(self, path: str, watcher: Watcher | None = None) -> Answer[Children]:
        def work() -> Children:
            found = Children(tuple(sorted(self._host.tree.find(path).children)), self._host.tree.stat(path))
            self._watch(WatchKind.CHILDREN, path, watcher)
            return found

        return self._read(path, work)

    def create(
        self, path: str, data: bytes = b"", *, ephemeral: bool = False, sequential: bool = False
    ) -> Answer[Created]:
        def work() -> Created:
            made = str(self._change_one(Create(path, data, ephemeral, sequential)))
            return Created(made, self._host.tree.stat(made))

        return self._host.answer(work)

    def set(self, path: str, data: bytes, version: int = ANY_VERSION) -> Answer[Stat]:
        def work() -> Stat:
            self._change_one(SetData(path, data, version))
            return self._host.tree.stat(path)

        return self._host.answer(work)

    def delete(self, path: str, version: int = ANY_VERSION) -> Answer[None]:
        def work() -> None:
            self._change_one(Delete(path, version))

        return self._host.answer(work)

    def multi(self, operations: Sequence[Operation]) -> Answer[tuple[OperationResult, ...]]:
        return self._host.answer(lambda: self._change(tuple(operations)))

    def close(self) -> Answer[None]:
        return self._host.answer(lambda: self._host.close_session(self))

    def _read(self, path: str, work: Callable[[], Value]) -> Answer[Value]:
        def checked() -> Value:
            self._require_alive()
            check_path(path)
            return work()

        return self._host.answer(checked)

    def _change_one(self, operation: Operation) -> OperationResult:
        try:
            return self._change((operation,))[0]
        except MultiFailed as failed:
            raise failed.cause from None

    def _change(self, operations: tuple[Operation, ...]) -> tuple[OperationResult, ...]:
        self._require_alive()
        check_request(operations)
        return self._host.change(self._session_id, operations)

    def _require_alive(self) -> None:
        if self.over is not None:
            raise self.over(f"session {self._session_id} is over")

    def _watch(self, kind: WatchKind, path: str, watcher: Watcher | None) -> None:
        if watcher is not None:
            self._host.watches.add(kind, path, self._session_id, watcher)
