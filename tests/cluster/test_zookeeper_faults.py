"""Sessions and what happens to real ZooKeeper servers: outages, elections, expiry (SPEC M1)."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from signal import SIGCONT, SIGSTOP
from threading import Thread
from time import monotonic, sleep
from typing import Any, TypeVar

import pytest
from tests.metadata.zookeeper_bench import WAIT_S, Owner, ZooKeeperBench, client_of

from strandline.cluster.ports import HOST
from strandline.cluster.zookeeper_ensemble import ZooKeeperEnsemble
from strandline.cluster.zookeeper_installation import find_installation
from strandline.cluster.zookeeper_server import ZooKeeperTimes
from strandline.metadata.answer import Answer
from strandline.metadata.errors import ConnectionLost, SessionExpired, SessionOver
from strandline.metadata.store import SessionState
from strandline.metadata.zookeeper import ZooKeeperStore
from strandline.metadata.zookeeper_settings import ZooKeeperSettings

Value = TypeVar("Value")
HOLDER = str(Path(__file__).with_name("session_holder.py"))
SHORT_SESSION_MS = 1_000


@pytest.fixture
def bench(zookeeper: ZooKeeperEnsemble) -> Iterator[ZooKeeperBench]:
    bench = ZooKeeperBench(zookeeper)
    yield bench
    zookeeper.start()  # if a test has stopped it and failed
    bench.close()


def wait_until(is_so: Callable[[], bool]) -> None:
    """Without doing what is posted."""
    deadline = monotonic() + WAIT_S
    while not is_so():
        assert monotonic() < deadline
        sleep(0.005)


class News(list[SessionState]):
    def __init__(self, owner: Owner) -> None:
        self._owner = owner

    def wait_for(self, *states: SessionState) -> None:
        self._owner.run_until(lambda: self[-len(states) :] == list(states), f"{states} after {self}")


def test_a_session_outlives_an_outage(bench: ZooKeeperBench) -> None:
    news = News(bench.owner)
    session, heard = bench.session(news.append), list[str]()
    (server,) = bench.zookeeper.servers
    path = f"{bench.root}/broker"
    before = bench.result(session.create(path, b"1", ephemeral=True)).stat
    bench.result(session.get(path, lambda event: heard.append(str(event))))
    server.kill()
    in_flight = [session.set(path, b"%d" % number) for number in range(30)]
    news.wait_for(SessionState.SUSPENDED)
    meanwhile = session.get(path)
    bench.owner.run_until(lambda: meanwhile.is_ready, "an answer without a server")
    assert {type(answer.error) for answer in in_flight} == {ConnectionLost}
    assert isinstance(meanwhile.error, ConnectionLost)
    server.start()
    news.wait_for(SessionState.SUSPENDED, SessionState.CONNECTED)
    found = bench.result(session.get(path))
    assert (found.stat.created_zxid, found.stat.ephemeral_owner) == (before.created_zxid, session.session_id)
    assert bench.result(session.set(path, b"2")).version == found.stat.version + 1
    assert heard == []  # watches went with the connection
    assert news == [SessionState.SUSPENDED, SessionState.CONNECTED]


def test_a_close_does_not_wait_for_a_zookeeper_that_is_down(bench: ZooKeeperBench) -> None:
    """KAFKA-9189."""
    news = News(bench.owner)
    session = bench.session(news.append)
    bench.zookeeper.kill()
    news.wait_for(SessionState.SUSPENDED)
    with pytest.raises(ConnectionLost):
        bench.result(session.close())
    bench.zookeeper.start()


def test_no_zookeeper_is_told_in_time(tmp_path: Path) -> None:
    ensemble = ZooKeeperEnsemble.create(str(tmp_path), find_installation())
    owner = Owner()
    settings = ZooKeeperSettings(zookeeper_connect=ensemble.connect, zookeeper_connection_timeout_ms=100)
    answer = ZooKeeperStore(settings, owner.post).open_session(lambda _: None)
    owner.run_until(lambda: answer.is_ready, "the session not to be opened")
    assert isinstance(answer.error, ConnectionLost)
    assert str(answer.error) == f"no ZooKeeper at {ensemble.connect} has opened a session within 100 ms"
    ensemble.close()


def test_a_server_that_never_answers_is_asked_again_while_the_session_lives() -> None:
    """ZooKeeper 3.9.5 loses requests for a session that come just as it starts: one wait must not cost the session."""
    owner = Owner()
    with socket.create_server((HOST, 0)) as mute, ExitStack() as callers:
        mute.settimeout(WAIT_S)
        settings = ZooKeeperSettings(
            zookeeper_connect=f"{HOST}:{mute.getsockname()[1]}",
            zookeeper_session_timeout_ms=3_000,
            zookeeper_connection_timeout_ms=1_500,
        )
        answer = ZooKeeperStore(settings, owner.post).open_session(lambda _: None)
        for _ in range(2):
            callers.enter_context(mute.accept()[0])
        assert not answer.is_ready
        owner.run_until(lambda: answer.is_ready, "the session not to be opened")


def test_a_process_stopped_for_longer_than_its_session_hears_that_it_is_over(bench: ZooKeeperBench) -> None:
    """SIGSTOP: its ephemeral goes without it; it then may not act for the dead session, and opens another."""
    path, watching, gone = f"{bench.root}/broker", bench.session(), list[str]()
    holder = subprocess.Popen(
        [sys.executable, HOLDER, bench.settings.zookeeper_connect, str(SHORT_SESSION_MS), path],
        stdout=subprocess.PIPE,
        text=True,
    )
    with holder:
        assert holder.stdout is not None
        try:
            assert holder.stdout.readline() == "holding\n"
            bench.result(watching.get(path, lambda event: gone.append(str(event))))
            holder.send_signal(SIGSTOP)
            bench.owner.run_until(lambda: bool(gone), "the ephemeral to go")
            holder.send_signal(SIGCONT)
            assert holder.stdout.read().split("\n") == ["suspended", "expired", "SessionExpired", "holding again", ""]
        finally:
            holder.kill()
    assert gone == [f"deleted {path}"]
    assert holder.returncode == 0


def test_nothing_is_done_in_the_name_of_an_expired_session(bench: ZooKeeperBench) -> None:
    """kazoo opens a new session by itself, and would send it what is asked before we hear of the old one's end."""
    news = News(bench.owner)
    session, observer = bench.session(news.append), bench.session()
    kazoo = client_of(session)._kazoo
    bench.usurp(session)
    # Ours has closed it by then; left to itself it would be connected again.
    wait_until(lambda: client_of(session)._is_over and kazoo.client_state in ("CLOSED", "CONNECTED"))
    assert news == []
    answer = session.create(f"{bench.root}/broker", ephemeral=True)
    news.wait_for(SessionState.SUSPENDED, SessionState.EXPIRED)
    bench.settle()
    assert isinstance(answer.error, ConnectionLost | SessionExpired)
    assert bench.result(observer.children(bench.root)).names == ()


