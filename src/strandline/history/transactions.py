"""What became of each transaction, as far as the history tells.

A commit that was acknowledged decides; so does an abort that was acknowledged, even after a commit of which nobody
heard: the coordinator would have refused it otherwise. A commit that failed, or an abort that is all there was,
leaves nothing that could commit. A commit of unknown outcome, or no end at all (the client died, and may have asked
before it did), leaves it open, until a reader of committed records sees one of its records: then it was committed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum, auto

from strandline.history.operations import Begin, Commit, Decision, End, Outcome, Poll, Send
from strandline.model.failures import CorruptData


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
    __slots__ = ("acknowledged_end", "begins", "commits", "ends", "fate", "name", "polls", "sends")

    def __init__(self, name: str) -> None:
        self.name = name
        self.begins: list[Begin] = []
        self.ends: list[End] = []
        self.sends: list[Send] = []
        self.polls: list[Poll] = []
        self.commits: list[Commit] = []
        self.acknowledged_end: End | None = None
        self.fate = Fate.OPEN

    @property
    def begin(self) -> Begin | None:
        """One of unknown outcome counts where no other is known."""
        return next((begin for begin in self.begins if begin.outcome is Outcome.OK), next(iter(self.begins), None))

    @property
    def commit_attempts(self) -> list[End]:
        return [end for end in self.ends if end.decision is Decision.COMMIT]

    def settle(self) -> None:
        decisive = self.acknowledged_end = next((end for end in self.ends if end.outcome is Outcome.OK), None)
        if decisive is not None:
            self.fate = Fate.COMMITTED if decisive.decision is Decision.COMMIT else Fate.ABORTED
        elif self.ends and all(end.outcome is Outcome.FAIL for end in self.commit_attempts):
            self.fate = Fate.ABORTED

    def check(self, share_clock: Callable[[str, str], bool]) -> None:
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
            if is_early and share_clock(first.process, end.process):
                raise Contradiction(f"transaction {self.name!r} ended before it began", (end.number, first.number))

    def _check_ends(self) -> None:
        acknowledged = {end.decision: end.number for end in self.ends if end.outcome is Outcome.OK}
        if len(acknowledged) > 1:
            sentence = f"transaction {self.name!r} was committed and aborted: its name must be unique in the history"
            raise Contradiction(sentence, tuple(acknowledged.values()))

    def was_read(self) -> None:
        """By somebody who reads committed records only."""
        if self.fate is Fate.OPEN:
            self.fate = Fate.COMMITTED


class Transactions:
    def __init__(self) -> None:
        self.by_name: dict[str, Transaction] = {}

    def note(self, operation: Begin | End | Send | Poll | Commit) -> None:
        name = operation.transaction
        if name is None:
            return
        transaction = self.by_name.get(name)
        if transaction is None:
            transaction = self.by_name[name] = Transaction(name)
        match operation:
            case Begin():
                if operation.outcome is not Outcome.FAIL:
                    transaction.begins.append(operation)
            case End():
                transaction.ends.append(operation)
            case Send():
                transaction.sends.append(operation)
            case Poll():
                transaction.polls.append(operation)
            case Commit():
                transaction.commits.append(operation)

    def settle(self, share_clock: Callable[[str, str], bool]) -> None:
        for transaction in self.by_name.values():
            transaction.check(share_clock)
            transaction.settle()

    def fate(self, name: str) -> Fate:
        return self.by_name[name].fate

    def with_fate(self, fate: Fate) -> Iterable[Transaction]:
        return (transaction for transaction in self.by_name.values() if transaction.fate is fate)
