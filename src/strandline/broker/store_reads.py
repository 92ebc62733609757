"""What a controller reads of the store: each read is asked for until it is answered, however long the store is silent.

A read may set a watch, which says that something has changed and never what: then it is read again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from strandline.broker.host import Host
from strandline.broker.procedures import Procedure, begin
from strandline.metadata.answer import Answer
from strandline.metadata.errors import NoNode, SessionOver, StoreError
from strandline.metadata.store import NodeData, Session, Watcher

TRY_AGAIN_MS = 200
Value = TypeVar("Value")


class NobodyReads(Exception):
    """The reads of a controller that is no longer one need not end."""


class StoreReads:
    def __init__(self, session: Session, host: Host) -> None:
        self._session = session
        self._host = host
        self.is_open = True

    def close(self) -> None:
        self.is_open = False

    def begin(self, procedure: Procedure[None]) -> None:
        begin(procedure, may_end_by=(NobodyReads, SessionOver))

    def watch(self, see: Callable[[], Procedure[None]]) -> Watcher:
        """Something has changed: read it again."""
        return lambda _: self.begin(see()) if self.is_open else None

    async def pause(self) -> None:
        over: Answer[None] = Answer()
        self._host.call_later(TRY_AGAIN_MS, lambda: over.deliver(None))
        await over

    async def names_in(self, path: str, watcher: Watcher) -> tuple[str, ...]:
        return (await self._until_answered(lambda: self._session.children(path, watcher))).names

    async def node(self, path: str, watcher: Watcher | None = None) -> NodeData | None:
        try:
            return await self._until_answered(lambda: self._session.get(path, watcher))
        except NoNode:
            return None

    async def node_or_watch(self, path: str, watcher: Watcher) -> NodeData | None:
        """Its value, or None and a watch for it to come."""
        if await self._until_answered(lambda: self._session.exists(path, watcher)) is None:
            return None
        return await self.node(path)

    async def _until_answered(self, ask: Callable[[], Answer[Value]]) -> Value:
        """That a node is missing is an answer; that the session is over, the end."""
        while self.is_open:
            try:
                return await ask()
            except (NoNode, SessionOver):
                raise
            except StoreError:
                await self.pause()
        raise NobodyReads
