"""What comes out of the coordinator: one `Decision` for each command and each timer that fires.

The shell does with a decision, in this order and without a pause:

1. append the records to the group's partition of `__consumer_offsets`, all in one batch, and give each to
   `GroupShard.apply`. If it could not append them, it goes on with what `GroupShard.not_appended` makes of it.
2. set the timers: there is one for each key, a new one replaces the old, and one without a time cancels it. When one
   is due, call `GroupShard.timer_fired`.
3. send the replies once **everything appended so far is committed**, these records and all before them. So nobody is
   told what a new leader might not know, and a read waits for the writes it may have seen.

A request that must wait for others (JoinGroup, SyncGroup) has a ticket instead of a reply, until a later decision
releases it.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple, NewType

from strandline.groups.records import GroupRecord
from strandline.groups.replies import JoinGroupReply, Reply, SyncGroupReply
from strandline.model import coordinators
from strandline.model.coordinator_timers import Timer
from strandline.model.failures import ErrorCode
from strandline.model.lazy_dataclass import dataclass
from strandline.model.text import OneLine

Ticket = NewType("Ticket", int)
ReleasedReply = JoinGroupReply | SyncGroupReply


class TimerKind(Enum):
    SESSION = "session"  # a member is silent
    JOIN = "join"  # members of a classic group do not join
    SYNC = "sync"  # members of a classic group do not sync
    REVOCATION = "revocation"  # a member of a consumer group does not give up its partitions
    EXPIRY = "expiry"  # time to look for expired offsets


class TimerKey(NamedTuple):
    kind: TimerKind
    group: str = ""
    member_id: str = ""

    def __str__(self) -> str:
        return "/".join(part for part in (self.kind.value, self.group, self.member_id) if part)


EXPIRY_TIMER = TimerKey(TimerKind.EXPIRY)


class Released(NamedTuple):
    ticket: Ticket
    reply: ReleasedReply

    def __str__(self) -> str:
        return f"release #{self.ticket} {self.reply}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision(OneLine):
    records: tuple[GroupRecord, ...] = ()
    reply: Reply | None = None
    ticket: Ticket | None = None  # of the request, where it has no reply yet
    released: tuple[Released, ...] = ()
    timers: tuple[Timer[TimerKey], ...] = ()

    def lines(self) -> Iterator[str]:
        """In the order the shell goes through them, one line each."""
        yield from (f"append {record}" for record in self.records)
        yield from map(str, self.timers)
        if self.reply is not None:
            yield f"reply {self.reply}"
        if self.ticket is not None:
            yield f"parked #{self.ticket}"
        yield from map(str, self.released)


def client_error(append_error: ErrorCode, *, is_commit: bool) -> ErrorCode:
    if is_commit and append_error in coordinators.TOO_LARGE:
        return ErrorCode.INVALID_COMMIT_OFFSET_SIZE
    return coordinators.client_error(append_error)
