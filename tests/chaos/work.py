"""What clients came to beside plain sending: transactions, copies, and offsets of groups.

Clients with transactions go on after any error, so that one that never comes to anything looks like one at work. What
counts is what the cluster acknowledged.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from tests.chaos.limits import (
    ABORTED_SHARE_MIN,
    COPIED_SHARE_MIN,
    GROUP_COMMITS_PER_MINUTE_MIN,
    WRITTEN_PER_MINUTE_MIN,
)

from strandline.history.operations import Commit, Decision, End, Operation, Outcome, Send


@dataclass
class _Transaction:
    sent: int = 0  # whatever came of them
    written: int = 0
    copied: int = 0
    has_offsets: bool = False
    decision: Decision | None = None

    def note(self, part: Send | Commit | End, copies: str) -> None:
        is_acknowledged = part.outcome is Outcome.OK
        match part:
            case Send():
                self.sent += 1
                self.copied += is_acknowledged and part.topic == copies
                self.written += is_acknowledged and part.topic != copies
            case Commit():
                self.has_offsets |= is_acknowledged
            case End() if is_acknowledged:
                self.decision = part.decision


class Work(NamedTuple):
    written: int  # transactions that were committed, with records that are no copies
    aborted: int  # transactions that had records
    copied: int  # records, in committed transactions with the offsets of what was copied
    group_commits: int  # outside of transactions

    @classmethod
    def of(cls, operations: Iterable[Operation], copies: str) -> Work:
        by_name: dict[str, _Transaction] = defaultdict(_Transaction)
        group_commits = 0
        for each in operations:
            if isinstance(each, Send | Commit | End) and each.transaction is not None:
                by_name[each.transaction].note(each, copies)
            elif isinstance(each, Commit):
                group_commits += each.outcome is Outcome.OK
        committed = [each for each in by_name.values() if each.decision is Decision.COMMIT]
        aborted = [each for each in by_name.values() if each.decision is Decision.ABORT]
        return cls(
            written=sum(each.written > 0 for each in committed),
            aborted=sum(each.sent > 0 for each in aborted),
            copied=sum(each.copied for each in committed if each.has_offsets),
            group_commits=group_commits,
        )

    def __str__(self) -> str:
        return (
            f"transactions written {self.written:,}, aborted {self.aborted:,}, records copied {self.copied:,},"
            f" commits of groups {self.group_commits:,}"
        )

    def missing(self, seconds: float, acknowledged: int) -> list[str]:
        """Why a run in which this is all there was proves nothing, in a sentence each."""
        minutes = seconds / 60
        written_min = max(1, int(minutes * WRITTEN_PER_MINUTE_MIN))
        aborted_min = int(self.written * ABORTED_SHARE_MIN)
        copied_min = max(1, int(acknowledged * COPIED_SHARE_MIN))
        group_commits_min = max(1, int(minutes * GROUP_COMMITS_PER_MINUTE_MIN))
        wanted = (
            (self.written, "transactions were written", written_min),
            (self.aborted, "transactions were aborted", aborted_min),
            (self.copied, "records were copied", copied_min),
            (self.group_commits, "commits of groups were acknowledged", group_commits_min),
        )
        return [f"only {count} {what}, and not {least}" for count, what, least in wanted if count < least]
