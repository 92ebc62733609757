"""The brokers that live, as each broker knows them (SPEC R7): the last look counts, whichever ends last."""

from __future__ import annotations

from typing import Any, cast

from tests.broker.manual_host import ManualHost

from strandline.broker.procedures import begin
from strandline.broker.registration import LiveBrokers
from strandline.metadata import paths
from strandline.metadata.answer import Answer
from strandline.metadata.errors import ConnectionLost
from strandline.metadata.store import Children, EventKind, Session, Stat, Watcher, WatchEvent

CHANGED = WatchEvent(EventKind.CHILDREN, paths.BROKER_IDS)


def test_they_are_read_whenever_they_change() -> None:
    session = ScriptedSession()
    live = look(session)
    session.list(1, 2)
    session.tell(1, epoch=10)
    session.tell(2, epoch=20)
    assert live == {1: 10, 2: 20}
    session.change()
    session.list(1, 2, 3)
    for broker_id in (1, 2, 3):
        session.tell(broker_id, epoch=broker_id * 100)
    assert live == {1: 100, 2: 200, 3: 300}


def test_one_that_went_between_the_list_and_the_look_at_it_is_not_there() -> None:
    session = ScriptedSession()
    live = look(session)
    session.list(1, 2)
    session.tell(1, epoch=None)
    session.tell(2, epoch=20)
    assert live == {2: 20}


def test_a_look_at_many_does_not_undo_a_later_one_at_fewer_that_ended_before_it() -> None:
    session = ScriptedSession()
    live = look(session)
    session.list(1, 2, 3)
    session.change()
    session.list(1)
    session.tell(1, epoch=10)  # to the first
    session.tell(1, epoch=10)  # to the second, whose end this is
    assert live == {1: 10}
    session.tell(2, epoch=20)
    session.tell(3, epoch=30)
    assert live == {1: 10}


def test_one_that_fails_is_tried_again() -> None:
    session, host = ScriptedSession(), ManualHost(0)
    live = look(session, host)
    session.fail()
    host.pass_time(1_000)
    session.list(1)
    session.tell(1, epoch=10)
    assert live == {1: 10}


class ScriptedSession:
    """Its answers come when the test says so, in the order of the questions about one path."""

    def __init__(self) -> None:
        self._questions: list[tuple[str, Answer[Any]]] = []
        self._watchers: list[Watcher] = []

    def children(self, path: str, watcher: Watcher) -> Answer[Children]:
        self._watchers.append(watcher)
        return self._ask(path)

    def exists(self, path: str) -> Answer[Stat | None]:
        return self._ask(path)

    def _ask(self, path: str) -> Answer[Any]:
        self._questions.append((path, Answer()))
        return self._questions[-1][1]

    def list(self, *broker_ids: int) -> None:
        self._answer(paths.BROKER_IDS, Children(tuple(map(str, broker_ids)), stat_of(0)))

    def tell(self, broker_id: int, epoch: int | None) -> None:
        self._answer(paths.broker_path(broker_id), None if epoch is None else stat_of(epoch))

    def fail(self) -> None:
        self._answer(paths.BROKER_IDS, ConnectionLost())

    def change(self) -> None:
        self._watchers.pop()(CHANGED)

    def _answer(self, path: str, outcome: Any) -> None:
        number = next(number for number, (asked, _) in enumerate(self._questions) if asked == path)
        self._questions.pop(number)[1].deliver(outcome)


def look(session: ScriptedSession, host: ManualHost | None = None) -> LiveBrokers:
    live = LiveBrokers(cast(Session, session), host or ManualHost(0))
    begin(live.read())
    return live


def stat_of(created_zxid: int) -> Stat:
    return Stat(created_zxid, *(0 for _ in Stat._fields[1:]))