def test_a_session_that_ends_amid_its_calls_leaves_nothing(bench: ZooKeeperBench) -> None:
    session, observer = bench.session(), bench.session()
    answers: list[Answer[Any]] = []

    def go_on(last: Answer[Any] | None = None) -> None:
        """Always one more ephemeral, whatever became of the last, until the session is over."""
        if last is None or not isinstance(last.error, SessionOver):
            answers.append(session.create(f"{bench.root}/e", ephemeral=True, sequential=True))
            answers[-1].then(go_on)

    for _ in range(5):
        go_on()
    bench.owner.run_until(lambda: len(answers) > 20, "some ephemerals")
    usurping = Thread(target=bench.usurp, args=(session,))
    usurping.start()
    bench.owner.run_until(lambda: answers[-1].is_ready, "the end of the session")
    usurping.join()
    owners = {answer.value().stat.ephemeral_owner for answer in answers if answer.error is None}
    assert owners == {session.session_id}
    assert isinstance(answers[-1].error, SessionExpired)
    assert bench.result(observer.children(bench.root)).names == ()


@pytest.fixture
def three(tmp_path: Path) -> Iterator[ZooKeeperEnsemble]:
    times = ZooKeeperTimes(tick_ms=200)
    ensemble = ZooKeeperEnsemble.create(str(tmp_path), find_installation(), client_ports=(0, 0, 0), times=times)
    ensemble.start()
    yield ensemble
    ensemble.kill()
    ensemble.close()


def test_sessions_outlive_the_leader_of_an_ensemble(three: ZooKeeperEnsemble) -> None:
    bench = ZooKeeperBench(three)
    news = News(bench.owner)
    session = bench.session(news.append)
    path = f"{bench.root}/broker"
    bench.result(session.create(path, b"0", ephemeral=True))
    for turn in range(2):
        leader = three.leader()
        assert leader is not None
        leader.kill()
        _asked(bench, news, partial(session.set, path, b"%d" % turn))
        leader.start()
        leader.wait_until_ready()
        assert leader.mode() == "follower"
    found = _asked(bench, news, lambda: session.get(path))
    assert (found.data, found.stat.ephemeral_owner) == (b"1", session.session_id)
    assert SessionState.EXPIRED not in news
    bench.close()


def _asked(bench: ZooKeeperBench, news: News, ask: Callable[[], Answer[Value]]) -> Value:
    """Where the outcome is unknown it is asked again once connected, as a read or a set without a version may be."""
    while True:
        answer = ask()
        bench.owner.run_until(lambda: answer.is_ready, "an answer")  # noqa: B023
        if not isinstance(answer.error, ConnectionLost):
            return answer.value()
        news.wait_for(SessionState.CONNECTED)


def test_two_of_three_are_a_quorum_and_one_is_none(three: ZooKeeperEnsemble) -> None:
    bench = ZooKeeperBench(three, session_timeout_ms=20_000)
    news = News(bench.owner)
    session = bench.session(news.append)
    first, second, third = three.servers
    first.kill()
    _asked(bench, news, lambda: session.set(bench.root, b"two"))
    second.kill()
    wait_until(lambda: third.mode() is None)
    news.wait_for(SessionState.SUSPENDED)
    three.start()
    assert _asked(bench, news, lambda: session.get(bench.root)).data == b"two"
    assert SessionState.EXPIRED not in news
    bench.close()
