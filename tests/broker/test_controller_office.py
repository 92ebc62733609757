"""A controller whose store does not answer: it tries again, and not as fast as it can."""

from __future__ import annotations

from typing import Any, cast

from tests.broker.manual_host import ManualHost

from strandline.broker.controller_office import Office
from strandline.broker.peers import Peers
from strandline.broker.store_reads import TRY_AGAIN_MS
from strandline.controller.changes import RequestDeletion
from strandline.controller.controller import Controller
from strandline.controller.effects import Effect, Write
from strandline.controller.events import Event
from strandline.metadata.answer import Answer
from strandline.metadata.errors import ConnectionLost
from strandline.metadata.store import Session


class AwayStore:
    """Says at once that it is not there, as a client of ZooKeeper does that has no connection."""

    def __init__(self, host: ManualHost) -> None:
        self.asked = 0
        self._host = host

    def multi(self, _: object) -> Answer[Any]:
        self.asked += 1
        answer: Answer[Any] = Answer()
        self._host.call_soon(lambda: answer.deliver(ConnectionLost("not connected")))
        return answer


class Persistent:
    """Wants the same again whatever happens."""

    is_active = False

    def step(self, _: Event, __: int) -> tuple[Effect, ...]:
        return (Write(1, 1, (RequestDeletion("orders"),)),)


def test_a_write_of_unknown_outcome_is_not_tried_again_at_once() -> None:
    """A topic was to go while the store was away: its controller did nothing but ask, and no broker was served."""
    host = ManualHost(0)
    store = AwayStore(host)
    office = Office(
        cast(Controller, Persistent()),
        cast(Session, store),
        cast(Peers, None),
        host,
        1_000,
        lambda _: None,
        lambda _: None,
    )
    office.is_in_charge = True
    office.step(cast(Event, None))
    for _ in range(100):
        host.turn()
    assert store.asked == 1
    host.pass_time(TRY_AGAIN_MS)
    assert store.asked == 2
