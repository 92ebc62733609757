"""The metadata store of a simulated cluster: a ZooKeeper that is always right, behind connections that are not.

The tree is one and linear. What a broker asks travels there and back in order, over a connection of its own. When that
is lost, what was on its way may have been done or not, or may still be done; the broker hears `ConnectionLost` for all
of it, and its watches are gone. A session that has no connection for its timeout is over, whatever its broker believes;
the broker learns it when it comes back.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from random import Random
from typing import Any, TypeVar

from strandline.metadata.answer import Answer
from strandline.metadata.errors import ConnectionLost, SessionClosed, SessionExpired, StoreError
from strandline.metadata.operations import Operation
from strandline.metadata.sessions import TreeSession
from strandline.metadata.store import OperationResult, Session, SessionListener, SessionState
from strandline.metadata.transactions import Changed, SessionEnded, SessionOpened, Transaction
from strandline.metadata.tree import Applied, Tree
from strandline.metadata.watches import Watches
from strandline.simulation.network import Network
from strandline.simulation.simulated_host import SimulatedHost
from strandline.simulation.world import Event, World

STORE = "store"
RECONNECT_US = 50_000
Value = TypeVar("Value")


class SimulatedStore:
    def __init__(self, world: World, network: Network, chance: Random, *, session_timeout_ms: int) -> None:
        self.world = world
        self.network = network
        self.chance = chance
        self.session_timeout_us = session_timeout_ms * 1000
        self.tree = Tree()
        self.links: dict[int, SessionLink] = {}  # of the sessions that live, by id
        self.untold: list[SessionLink] = []  # of those that have expired and cannot be told so yet
        self.transactions = 0
        self.when_written: list[Callable[[Transaction], None]] = []
        network.when_changed.append(self.look_at_connections)

    def client(self, host: SimulatedHost, place: str) -> StoreClient:
        return StoreClient(self, host, place)

    def apply(self, transaction: Transaction) -> Applied:
        applied = self.tree.apply(transaction)
        self.transactions += 1
        for written in self.when_written:
            written(transaction)
        for change in applied.changes:
            for link in list(self.links.values()):
                for watcher, event in link.own_watches.fire(change):
                    link.deliver(lambda watcher=watcher, event=event: watcher(event))  # type: ignore[misc]
        return applied

    def expire(self, session_id: int) -> None:
        link = self.links.pop(session_id, None)
        if link is not None:
            self.world.tell(f"store: session {session_id} of {link.host.name} has expired")
            link.session.over = SessionExpired
            self.apply(SessionEnded(self.tree.zxid + 1, self.world.now_ms, session_id))
            link.expired()

    def close_session(self, link: SessionLink) -> None:
        if self.links.pop(link.session.session_id, None) is not None:
            link.session.over = SessionClosed
            self.apply(SessionEnded(self.tree.zxid + 1, self.world.now_ms, link.session.session_id))

    def look_at_connections(self) -> None:
        """A link was cut or mended, a process died, stands still or goes on."""
        for link in list(self.links.values()):
            link.look()
        untold, self.untold = self.untold, []
        for link in untold:
            link.tell_expired_when_reached()


class StoreClient:
    """The store as one broker has it."""

    def __init__(self, store: SimulatedStore, host: SimulatedHost, place: str) -> None:
        self._store = store
        self._host = host
        self._place = place

    def open_session(self, listener: SessionListener) -> Answer[Session]:
        answer: Answer[Session] = Answer()
        store, network = self._store, self._store.network
        there_us = network.delay_us(self._place, STORE) + network.delay_us(STORE, self._place)

        def arrive() -> None:
            if not is_connected(network, self._host, self._place):
                answer.deliver(ConnectionLost("the metadata store cannot be reached"))
                return
            transaction = SessionOpened(store.tree.zxid + 1, store.world.now_ms)
            link = SessionLink(store, self._host, self._place, transaction.zxid, listener)
            store.links[transaction.zxid] = link
            store.apply(transaction)
            answer.deliver(link.session)

        store.world.after(there_us, arrive, self._host)
        return answer


def is_connected(network: Network, host: SimulatedHost, place: str) -> bool:
    return not (network.is_cut(place, STORE) or network.is_cut(STORE, place) or host.is_paused or not host.is_alive)


class SessionLink:
    """A session and its connection; the `SessionHost` of its calls."""

    def __init__(
        self, store: SimulatedStore, host: SimulatedHost, place: str, session_id: int, listener: SessionListener
    ) -> None:
        self._store = store
        self.host = host
        self._place = place
        self.own_watches = Watches()
        self._is_late = False  # whether what is being done belongs to a connection that is gone
        self._has_lost = False  # something on its way
        self.when_answer_lost: Callable[[], object] | None = None  # to the next write, which will be
        self.session = TreeSession(self, session_id, listener)
        self.is_up = True
        self._connection = 0  # which, counted
        self._waiting: deque[Answer[Any]] = deque()  # for their answers, in the order of the calls
        self._arrives_us = 0
        self._returns_us = 0
        self._expiry: Event | None = None

    @property
    def tree(self) -> Tree:
        return self._store.tree

    @property
    def watches(self) -> Watches:
        """Where a call sets its watch."""
        return Watches() if self._is_late else self.own_watches

    # Calls.

    def answer(self, work: Callable[[], Value]) -> Answer[Value]:
        answer: Answer[Value] = Answer()
        store = self._store
        if not self.is_up:
            over = self.session.over
            outcome = ConnectionLost("not connected") if over is None else over("the session is over")
            self.host.call_soon(lambda: answer.deliver(outcome))
            return answer
        delay_us = store.network.delay_us(self._place, STORE)
        self._arrives_us = max(store.world.now_us + delay_us, self._arrives_us)
        connection = self._connection
        self._waiting.append(answer)
        store.world.after(self._arrives_us - store.world.now_us, lambda: self._arrive(work, answer, connection))
        return answer

    def _arrive(self, work: Callable[[], Any], answer: Answer[Any], connection: int) -> None:
        """At the store. What was on its way when the connection was lost is done with some luck."""
        self._is_late = connection != self._connection
        if self._is_late:
            if self._store.chance.random() < 0.5:
                return
        elif self._store.network.is_cut(self._place, STORE):
            self._has_lost = True
            return
        outcome: Any
        written = self._store.transactions
        try:
            outcome = work()
        except StoreError as error:
            outcome = error
        finally:
            self._is_late = False
        if connection != self._connection:
            return
        if self.when_answer_lost is not None and self._store.transactions > written:
            self.when_answer_lost()
            self.when_answer_lost = None
            self.sever()
        else:
            self.deliver(lambda: self._reply(answer, outcome))

    def _reply(self, answer: Answer[Any], outcome: Any) -> None:
        if self._waiting and self._waiting[0] is answer:
            self._waiting.popleft()
            answer.deliver(outcome)

    def change(self, session_id: int, operations: tuple[Operation, ...]) -> tuple[OperationResult, ...]:
        store = self._store
        return store.apply(Changed(store.tree.zxid + 1, store.world.now_ms, session_id, operations)).results

    def close_session(self, _: TreeSession) -> None:
        self._store.close_session(self)

    def deliver(self, callback: Callable[[], object]) -> None:
        """To the broker, in order, if the connection lasts until then."""
        if not self.is_up:
            return
        store, connection = self._store, self._connection
        delay_us = store.network.delay_us(STORE, self._place)
        self._returns_us = max(store.world.now_us + delay_us, self._returns_us)

        def arrive() -> None:
            if connection != self._connection:
                return
            if self._has_lost or store.network.is_cut(STORE, self._place):
                self._lose()
            else:
                callback()

        store.world.after(self._returns_us - store.world.now_us, arrive, self.host)

    def _lose(self) -> None:
        """What was on its way. Of a session that was closed nobody looks at the connection any more (`look`)."""
        self._has_lost = True
        if self.session.over is SessionClosed:
            self._store.world.after(self._store.session_timeout_us * 2 // 3, self.sever, self.host)

    # The connection.

    def look(self) -> None:
        connected = is_connected(self._store.network, self.host, self._place)
        if not connected and self._expiry is None:
            session_id = self.session.session_id
            self._expiry = self._store.world.after(
                self._store.session_timeout_us, lambda: self._store.expire(session_id)
            )
            # The client gives up first, after two thirds of the time; before, it waits in hope.
            self._store.world.after(self._store.session_timeout_us * 2 // 3, self._give_up_if_unheard, self.host)
        elif connected and self._expiry is not None:
            self._expiry.cancel()
            self._expiry = None
            if not self.is_up:
                self._reconnect_soon()
            elif self._has_lost:
                self.sever()

    def _give_up_if_unheard(self) -> None:
        if self._expiry is not None:
            self.sever()

    def sever(self) -> None:
        """The connection is lost; the session may live on."""
        if not self.is_up:
            return
        self.is_up = False
        self._connection += 1
        self._has_lost = False
        self.own_watches = Watches()
        waiting, self._waiting = self._waiting, deque()

        def tell() -> None:
            self.session.listener(SessionState.SUSPENDED)
            for answer in waiting:
                answer.deliver(ConnectionLost("the connection to the metadata store was lost"))

        self.host.call_soon(tell)
        if self._expiry is None:
            self._reconnect_soon()

    def _reconnect_soon(self) -> None:
        delay_us = self._store.chance.randint(1_000, RECONNECT_US)
        self._store.world.after(delay_us, self._reconnect, self.host)

    def _reconnect(self) -> None:
        if self.is_up or not is_connected(self._store.network, self.host, self._place):
            return
        if self.session.over is None:
            self.is_up = True
            self.session.listener(SessionState.CONNECTED)

    def expired(self) -> None:
        """The store has ended it. The broker hears of it once it can be reached again."""
        if self._expiry is not None:
            self._expiry.cancel()
        self.sever()
        self.tell_expired_when_reached()

    def tell_expired_when_reached(self) -> None:
        if not self.host.is_alive:
            return
        if is_connected(self._store.network, self.host, self._place):
            delay_us = self._store.chance.randint(1_000, RECONNECT_US)
            self._store.world.after(delay_us, self._tell_expired, self.host)
        else:
            self._store.untold.append(self)

    def _tell_expired(self) -> None:
        if is_connected(self._store.network, self.host, self._place):
            self.session.listener(SessionState.EXPIRED)
        else:
            self._store.untold.append(self)
