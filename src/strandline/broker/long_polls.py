"""A fetch that waits: it looks again when something moves, and takes what there is when its time is up.

What it watches, and what it finds there, is the matter of who has asked: a consumer (`handlers/fetch`) or a follower
(`follower_fetches`). How it keeps its time too: a follower has one timer for all its fetches.
"""

from __future__ import annotations

import logging
from abc import abstractmethod
from typing import Generic, Protocol, TypeVar

from strandline.broker.connection import Part
from strandline.broker.dispatch import Body, Request
from strandline.broker.fetch_sessions import FetchContext
from strandline.broker.host import Host
from strandline.wire.messages.fetch import FetchRequest

logger = logging.getLogger(__name__)


class Fetches(Protocol):
    host: Host


FetchesT = TypeVar("FetchesT", bound=Fetches)
WatchedT = TypeVar("WatchedT")


class LongPoll(Generic[FetchesT, WatchedT]):
    __slots__ = ("_asked", "_context", "_fetches", "_is_looking", "_request", "_watched")

    def __init__(
        self, fetches: FetchesT, request: Request, asked: FetchRequest, context: FetchContext, watched: WatchedT
    ) -> None:
        self._fetches = fetches
        self._request = request
        self._asked = asked
        self._context = context
        self._watched = watched
        self._is_looking = False
        self._begin()
        request.when_abandoned = self._end

    def wake(self, _: object = None) -> None:
        """More may move in the same receive: look at them together."""
        if not self._is_looking:
            self._is_looking = True
            (self._request.connection.call_afterwards or self._fetches.host.call_soon)(self._look)

    def _look(self, *, is_last: bool = False) -> None:
        """Whatever goes wrong that nobody foresaw, the peer must not wait for ever: its connection ends."""
        self._is_looking = False
        if self._request.parts is not None or self._request.connection.is_closed:
            return
        try:
            parts = self._parts(is_last)
        except Exception:
            logger.exception("a long poll failed; its connection is closed")
            self._end()
            self._request.connection.end("a long poll failed here")
            self._request.deliver([])
            return
        if parts is not None:
            self._end()
            self._request.deliver_at_once(parts)

    def _parts(self, is_last: bool) -> list[Part] | None:
        body = self._body(is_last)
        if body is None:
            return None
        framed = self._request.framed(body)
        return [framed] if isinstance(framed, bytes) else framed

    @abstractmethod
    def _begin(self) -> None:
        """Its time runs from now on. Whoever keeps it looks for the last time at its end."""

    @abstractmethod
    def _body(self, is_last: bool) -> Body | None:
        """None where there is too little yet; the last time, whatever there is."""

    @abstractmethod
    def _end(self) -> None:
        """It waits no more: neither for its time nor for what it watches."""
