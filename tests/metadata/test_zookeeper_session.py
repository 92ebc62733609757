"""What a session makes of its client's news, in orders that a real ZooKeeper gives only now and then."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from strandline.metadata.answer import Answer
from strandline.metadata.errors import (
    ConnectionLost,
    Declined,
    IllegalPath,
    MultiFailed,
    NoNode,
    SessionClosed,
    SessionExpired,
    TooLarge,
    TooManyCalls,
)
from strandline.metadata.operations import REQUEST_BYTES_MAX, Create, Delete, Operation, SetData
from strandline.metadata.store import EventKind, NodeData, SessionState, Stat, WatchEvent
from strandline.metadata.zookeeper_calls import CallQueue, Settle
from strandline.metadata.zookeeper_session import ZooKeeperSession

STAT = Stat(1, 1, 1, 0, 0, 0, 0, 0, 0, 0)
FOUND = NodeData(b"", STAT)


class ScriptedClient:
    """Does nothing until the test says what the server answers."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, Settle]] = []

    def start(self) -> None:
        self.asked.append(("start", lambda _: None))

    def stop(self, settle: Settle) -> None:
        self.asked.append(("stop", settle))

    def make_chroot(self, settle: Settle) -> None:
        self.asked.append(("make_chroot", settle))

    def get(self, path: str, is_watched: bool, settle: Settle) -> None:
        self.asked.append((f"get {path}{' watched' * is_watched}", settle))

    def exists(self, path: str, is_watched: bool, settle: Settle) -> None:
        self.asked.append((f"exists {path}{' watched' * is_watched}", settle))

    def children(self, path: str, is_watched: bool, settle: Settle) -> None:
        self.asked.append((f"children {path}{' watched' * is_watched}", settle))

    def create(self, operation: Create, settle: Settle) -> None:
        self.asked.append((f"create {operation.path}", settle))

    def set(self, operation: SetData, settle: Settle) -> None:
        self.asked.append((f"set {operation.path}", settle))

    def delete(self, operation: Delete, settle: Settle) -> None:
        self.asked.append((f"delete {operation.path}", settle))

    def multi(self, operations: Sequence[Operation], settle: Settle) -> None:
        self.asked.append((f"multi of {len(operations)}", settle))


class Bench:
    def __init__(self, in_flight_max: int = 2, waiting_max: int = 4, chroot_bytes: int = 0) -> None:
        self.posted: deque[Callable[[], object]] = deque()
        self.client = ScriptedClient()
        self.heard: list[str] = []
        calls = CallQueue(self.posted.append, in_flight_max=in_flight_max, waiting_max=waiting_max)
        self.session = ZooKeeperSession(
            calls, lambda state: self.heard.append(state.value), chroot_bytes=chroot_bytes, unreachable="nobody there"
        )
        self.opened = self.session.open(self.client)

    def connect(self) -> ZooKeeperSession:
        self.session.told_state(SessionState.CONNECTED, 7)
        self.answer("make_chroot", None)
        return self.session

    @property
    def asked(self) -> list[str]:
        return [name for name, _ in self.client.asked]

    def answer(self, name: str, outcome: Any) -> None:
        """The server's, to the first request of this name that it has not answered."""
        index = self.asked.index(name)
        self.client.asked.pop(index)[1](outcome)

    def run(self) -> None:
        while self.posted:
            self.posted.popleft()()

    def note(self, name: str, answer: Answer[Any]) -> None:
        assert not answer.is_ready, "delivered inside the call"
        answer.then(lambda ready: self.heard.append(f"{name} {type(ready.error).__name__ if ready.error else 'done'}"))


@pytest.fixture
def bench() -> Bench:
    made = Bench()
    made.connect()
    made.client.asked.clear()
    return made


def test_so_many_in_flight_the_others_wait(bench: Bench) -> None:
    """Kafka's zookeeper.max.in.flight.requests: what waits here does not block the loop in kazoo's queue."""
    for name in "abcd":
        bench.note(name, bench.session.get(f"/{name}"))
    assert bench.asked == ["get /a", "get /b"]
    bench.answer("get /a", FOUND)
    assert bench.asked == ["get /b", "get /c"]
    bench.answer("get /b", FOUND)
    bench.answer("get /c", FOUND)
    bench.answer("get /d", FOUND)
    assert bench.heard == ["a done", "b done", "c done", "d done"]


def test_a_call_without_room_is_refused_at_once(bench: Bench) -> None:
    for name in "abcdef":
        bench.note(name, bench.session.get(f"/{name}"))
    late = bench.session.set("/late", b"")
    assert not late.is_ready
    bench.run()
    assert isinstance(late.error, TooManyCalls)
    assert not late.error.outcome_unknown
    assert bench.heard == []
    for name in "abcdef":
        bench.answer(f"get /{name}", FOUND)
    assert len(bench.heard) == 6


