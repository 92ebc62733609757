"""A metadata store for one machine: the tree in memory, its journal on the local disk (SPEC M2).

A change is applied to the tree at once, so that the next call sees it, and waits in a queue with its events and its
answer behind whatever came before; reads wait there too. Nothing leaves the queue before all changes ahead of it are
on the disk, so nobody ever acts on what a crash could take back. `commits` says how what waits is written in one go;
`wake` is called when there is something to commit, for an event loop to schedule `begin_commit`, `run` in a thread,
and `end_commit`. `settle` does all of it on the spot.

Sessions live no longer than the process: opening the store ends those it finds, with their ephemerals, and begins a
fresh journal. Within one process there is nothing for a heartbeat to find out, so a session ends by `close` or by
`expire`.

When the disk fails, every session is suspended, every call ends in `ConnectionLost`, and `failure` says why. It stays
so: only the next start can find out what is on the disk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from strandline.metadata.answer import Answer
from strandline.metadata.commits import Commit, CommitQueue, Notice, Reply
from strandline.metadata.errors import ConnectionLost, SessionClosed, SessionExpired, SessionOver, StoreError
from strandline.metadata.files import StoreFile, StoreFiles
from strandline.metadata.journal import JournalFile, replay, snapshot_frame
from strandline.metadata.operations import Operation
from strandline.metadata.sessions import TreeSession
from strandline.metadata.store import OperationResult, Session, SessionListener, SessionState
from strandline.metadata.transactions import Changed, SessionEnded, SessionOpened, Transaction
from strandline.metadata.tree import Applied, Tree
from strandline.metadata.watches import Watches
from strandline.model.failures import StorageFailed

LOCK = "metadata.lock"
# A journal is begun anew when it would be larger than this, and than twice the snapshot it began with.
JOURNAL_BYTES_MAX = 4 * 1024 * 1024
Value = TypeVar("Value")


class StoreInUse(Exception):
    """Another process has the store open. The message names the directory."""


class EmbeddedStore:
    def __init__(
        self,
        tree: Tree,
        journal: JournalFile,
        lock: StoreFile,
        *,
        clock_ms: Callable[[], int],
        wake: Callable[[], None],
        journal_bytes_max: int,
    ) -> None:
        """Use `EmbeddedStore.open`."""
        self.tree = tree
        self.watches = Watches()
        self._sessions: dict[int, TreeSession] = {}
        self._journal = journal
        self._lock = lock
        self._clock_ms = clock_ms
        self._queue = CommitQueue(
            tree, journal, wake=wake, last_words=self._suspend_all, journal_bytes_max=journal_bytes_max
        )

    @classmethod
    def open(
        cls,
        files: StoreFiles,
        directory: str,
        *,
        clock_ms: Callable[[], int],
        wake: Callable[[], None],
        journal_bytes_max: int = JOURNAL_BYTES_MAX,
    ) -> EmbeddedStore:
        """The directory must be there. Raises `StoreInUse`, `StorageFailed`, or `CorruptData` for a damaged journal."""
        try:
            lock = files.lock(f"{directory}/{LOCK}")
            if lock is None:
                raise StoreInUse(f"{directory} is in use by another process; stop it, or choose another directory")
            journal = JournalFile(files, directory)
            try:
                tree = _recover(journal, clock_ms())
            except BaseException:
                lock.close()
                raise
        except OSError as error:
            raise StorageFailed(f"the metadata in {directory} cannot be opened: {error}") from error
        return cls(tree, journal, lock, clock_ms=clock_ms, wake=wake, journal_bytes_max=journal_bytes_max)

    @property
    def failure(self) -> StorageFailed | None:
        return self._queue.failure

    @property
    def is_idle(self) -> bool:
        """Whether every call has its answer."""
        return self._queue.is_idle

    def close(self) -> None:
        """Commits what waits. The sessions end when the store is next opened."""
        self.settle()
        self._journal.close()
        self._lock.close()

    def open_session(self, listener: SessionListener) -> Answer[Session]:
        def work() -> Session:
            transaction = SessionOpened(self.tree.zxid + 1, self._clock_ms())
            self._apply(transaction)
            session = TreeSession(self, transaction.zxid, listener)
            self._sessions[session.session_id] = session
            return session

        return self.answer(work)

    def expire(self, session_id: int) -> None:
        """As if the session had not been heard of for too long: for tests, lessons and simulated faults."""
        session = self._sessions.get(session_id)
        if session is not None and self.failure is None:
            self._end_session(session, SessionExpired)
            self._queue.deliver_later(Notice(session.listener, SessionState.EXPIRED))

    # For sessions

    def answer(self, work: Callable[[], Value]) -> Answer[Value]:
        answer: Answer[Value] = Answer()
        outcome: Value | StoreError
        try:
            if self.failure is not None:
                raise ConnectionLost(str(self.failure))
            outcome = work()
        except StoreError as error:
            outcome = error
        self._queue.deliver_later(Reply(answer, outcome))
        return answer

    def change(self, session_id: int, operations: tuple[Operation, ...]) -> tuple[OperationResult, ...]:
        return self._apply(Changed(self.tree.zxid + 1, self._clock_ms(), session_id, operations)).results

    def close_session(self, session: TreeSession) -> None:
        if session.over is None:
            self._end_session(session, SessionClosed)

    def _end_session(self, session: TreeSession, over: type[SessionOver]) -> None:
        session.over = over
        del self._sessions[session.session_id]
        self.watches.drop_session(session.session_id)
        self._apply(SessionEnded(self.tree.zxid + 1, self._clock_ms(), session.session_id))

    def _apply(self, transaction: Transaction) -> Applied:
        applied = self.tree.apply(transaction)
        self._queue.write(transaction)
        for change in applied.changes:
            for watcher, event in self.watches.fire(change):
                self._queue.deliver_later(Notice(watcher, event))
        return applied

    # Commits

    def begin_commit(self) -> Commit:
        return self._queue.begin()

    def end_commit(self, commit: Commit) -> None:
        self._queue.end(commit)

    def settle(self) -> None:
        """Commit and deliver until nothing waits. Not while a commit is under way, so not from a callback either."""
        while not self._queue.is_empty:
            commit = self.begin_commit()
            commit.run()
            self.end_commit(commit)

    def _suspend_all(self) -> Iterator[Notice]:
        for session in self._sessions.values():
            yield Notice(session.listener, SessionState.SUSPENDED)


def _recover(journal: JournalFile, now_ms: int) -> Tree:
    content = journal.read()
    tree = Tree() if content is None else replay(content)
    for session_id in sorted(tree.sessions):
        tree.apply(SessionEnded(tree.zxid + 1, now_ms, session_id))
    journal.begin(snapshot_frame(tree))
    return tree
