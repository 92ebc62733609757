"""Faults of sessions with the metadata store: connections that break, sessions that expire, answers that are lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from strandline.simulation.nemesis import Nemesis


class StoreFaults:
    def __init__(self, nemesis: Nemesis) -> None:
        self._nemesis = nemesis
        self._chance = nemesis.chance
        self._store = nemesis.simulation.store

    def sever_session(self) -> None:
        links = [link for link in self._store.links.values() if link.is_up]
        if links:
            link = self._chance.choice(links)
            self._nemesis.struck("sever_session", link.host.name)
            link.sever()

    def expire_session(self) -> None:
        if self._store.links:
            session_id = self._chance.choice(list(self._store.links))
            self._nemesis.struck("expire_session", self._store.links[session_id].host.name)
            self._store.expire(session_id)

    def lose_answer(self) -> None:
        """A write to the store is done, and the connection breaks before anybody says so."""
        links = list(self._store.links.values())
        if links:
            link = self._chance.choice(links)
            self._nemesis.armed("lose_answer", link.host.name)
            link.when_answer_lost = lambda: self._nemesis.struck("lose_answer", link.host.name)