def test_answers_leave_in_the_order_of_the_calls_whatever_order_outcomes_come_in(bench: Bench) -> None:
    bench.note("a", bench.session.get("/a"))
    bench.note("b", bench.session.get("/b"))
    bench.note("illegal", bench.session.get("relative"))
    bench.answer("get /b", NoNode("/b"))
    bench.run()
    assert bench.heard == []
    bench.answer("get /a", FOUND)
    bench.run()
    assert bench.heard == ["a done", "b NoNode", "illegal IllegalPath"]


def test_what_needs_no_server_is_still_not_answered_inside_the_call(bench: Bench) -> None:
    answers: list[Answer[Any]] = [
        bench.session.delete("/"),
        bench.session.multi([Create("/a"), Delete("/")]),
        bench.session.create("/a", b"x" * REQUEST_BYTES_MAX),
    ]
    assert not any(answer.is_ready for answer in answers)
    bench.run()
    deleted, many, large = (answer.error for answer in answers)
    assert bench.asked == []
    assert isinstance(deleted, IllegalPath)
    assert isinstance(many, MultiFailed)
    assert many.index == 1
    assert isinstance(large, TooLarge)


def test_the_chroot_counts_in_the_size_of_a_request() -> None:
    bench = Bench(chroot_bytes=100)
    session = bench.connect()
    data = b"x" * (REQUEST_BYTES_MAX - 240)
    session.create("/a", data)
    refused = session.create("/a", data + b"x" * 100)
    bench.answer("create /a", Declined("/a", "whatever"))
    bench.run()
    assert isinstance(refused.error, TooLarge)


def test_suspended_all_calls_end_in_their_order_and_none_is_sent(bench: Bench) -> None:
    for name in "abc":
        bench.note(name, bench.session.set(f"/{name}", b""))
    bench.session.told_state(SessionState.SUSPENDED, 7)
    bench.note("d", bench.session.get("/d"))
    bench.run()
    assert bench.heard == ["suspended", *(f"{name} ConnectionLost" for name in "abcd")]
    assert bench.asked == ["set /a", "set /b"]
    assert ConnectionLost.outcome_unknown
    bench.session.told_state(SessionState.CONNECTED, 7)
    bench.note("e", bench.session.get("/e"))
    bench.answer("get /e", FOUND)
    assert bench.heard[5:] == ["connected", "e done"]


def test_who_asks_again_at_once_does_not_keep_the_others_waiting(bench: Bench) -> None:
    def ask(_: object = None) -> None:
        bench.heard.append("asked")
        bench.session.get("/a").then(ask)

    bench.session.told_state(SessionState.SUSPENDED, 7)
    ask()
    for _ in range(3):
        bench.posted.popleft()()
    assert bench.heard == ["suspended"] + ["asked"] * 4


def test_an_answer_that_comes_too_late_is_none(bench: Bench) -> None:
    """kazoo sends what was asked between its loss of the connection and our hearing of it when it is back."""
    bench.note("a", bench.session.get("/a", lambda event: bench.heard.append(str(event))))
    bench.session.told_state(SessionState.SUSPENDED, 7)
    bench.session.told_state(SessionState.CONNECTED, 7)
    bench.answer("get /a watched", FOUND)
    bench.session.told_event(WatchEvent(EventKind.CHANGED, "/a"))
    bench.run()
    assert bench.heard == ["suspended", "a ConnectionLost", "connected"]


def test_watches_are_gone_after_a_suspension(bench: Bench) -> None:
    bench.session.get("/a", lambda event: bench.heard.append(str(event)))
    bench.answer("get /a watched", FOUND)
    bench.session.told_state(SessionState.SUSPENDED, 7)
    bench.session.told_state(SessionState.CONNECTED, 7)
    bench.session.told_event(WatchEvent(EventKind.CHANGED, "/a"))
    assert bench.heard == ["suspended", "connected"]


def test_an_expired_session_is_over_for_good(bench: Bench) -> None:
    for name in "abc":
        bench.note(name, bench.session.set(f"/{name}", b""))
    bench.session.told_state(SessionState.SUSPENDED, 7)
    bench.session.told_state(SessionState.EXPIRED, 7)
    bench.note("late", bench.session.get("/late"))
    bench.note("close", bench.session.close())
    bench.run()
    ends = [f"{name} ConnectionLost" for name in "abc"]
    assert bench.heard == ["suspended", *ends[:2], "expired", ends[2], "late SessionExpired", "close done"]
    assert bench.asked == ["set /a", "set /b"]


