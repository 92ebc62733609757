"""What became of a transaction, as far as the history tells.

A commit that was acknowledged decides; so does an abort that was acknowledged, even after a commit of which nobody
heard: the coordinator would have refused it otherwise. A commit that failed, or an abort that is all there was,
leaves nothing that could commit. A commit of unknown outcome, or no end at all (the client died, and may have asked
before it did), leaves it open, until a reader of committed records sees one of its records: then it was committed.
Not if the transaction was still at work after the read: then nobody can have asked for the commit, and the read was
too early. A producer that begins the next transaction without having ended one lives, and never asked for its commit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from enum import Enum, auto
from typing import TypeAlias

from strandline.history.operations import Begin, Commit, Decision, End, Outcome, Poll, Send, TimedOperation
from strandline.model.failures import CorruptData

ShareClock: TypeAlias = Callable[[TimedOperation, TimedOperation], bool]


class Contradiction(CorruptData):
    """Operations that cannot all be true, whatever the cluster did: whoever wrote them down is wrong."""

    def __init__(self, sentence: str, operations: tuple[int, ...]) -> None:
        super().__init__(sentence)
        self.operations = operations  # numbers of lines


class Fate(Enum):
    COMMITTED = auto()
    ABORTED = auto()
    OPEN = auto()


class Transaction:
    __slots__ = (
        "_is_commit_known",
        "_last_before_commit",
        "acknowledged_end",
        "begins",
        "commits",
        "ends",
        "fate",
        "name",
        "polls",
        "sends",
    )

    def __init__(self, name: str) -> None:
        self.name = name
        self.begins: list[Begin] = []
        self.ends: list[End] = []
        self.sends: list[Send] = []
        self.polls: list[Poll] = []
        self.commits: list[Commit] = []
        self.acknowledged_end: End | None = None
        self.fate = Fate.OPEN
        self._last_before_commit: Sequence[End | Send | Commit] = []
        self._is_commit_known = False

    @property
    def begin(self) -> Begin | None:
        """One of unknown outcome counts where no other is known."""
        return next((begin for begin in self.begins if begin.outcome is Outcome.OK), next(iter(self.begins), None))

    @property
    def commit_attempts(self) -> list[End]:
        return [end for end in self.ends if end.decision is Decision.COMMIT]

    def settle(self) -> None:
        self._find_last_before_commit()
        decisive = self.acknowledged_end = next((end for end in self.ends if end.outcome is Outcome.OK), None)
        if decisive is not None:
            self.fate = Fate.COMMITTED if decisive.decision is Decision.COMMIT else Fate.ABORTED
        elif self.ends and all(end.outcome is Outcome.FAIL for end in self.commit_attempts):
            self.fate = Fate.ABORTED

    def check(self, share_clock: ShareClock) -> None:
        """Or the order in time, which goes by begin and end, would contradict itself."""
        self._check_ends()
        first = self.begin
        if first is None:
            return
        for begin in self.begins:
            if begin is not first and begin.outcome is Outcome.OK:
                sentence = f"transaction {self.name!r} began twice: its name must be unique in the history"
                raise Contradiction(sentence, (first.number, begin.number))
        for end in self.ends:
            is_early = end.outcome is not Outcome.FAIL and end.ended_us < first.began_us
            if is_early and share_clock(first, end):
                raise Contradiction(f"transaction {self.name!r} ended before it began", (end.number, first.number))

    def _check_ends(self) -> None:
        acknowledged = {end.decision: end.number for end in self.ends if end.outcome is Outcome.OK}
        if len(acknowledged) > 1:
            sentence = f"transaction {self.name!r} was committed and aborted: its name must be unique in the history"
            raise Contradiction(sentence, tuple(acknowledged.values()))

    def is_at_work_since(self, begin: Begin) -> bool:
        parts: Iterable[Send | Commit | End] = (*self.sends, *self.commits, *self.ends)
        return any(part.began_us >= begin.began_us and part.process == begin.process for part in parts)

    def was_read(self, poll: Poll, share_clock: ShareClock) -> None:
        """By somebody who reads committed records only."""
        if self.fate is Fate.OPEN and self.at_work_after(poll, share_clock) is None:
            self.fate = Fate.COMMITTED

    def at_work_after(self, poll: Poll, share_clock: ShareClock) -> End | Send | Commit | None:
        """What shows that nobody had asked for the commit when the poll ended."""
        later = [each for each in self._last_before_commit if poll.ended_us < each.began_us and share_clock(poll, each)]
        return later[0] if later and (not self._is_commit_known or later == self._last_before_commit) else None

    def _find_last_before_commit(self) -> None:
        """Of each process: when it first asked for the commit, or what it last did, if nobody tells of an end."""
        attempts = sorted(self.commit_attempts, key=lambda end: end.began_us, reverse=True)
        self._is_commit_known = bool(attempts)
        known: Sequence[End | Send | Commit] = attempts if self.ends else self._work()
        self._last_before_commit = list({each.process: each for each in known}.values())

    def _work(self) -> list[Send | Commit]:
        parts: Iterable[Send | Commit] = (*self.sends, *self.commits)
        return sorted((each for each in parts if each.outcome is not Outcome.FAIL), key=lambda each: each.began_us)
