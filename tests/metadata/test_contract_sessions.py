"""The contract of every metadata store: sessions, ephemerals, several sessions at once."""

from __future__ import annotations

from typing import Any

import pytest
from tests.metadata.benches import StoreBench

from strandline.metadata.answer import Answer
from strandline.metadata.errors import (
    BadVersion,
    NoChildrenForEphemerals,
    NodeExists,
    SessionClosed,
    SessionExpired,
)
from strandline.metadata.store import Session, SessionState, Stat


def test_an_ephemeral_goes_when_its_session_is_closed(bench: StoreBench) -> None:
    owner, other = bench.session(), bench.session()
    path = f"{bench.root}/broker"
    stat = bench.result(owner.create(path, ephemeral=True)).stat
    bench.result(owner.create(f"{bench.root}/persistent"))
    assert stat.ephemeral_owner == owner.session_id != other.session_id
    assert bench.result(other.exists(path)) == stat
    bench.result(owner.close())
    assert bench.result(other.children(bench.root)).names == ("persistent",)


def test_an_ephemeral_goes_when_its_session_expires(bench: StoreBench) -> None:
    states: list[SessionState] = []
    owner, other = bench.session(states.append), bench.session()
    for name in ("b", "a"):
        bench.result(owner.create(f"{bench.root}/{name}", ephemeral=True))
    bench.result(other.create(f"{bench.root}/c", ephemeral=True))
    bench.expire(owner)
    bench.settle()
    assert states[-1] is SessionState.EXPIRED
    assert bench.result(other.children(bench.root)).names == ("c",)


def test_a_session_that_is_over_makes_no_more_calls(bench: StoreBench) -> None:
    closed, expired, other = bench.session(), bench.session(), bench.session()
    bench.result(closed.close())
    bench.expire(expired)
    bench.settle()
    path = f"{bench.root}/late"
    for session, error in ((closed, SessionClosed), (expired, SessionExpired)):
        with pytest.raises(error):
            bench.result(session.create(path))
        with pytest.raises(error):
            bench.result(session.exists(path))
        with pytest.raises(error):
            bench.result(session.multi([]))
    assert bench.result(other.exists(path)) is None


def test_closing_twice_is_closing(bench: StoreBench) -> None:
    session = bench.session()
    bench.result(session.close())
    bench.result(session.close())


def test_sessions_do_not_come_back_under_the_same_id(bench: StoreBench) -> None:
    sessions = [bench.session() for _ in range(3)]
    bench.result(sessions[0].close())
    bench.restart()
    sessions += [bench.session() for _ in range(3)]
    assert len({session.session_id for session in sessions}) == 6


def test_an_ephemeral_taken_away_by_another_is_not_taken_away_again(bench: StoreBench) -> None:
    """What KAFKA-7165 does to its own former registration: delete, create again; the old session's end is no harm."""
    former, now = bench.session(), bench.session()
    path = f"{bench.root}/broker"
    bench.result(former.create(path, b"former", ephemeral=True))
    with pytest.raises(NodeExists):
        bench.result(now.create(path, b"now", ephemeral=True))
    bench.result(now.delete(path))
    bench.result(now.create(path, b"now", ephemeral=True))
    bench.expire(former)
    bench.settle()
    found = bench.result(now.get(path))
    assert (found.data, found.stat.ephemeral_owner) == (b"now", now.session_id)


def test_ephemerals_have_no_children(bench: StoreBench) -> None:
    session, path = bench.session(), f"{bench.root}/broker"
    bench.result(session.create(path, ephemeral=True))
    with pytest.raises(NoChildrenForEphemerals):
        bench.result(session.create(f"{path}/child"))


def test_ephemerals_have_numbers_too(bench: StoreBench) -> None:
    session = bench.session()
    paths = [bench.result(session.create(f"{bench.root}/n", ephemeral=True, sequential=True)).path for _ in range(2)]
    assert paths == [f"{bench.root}/n{number:010}" for number in range(2)]
    bench.result(session.close())
    path = bench.result(bench.session().create(f"{bench.root}/n", sequential=True)).path
    assert path == f"{bench.root}/n{2:010}"


def test_answers_come_in_the_order_of_the_calls(bench: StoreBench) -> None:
    session, path = bench.session(), f"{bench.root}/node"
    order: list[str] = []

    def note(name: str, answer: Answer[Any]) -> None:
        answer.then(lambda ready: order.append(f"{name} {type(ready.error).__name__ if ready.error else 'done'}"))

    note("read missing", session.get(path))
    note("create", session.create(path))
    note("create again", session.create(path))
    note("read", session.get(path))
    note("set", session.set(path, b""))
    note("delete", session.delete(path))
    note("exists", session.exists(path))
    bench.settle()
    assert order == [
        "read missing NoNode",
        "create done",
        "create again NodeExists",
        "read done",
        "set done",
        "delete done",
        "exists done",
    ]


def test_only_one_of_many_becomes_controller(bench: StoreBench) -> None:
    sessions = [bench.session() for _ in range(5)]
    path = f"{bench.root}/controller"
    answers = [session.create(path, b"%d" % index, ephemeral=True) for index, session in enumerate(sessions)]
    bench.settle()
    winners = [session for session, answer in zip(sessions, answers, strict=True) if answer.error is None]
    assert len(winners) == 1
    assert bench.result(sessions[0].get(path)).stat.ephemeral_owner == winners[0].session_id
    bench.result(winners[0].close())
    bench.result(next(session for session in sessions if session is not winners[0]).create(path, ephemeral=True))


class Counter:
    """Adds one to a node, by reading it and setting the version read, again until it is done."""

    def __init__(self, session: Session, path: str, times: int) -> None:
        self._session = session
        self._path = path
        self.times_left = times
        self.retries = 0

    def step(self) -> None:
        if self.times_left:
            self._session.get(self._path).then(
                lambda read: self._set(int(read.value().data), read.value().stat.version),
            )

    def _set(self, count: int, version: int) -> None:
        self._session.set(self._path, b"%d" % (count + 1), version).then(self._was_set)

    def _was_set(self, answer: Answer[Stat]) -> None:
        if answer.error is None:
            self.times_left -= 1
        else:
            assert isinstance(answer.error, BadVersion)
            self.retries += 1
        self.step()


def test_nothing_is_lost_when_all_set_only_the_version_they_read(bench: StoreBench) -> None:
    path = f"{bench.root}/epoch"
    reader = bench.session()
    bench.result(reader.create(path, b"0"))
    counters = [Counter(bench.session(), path, times=10) for _ in range(3)]
    for counter in counters:
        counter.step()
    while any(counter.times_left for counter in counters):
        bench.settle()
    found = bench.result(reader.get(path))
    assert (found.data, found.stat.version) == (b"30", 30)
    assert sum(counter.retries for counter in counters) > 0
