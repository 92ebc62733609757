"""All transactions of a history, by their names and by who began them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable
from itertools import pairwise

from strandline.history.lives import Lives
from strandline.history.operations import Begin, Commit, End, Outcome, Poll, Send
from strandline.history.transaction import Fate, Transaction


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

    def settle(self, lives: Lives) -> None:
        for transaction in self.by_name.values():
            transaction.check(lives.share_clock)
            transaction.settle()
        for process, transactions in self._by_process().items():
            if not lives.was_started_again(process):
                _abort_what_was_left_open(transactions)

    def let_go_of_late_polls(self, lives: Lives) -> set[int]:
        """Of those that were under way when the commit was asked for, or came later: it may have come to be by then.

        Returns the numbers of their lines.
        """
        late: set[int] = set()
        for transaction in self.by_name.values():
            asked_us: dict[Hashable, int] = {}
            for end in transaction.commit_attempts if transaction.polls else ():
                if end.outcome is not Outcome.FAIL:
                    timeline = lives.timeline(end)
                    asked_us[timeline] = min(end.began_us, asked_us.get(timeline, end.began_us))
            late |= {
                poll.number
                for poll in transaction.polls
                if poll.ended_us > asked_us.get(lives.timeline(poll), poll.ended_us)
            }
            transaction.polls = [poll for poll in transaction.polls if poll.number not in late]
        return late

    def _by_process(self) -> dict[str, list[tuple[Begin, Transaction]]]:
        """Each in the order in which they began."""
        found: dict[str, list[tuple[Begin, Transaction]]] = defaultdict(list)
        for transaction in self.by_name.values():
            begin = transaction.begin
            if begin is not None:
                found[begin.process].append((begin, transaction))
        for transactions in found.values():
            transactions.sort(key=lambda each: (each[0].began_us, each[0].number))
        return found

    def fate(self, name: str) -> Fate:
        return self.by_name[name].fate

    def with_fate(self, fate: Fate) -> Iterable[Transaction]:
        return (transaction for transaction in self.by_name.values() if transaction.fate is fate)


def _abort_what_was_left_open(transactions: list[tuple[Begin, Transaction]]) -> None:
    """Those of one process, unless it has several at a time: then the begin of one says nothing of another."""
    left_open: list[Transaction] = []
    for (_, transaction), (following, _) in pairwise(transactions):
        if transaction.is_at_work_since(following):
            return
        if not transaction.ends and following.outcome is Outcome.OK:
            left_open.append(transaction)
    for transaction in left_open:
        transaction.fate = Fate.ABORTED
