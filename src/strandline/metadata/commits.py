"""What waits for the disk: changes not yet written, and behind them the answers and events that may not go out before.

Everything that waits is written and synced in one go, a commit, in three parts because a sync blocks:

    commit = queue.begin()     the owner's thread
    commit.run()               any thread
    queue.end(commit)          the owner's thread; answers and events are delivered here

The first write or sync that fails is the last (SPEC L10): everything that waits ends in `ConnectionLost`, for it may
be on the disk or not.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from strandline.metadata.answer import Answer
from strandline.metadata.errors import ConnectionLost
from strandline.metadata.journal import JournalFile, snapshot_frame, transactions_frame
from strandline.metadata.transactions import Transaction
from strandline.metadata.tree import Tree
from strandline.model.failures import StorageFailed, check


class Reply(NamedTuple):
    answer: Answer[Any]
    outcome: Any


class Notice(NamedTuple):
    listener: Callable[[Any], object]
    what: Any


class Commit:
    """What one sync makes durable, and how many deliveries wait for it."""

    __slots__ = ("_frame", "_is_new_journal", "_journal", "deliveries", "failure")

    def __init__(self, journal: JournalFile, frame: bytes, deliveries: int, *, is_new_journal: bool) -> None:
        self._journal = journal
        self._frame = frame
        self._is_new_journal = is_new_journal
        self.deliveries = deliveries
        self.failure: OSError | None = None

    @property
    def has_changes(self) -> bool:
        """Whether `run` will touch the disk."""
        return bool(self._frame)

    def run(self) -> None:
        if not self._frame:
            return
        try:
            if self._is_new_journal:
                self._journal.begin(self._frame)
            else:
                self._journal.append(self._frame)
        except OSError as error:
            self.failure = error


class CommitQueue:
    def __init__(
        self,
        tree: Tree,
        journal: JournalFile,
        *,
        wake: Callable[[], None],
        last_words: Callable[[], Iterable[Notice]],
        journal_bytes_max: int,
    ) -> None:
        """`wake` is called when there is something to commit; `last_words` says who must hear of a failure."""
        self.failure: StorageFailed | None = None
        self._tree = tree
        self._journal = journal
        self._wake = wake
        self._last_words = last_words
        self._journal_bytes_max = journal_bytes_max
        self._unwritten: list[Transaction] = []
        self._waiting: deque[Reply | Notice] = deque()
        self._commit: Commit | None = None  # under way, its deliveries included
        self._is_woken = False

    @property
    def is_empty(self) -> bool:
        return not self._waiting

    @property
    def is_idle(self) -> bool:
        return not self._waiting and self._commit is None

    def write(self, transaction: Transaction) -> None:
        self._unwritten.append(transaction)

    def deliver_later(self, delivery: Reply | Notice) -> None:
        self._waiting.append(delivery)
        self._wake_once()

    def _wake_once(self) -> None:
        if self._waiting and self._commit is None and not self._is_woken:
            self._is_woken = True
            self._wake()

    def begin(self) -> Commit:
        check(self._commit is None, "a second commit before the first has ended")
        self._is_woken = False
        unwritten, self._unwritten = self._unwritten, []
        frame = transactions_frame(unwritten) if unwritten and self.failure is None else b""
        is_new_journal = bool(frame) and self._journal.size_bytes + len(frame) > self._journal_limit()
        if is_new_journal:
            frame = snapshot_frame(self._tree)  # which has the unwritten in it
        self._commit = Commit(self._journal, frame, len(self._waiting), is_new_journal=is_new_journal)
        return self._commit

    def _journal_limit(self) -> int:
        return max(self._journal_bytes_max, 2 * self._journal.snapshot_bytes)

    def end(self, commit: Commit) -> None:
        check(commit is self._commit, "the end of a commit that is not under way")
        try:
            if commit.failure is not None:
                self._fail(commit.failure)
            else:
                for _ in range(commit.deliveries):
                    self._deliver(self._waiting.popleft())
        finally:
            self._commit = None
            self._wake_once()

    def _deliver(self, delivery: Reply | Notice) -> None:
        match delivery:
            case Reply(answer, outcome):
                answer.deliver(outcome)
            case Notice(listener, what):
                listener(what)

    def _fail(self, error: OSError) -> None:
        """No change in the queue may be believed: no event is told, and every answer is the same."""
        self.failure = StorageFailed(f"the metadata journal cannot be written: {error}")
        replies = [delivery for delivery in self._waiting if isinstance(delivery, Reply)]
        self._unwritten.clear()
        self._waiting = deque(self._last_words())
        self._waiting += (reply._replace(outcome=ConnectionLost(str(self.failure))) for reply in replies)