def test_calls_in_flight_when_it_expires_have_an_unknown_outcome(bench: Bench) -> None:
    answer = bench.session.set("/a", b"")
    bench.session.told_state(SessionState.EXPIRED, 7)
    assert isinstance(answer.error, SessionExpired)
    assert answer.error.outcome_unknown


def test_a_close_waits_for_the_calls_before_it_and_refuses_those_after(bench: Bench) -> None:
    bench.note("a", bench.session.set("/a", b""))
    bench.note("close", bench.session.close())
    bench.note("late", bench.session.get("/late"))
    bench.note("again", bench.session.close())
    assert bench.asked == ["set /a"]
    bench.answer("set /a", STAT)
    assert bench.asked == ["stop"]
    bench.answer("stop", None)
    bench.run()
    assert bench.heard == ["a done", "close done", "late SessionClosed", "again done"]


def test_a_closed_session_hears_no_more(bench: Bench) -> None:
    bench.session.get("/a", lambda event: bench.heard.append(str(event)))
    bench.answer("get /a watched", FOUND)
    bench.session.get("/b", lambda event: bench.heard.append(str(event)))
    bench.session.close()
    bench.answer("get /b watched", FOUND)
    for path in ("/a", "/b"):
        bench.session.told_event(WatchEvent(EventKind.CHANGED, path))
    assert bench.heard == []


def test_nobody_waits_to_close_what_is_not_connected(bench: Bench) -> None:
    """KAFKA-9189: a shutdown must not hang because ZooKeeper is down."""
    bench.session.told_state(SessionState.SUSPENDED, 7)
    closed = bench.session.close()
    bench.run()
    assert isinstance(closed.error, ConnectionLost)
    assert bench.asked == ["stop"]
    late = bench.session.get("/a")
    bench.run()
    assert isinstance(late.error, SessionClosed)


@pytest.mark.parametrize("state", [SessionState.SUSPENDED, SessionState.EXPIRED])
def test_the_connection_goes_while_a_close_waits(bench: Bench, state: SessionState) -> None:
    bench.note("a", bench.session.set("/a", b""))
    bench.note("close", bench.session.close())
    bench.session.told_state(state, 7)
    bench.run()
    error = "ConnectionLost" if state is SessionState.SUSPENDED else "SessionExpired"
    assert bench.heard == [f"a {error}", f"close {error}"]
    assert bench.asked == ["set /a", "stop"][: 2 if state is SessionState.SUSPENDED else 1]


def test_a_session_is_opened_when_its_root_is_there() -> None:
    bench = Bench()
    assert bench.asked == ["start"]
    bench.session.told_state(SessionState.CONNECTED, 7)
    assert not bench.opened.is_ready
    bench.answer("make_chroot", None)
    assert bench.opened.value() is bench.session
    assert bench.session.session_id == 7
    assert bench.heard == []


@pytest.mark.parametrize("news", [[SessionState.EXPIRED], [SessionState.CONNECTED, SessionState.SUSPENDED]])
def test_a_session_that_cannot_be_opened_says_so_and_leaves_nothing(news: list[SessionState]) -> None:
    bench = Bench()
    for state in news:
        bench.session.told_state(state, 7)
    assert isinstance(bench.opened.error, ConnectionLost)
    assert str(bench.opened.error) == "nobody there"
    assert bench.asked[-1] == "stop"
    assert bench.heard == []


def test_a_root_that_may_not_be_made_is_no_root() -> None:
    bench = Bench()
    bench.session.told_state(SessionState.CONNECTED, 7)
    bench.answer("make_chroot", Declined("/kafka", "ZooKeeper declines with NoAuthError"))
    assert isinstance(bench.opened.error, Declined)
    assert bench.asked[-1] == "stop"


class Broken(Exception):
    pass


def test_a_watcher_that_fails_costs_the_others_nothing(bench: Bench) -> None:
    def broken(_: object) -> None:
        bench.heard.append("broken")
        raise Broken

    for watcher in (lambda _: bench.heard.append("first"), broken, lambda _: bench.heard.append("last")):
        bench.session.get("/a", watcher)
        bench.answer("get /a watched", FOUND)
    with pytest.raises(Broken):
        bench.session.told_event(WatchEvent(EventKind.CHANGED, "/a"))
    assert bench.heard == ["first", "broken", "last"]


def test_a_callback_that_fails_costs_the_others_a_turn(bench: Bench) -> None:
    def broken(_: object) -> None:
        raise Broken

    bench.session.get("/a").then(broken)
    bench.note("b", bench.session.get("/b"))
    bench.note("c", bench.session.get("/c"))
    bench.answer("get /b", FOUND)
    with pytest.raises(Broken):
        bench.answer("get /a", FOUND)
    bench.run()
    assert bench.heard == ["b done"]
    assert bench.asked == ["get /c"]
