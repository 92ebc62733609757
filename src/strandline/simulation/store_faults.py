"""Faults of sessions with the metadata store: connections that break, sessions that expire, answers that are lost; and
a controller whose node somebody deletes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from strandline.metadata import paths
from strandline.metadata.operations import Delete
from strandline.metadata.transactions import Changed, SessionEnded, SessionOpened
from strandline.metadata.values import decode_controller
from strandline.simulation.durations import SECOND_US
from strandline.simulation.simulated_store import STORE

if TYPE_CHECKING:
    from strandline.simulation.nemesis import Nemesis

DEPOSED_DELAY_US = 4 * SECOND_US


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

    def depose(self) -> None:
        """Operators do it to have another controller. The session of this one lives on, and what it has on its way to
        the store comes when another has begun: nothing but the epoch tells it from what it may write."""
        node = self._store.tree.nodes.get(paths.CONTROLLER)
        if node is None:
            return
        controller, damage = f"b{decode_controller(node.data).broker_id}", self._nemesis.simulation.network.damage()
        damage.slow_down(controller, STORE, DEPOSED_DELAY_US)
        damage.slow_down(STORE, controller, DEPOSED_DELAY_US)
        self._nemesis.struck_for("depose", f"{controller}, {damage}", damage.mend, 8, 12)
        self._nemesis.later(self._delete_controller, 1, 7)

    def _delete_controller(self) -> None:
        """In a session of its own."""
        store, session_id = self._store, self._store.tree.zxid + 1
        if paths.CONTROLLER in store.tree.nodes:
            store.apply(SessionOpened(session_id, store.world.now_ms))
            store.apply(Changed(session_id + 1, store.world.now_ms, session_id, (Delete(paths.CONTROLLER),)))
            store.apply(SessionEnded(session_id + 2, store.world.now_ms, session_id))
