"""Keeps the broker in touch with its metadata store: opens the session, and another when that has expired (SPEC R7).

suspended     nobody answers for now: leaders go on serving, whoever asks the store is told that it is unknown
connected     again; no event was kept for us meanwhile, so whoever watches has to look again
expired       our ephemeral nodes are gone, and for the others so are we: all begins anew in another session
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from strandline.broker.current_session import CurrentSession
from strandline.broker.host import Host
from strandline.broker.procedures import begin
from strandline.metadata.errors import StoreError
from strandline.metadata.store import MetadataStore, Session, SessionState

logger = logging.getLogger(__name__)

TRY_AGAIN_MS = 500


class SessionKeeper:
    def __init__(self, store: MetadataStore, host: Host) -> None:
        self.current: CurrentSession
        self.when_connected_again: Callable[[], object] = lambda: None
        self.when_expired: Callable[[], object] = lambda: None
        self.when_replaced: Callable[[], object] = lambda: None
        self._store = store
        self._host = host
        self.is_connected = True
        self._is_open = True

    async def open(self) -> CurrentSession:
        """The first session. Raises `StoreError` where there is none to be had."""
        self.current = CurrentSession(await self._next())
        return self.current

    def close(self) -> None:
        """What becomes of the session does not matter any more."""
        self._is_open = False

    async def _next(self) -> Session:
        return await self._store.open_session(self._changed)

    def _changed(self, state: SessionState) -> None:
        if not self._is_open:
            return
        self.is_connected = state is SessionState.CONNECTED
        if state is SessionState.SUSPENDED:
            logger.warning("the metadata store does not answer; partitions that are led here are served all the same")
        elif state is SessionState.CONNECTED:
            logger.warning("the metadata store answers again")
            self._host.call_soon(self.when_connected_again)
        else:
            logger.error("the session with the metadata store has expired: a new one is opened")
            self._host.call_soon(self._expired)

    def _expired(self) -> None:
        self.when_expired()
        self._begin_anew()

    def _begin_anew(self) -> None:
        if self._is_open:
            begin(self._open_another())

    async def _open_another(self) -> None:
        try:
            session = await self._next()
        except StoreError as failure:
            logger.warning("no new session yet: %s", failure)
            self._host.call_later(TRY_AGAIN_MS, self._begin_anew)
            return
        if self._is_open:
            self.is_connected = True
            self.current.replace(session)
            self.when_replaced()
        else:
            await session.close()
