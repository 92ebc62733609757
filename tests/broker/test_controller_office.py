"""A controller and its store: one that does not answer is asked again, and not as fast as we can; what we know is not
asked."""

from __future__ import annotations

from typing import Any, cast

import pytest
from tests.broker.manual_host import ManualHost

from strandline.broker.controller_office import Office
from strandline.broker.peers import Peers
from strandline.broker.store_reads import TRY_AGAIN_MS
from strandline.controller.changes import Change, RemoveTopic, RequestDeletion
from strandline.controller.controller import Controller
from strandline.controller.effects import Effect, ReadTopic, Write
from strandline.controller.events import Event
from strandline.metadata.answer import Answer
from strandline.metadata.errors import ConnectionLost, MultiFailed, NoNode, NotEmpty, StoreError
from strandline.metadata.store import EventKind, Session, Watcher, WatchEvent


class UnwillingStore:
    """Says at once that it is not there, as a client of ZooKeeper does that has no connection, or that it will not."""

    def __init__(self, host: ManualHost, error: StoreError) -> None:
        self.asked = 0
        self._host = host
        self._error = error

    def multi(self, _: object) -> Answer[Any]:
        self.asked += 1
        return self._answer(self._error)

    def exists(self, _: str) -> Answer[Any]:
        return self._answer(None)

    def _answer(self, outcome: object) -> Answer[Any]:
        answer: Answer[Any] = Answer()
        self._host.call_soon(lambda: answer.deliver(outcome))
        return answer


class WatchedStore:
    """Whoever reads a topic hears of what becomes of it."""

    def __init__(self, host: ManualHost) -> None:
        self.watchers: list[Watcher] = []
        self._host = host

    def get(self, path: str, watcher: Watcher) -> Answer[Any]:
        self.watchers.append(watcher)
        answer: Answer[Any] = Answer()
        self._host.call_soon(lambda: answer.deliver(NoNode(path)))
        return answer


def begin_to_work(controller: object, store: object, host: ManualHost) -> None:
    """One step of a controller in office."""
    office = Office(
        cast(Controller, controller),
        cast(Session, store),
        cast(Peers, None),
        host,
        1_000,
        lambda _: None,
        lambda _: None,
    )
    office.is_in_charge = True
    office.step(cast(Event, None))


class Persistent:
    """Wants the same again whatever happens."""

    is_active = False

    def __init__(self, change: Change) -> None:
        self._change = change

    def steps(self, _: object, __: int) -> tuple[Effect, ...]:
        return (Write(1, 1, (self._change,)),)


@pytest.mark.parametrize(
    ("change", "error", "multis"),
    [
        (RequestDeletion("orders"), ConnectionLost("not connected"), 1),
        (RemoveTopic("orders"), MultiFailed(2, NotEmpty("/brokers/topics/orders")), 2),  # the second way is careful
    ],
    ids=["the store is away", "something is in the way"],
)
def test_what_will_be_wanted_again_is_not_tried_again_at_once(change: Change, error: StoreError, multis: int) -> None:
    """A topic was to go while the store was away: its controller did nothing but ask, and no broker was served."""
    host = ManualHost(0)
    store = UnwillingStore(host, error)
    begin_to_work(Persistent(change), store, host)
    for _ in range(100):
        host.turn()
    assert store.asked == multis
    host.pass_time(TRY_AGAIN_MS)
    assert store.asked == 2 * multis


class Remover:
    """Reads a topic, and has it removed or not."""

    is_active = False

    def __init__(self, *, is_removing: bool) -> None:
        self._is_removing = is_removing

    def steps(self, _: object, __: int) -> tuple[Effect, ...]:
        return (ReadTopic("orders"),)

    def knows(self, _: str) -> bool:
        return False

    def is_removing(self, _: str) -> bool:
        return self._is_removing


@pytest.mark.parametrize(
    ("kind", "is_removing", "reads"),
    [
        (EventKind.DELETED, True, 1),
        (EventKind.DELETED, False, 2),
        (EventKind.CHANGED, True, 2),
    ],
    ids=["gone by our own hand", "gone by another's", "changed before it went"],
)
def test_a_topic_that_the_controller_has_removed_is_not_read_again(
    kind: EventKind, is_removing: bool, reads: int
) -> None:
    """A thousand topics that went were read a thousand times, which cost more than the writes that removed them."""
    host = ManualHost(0)
    store = WatchedStore(host)
    begin_to_work(Remover(is_removing=is_removing), store, host)
    host.turn()
    [watcher] = store.watchers
    watcher(WatchEvent(kind, "/brokers/topics/orders"))
    host.turn()
    assert len(store.watchers) == reads
