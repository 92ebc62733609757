"""The contract tests' bench on a real ZooKeeper: the test's thread is the owner's, and takes what is posted to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from queue import Empty, Queue
from time import monotonic
from typing import TypeVar, cast

from kazoo.client import KazooClient
from tests.metadata.benches import ignore

from strandline.cluster.zookeeper_ensemble import ZooKeeperEnsemble
from strandline.metadata.answer import Answer
from strandline.metadata.store import Session, SessionListener, SessionState
from strandline.metadata.zookeeper import ZooKeeperStore
from strandline.metadata.zookeeper_client import ZooKeeperClient
from strandline.metadata.zookeeper_session import ZooKeeperSession
from strandline.metadata.zookeeper_settings import ZooKeeperSettings

Value = TypeVar("Value")
WAIT_S = 20.0  # longer than anything takes; a test that waits this long has failed
SESSION_TIMEOUT_MS = 10_000
numbers = count()


class Owner:
    """A thread that does what is posted to it, when it is told to."""

    def __init__(self) -> None:
        self._posted: Queue[Callable[[], object]] = Queue()
        self.post = self._posted.put
        self.done = 0

    def run_until(self, is_done: Callable[[], bool], what: str) -> None:
        deadline = monotonic() + WAIT_S
        while not is_done():
            assert monotonic() < deadline, f"waited {WAIT_S} s for {what}"
            try:
                posted = self._posted.get(timeout=0.05)
            except Empty:
                continue
            self.done += 1
            posted()


def client_of(session: Session) -> ZooKeeperClient:
    assert isinstance(session, ZooKeeperSession)
    assert isinstance(session._client, ZooKeeperClient)
    return session._client


class ZooKeeperBench:
    root = "/contract"

    def __init__(self, zookeeper: ZooKeeperEnsemble, session_timeout_ms: int = SESSION_TIMEOUT_MS) -> None:
        self.zookeeper = zookeeper
        self.owner = Owner()
        # A root of its own by a chroot of its own.
        self.settings = ZooKeeperSettings(
            zookeeper_connect=f"{zookeeper.connect}/benches/{next(numbers)}",
            zookeeper_session_timeout_ms=session_timeout_ms,
        )
        self.store = ZooKeeperStore(self.settings, self.owner.post)
        self._sessions: list[ZooKeeperSession] = []
        self.result(self.session().create(self.root))

    def session(self, listener: SessionListener = ignore) -> Session:
        session = self.result(self.store.open_session(listener))
        self._sessions.append(cast(ZooKeeperSession, session))
        return session

    def result(self, answer: Answer[Value]) -> Value:
        assert not answer.is_ready, "delivered inside the call"
        self.owner.run_until(lambda: answer.is_ready, "an answer")
        return answer.value()

    def settle(self) -> None:
        """Whatever was done is told before the answer to a later read. Settled is when that is all there is to tell."""
        while self._told_by_reads() > len(self._sessions):
            pass

    def _told_by_reads(self) -> int:
        before = self.owner.done
        answers = [session.exists("/") for session in self._sessions]
        self.owner.run_until(lambda: all(answer.is_ready for answer in answers), "all sessions")
        return self.owner.done - before

    def expire(self, session: Session) -> None:
        assert isinstance(session, ZooKeeperSession)
        expired = Answer[None]()
        listener = session._listener

        def hear(state: SessionState) -> None:
            listener(state)
            if state is SessionState.EXPIRED:
                expired.deliver(None)

        session._listener = hear
        self.usurp(session)
        self.owner.run_until(lambda: expired.is_ready, "the session to expire")

    def usurp(self, session: Session) -> None:
        """Another connection takes the session over and closes it; the first will hear that it is no more."""
        client_id = client_of(session)._kazoo.client_id
        usurper = KazooClient(self.zookeeper.connect, client_id=client_id)
        usurper.start()
        usurper.stop()
        usurper.close()

    def restart(self) -> None:
        for server in self.zookeeper.servers:
            server.stop()
        self.zookeeper.start()
        self.close()

    def close(self) -> None:
        answers = [session.close() for session in self._sessions]
        self.owner.run_until(lambda: all(answer.is_ready for answer in answers), "all sessions to end")
        self._sessions.clear()


@contextmanager
def zookeeper_bench(zookeeper: ZooKeeperEnsemble) -> Iterator[ZooKeeperBench]:
    bench = ZooKeeperBench(zookeeper)
    yield bench
    bench.close()
