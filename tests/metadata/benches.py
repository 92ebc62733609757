"""Where the contract tests meet a store: one bench for each implementation, all with the same handles."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol, TypeVar

from strandline.metadata.answer import Answer
from strandline.metadata.embedded import EmbeddedStore
from strandline.metadata.store import Session, SessionListener, WatchEvent
from strandline.simulation.disk import SimulatedDisk

Value = TypeVar("Value")
DIRECTORY = "/data"


class StoreBench(Protocol):
    """A store of its own, and `root`: a node below which a test is alone."""

    root: str

    def session(self, listener: SessionListener = ...) -> Session: ...
    def result(self, answer: Answer[Value]) -> Value:
        """Wait for the answer; raises the error it is."""
        ...

    def settle(self) -> None:
        """Wait until everything that was done has been told to everybody."""
        ...

    def expire(self, session: Session) -> None:
        """Have the store declare it dead."""
        ...

    def restart(self) -> None:
        """Stop the store and start it again. Sessions from before are not used any more."""
        ...


class Heard(list[str]):
    """Writes down what its watchers are told."""

    def watcher(self, name: str = "") -> Callable[[WatchEvent], None]:
        return lambda event: self.append(f"{name} {event}".strip())


def ignore(_: object) -> None:
    """Nobody wants to hear of it."""


class EmbeddedBench:
    root = "/contract"

    def __init__(self) -> None:
        self.disk = SimulatedDisk()
        self.disk.make_directories(DIRECTORY)
        self.now_ms = 1_000
        self.store = self._open()
        self.result(self.session().create(self.root))

    def _open(self) -> EmbeddedStore:
        return EmbeddedStore.open(self.disk, DIRECTORY, clock_ms=lambda: self.now_ms, wake=lambda: None)

    def session(self, listener: SessionListener = ignore) -> Session:
        return self.result(self.store.open_session(listener))

    def result(self, answer: Answer[Value]) -> Value:
        assert not answer.is_ready, "delivered inside the call"
        self.store.settle()
        return answer.value()

    def settle(self) -> None:
        self.store.settle()

    def expire(self, session: Session) -> None:
        self.store.expire(session.session_id)

    def restart(self) -> None:
        self.store.close()
        self.store = self._open()


@contextmanager
def embedded() -> Iterator[StoreBench]:
    bench = EmbeddedBench()
    yield bench
    bench.store.close()
