"""Members of a consumer group, each in a thread of its own, whatever client they are made of."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from contextlib import suppress
from queue import Empty, SimpleQueue
from time import monotonic, sleep
from types import TracebackType
from typing import Protocol, Self, TypeVar

T = TypeVar("T")

WAIT_S = 30  # longer than anything takes; a test that waits this long has failed
PARTITIONS = 6
HEARTBEAT_MS = 50
SESSION_MS = 6_000


class Client(Protocol):
    """A consumer that has subscribed to a topic. One thread uses it."""

    def poll(self) -> Iterable[tuple[int, bytes]]:
        """Partitions and values of what came within a short while."""
        ...

    def assigned(self) -> Iterable[int]: ...
    def commit(self) -> object: ...
    def seek(self, partition: int, offset: int) -> object: ...
    def close(self) -> object: ...


class Member:
    def __init__(self, open_client: Callable[[], Client]) -> None:
        self.values: list[bytes] = []
        self.assigned: frozenset[int] = frozenset()
        self._open_client = open_client
        self._orders: SimpleQueue[Callable[[Client], None]] = SimpleQueue()
        self._is_leaving = threading.Event()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, _value: BaseException | None, _traceback: TracebackType | None
    ) -> None:
        self._is_leaving.set()
        self._thread.join(WAIT_S)
        if kind is None:
            self.check()
            assert not self._thread.is_alive()

    def check(self) -> None:
        if self._failure is not None:
            raise self._failure

    def do(self, order: Callable[[Client], T]) -> T:
        """In the member's own thread."""
        done: Future[T] = Future()

        def obey(client: Client) -> None:
            try:
                done.set_result(order(client))
            except BaseException as failure:
                done.set_exception(failure)

        self._orders.put(obey)
        return done.result(WAIT_S)

    def _run(self) -> None:
        try:
            client = self._open_client()
            try:
                while not self._is_leaving.is_set():
                    self._step(client)
            finally:
                client.close()
        except BaseException as failure:
            self._failure = failure

    def _step(self, client: Client) -> None:
        self.values += [value for _, value in client.poll()]
        self.assigned = frozenset(client.assigned())
        with suppress(Empty):
            self._orders.get_nowait()(client)


def wait_until(condition: Callable[[], bool], *members: Member) -> None:
    deadline = monotonic() + WAIT_S
    while not condition():
        for member in members:
            member.check()
        told = [(sorted(member.assigned), len(member.values)) for member in members]
        assert monotonic() < deadline, f"assignments and records: {told}"
        sleep(0.01)


def share_fairly(*members: Member) -> bool:
    shares = [member.assigned for member in members]
    return (
        frozenset().union(*shares) == frozenset(range(PARTITIONS))
        and sum(map(len, shares)) == PARTITIONS
        and max(map(len, shares)) - min(map(len, shares)) <= 1
    )


def read_of(*members: Member) -> list[bytes]:
    return sorted(value for member in members for value in member.values)
