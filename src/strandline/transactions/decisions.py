"""What comes out of the coordinator: one `Decision` for each command, each timer and each result of markers.

The shell does with a decision, in this order and without a pause:

1. append the records to the coordinator's partition of `__transaction_state`, all in one batch, and give each to
   `TransactionShard.apply`. If it could not append them, it goes on with what `TransactionShard.not_appended` makes
   of it.
2. set the timers: there is one for each key, a new one replaces the old, and one without a time cancels it. It waits
   for what lies between now and its time, by a clock that nobody sets, and then calls `TransactionShard.timer_fired`.
3. send the reply and the markers once **everything appended so far is committed**, these records and all before
   them. So nobody is told, and no partition marked, what a new leader might not know. A reply that waits too long may
   be given up, with an error; the markers wait for as long as the shard lives.

A marker goes to the leaders of its partitions (`markers.by_leader`), in WriteTxnMarkers requests. What becomes of each
partition comes back through `TransactionShard.markers_written`, in as many pieces as it takes; a broker that cannot be
reached is a result too. A partition that is known to be deleted is told by the command PartitionsDeleted, whenever that
is found; one that is merely not known yet is a result like others, or its transaction would hang.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

from strandline.model.coordinator_timers import Timer
from strandline.model.lazy_dataclass import dataclass
from strandline.model.text import OneLine, text_of
from strandline.transactions.markers import Marker
from strandline.transactions.records import TransactionRecord
from strandline.transactions.replies import Reply


class TimerKind(Enum):
    TIMEOUTS = "timeouts"  # time to look for transactions that take too long
    EXPIRY = "expiry"  # time to look for ids that nobody uses
    MARKERS = "markers"  # markers of one transaction are to be sent again, or its completion written


class TimerKey(NamedTuple):
    kind: TimerKind
    transactional_id: str = ""

    def __str__(self) -> str:
        return f"{self.kind.value}/{text_of(self.transactional_id)}" if self.transactional_id else self.kind.value


TIMEOUTS_TIMER = TimerKey(TimerKind.TIMEOUTS)
EXPIRY_TIMER = TimerKey(TimerKind.EXPIRY)


def markers_timer(transactional_id: str) -> TimerKey:
    return TimerKey(TimerKind.MARKERS, transactional_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision(OneLine):
    records: tuple[TransactionRecord, ...] = ()
    timers: tuple[Timer[TimerKey], ...] = ()
    reply: Reply | None = None
    markers: tuple[Marker, ...] = ()

    def lines(self) -> Iterator[str]:
        """In the order the shell goes through them, one line each."""
        yield from (f"append {record}" for record in self.records)
        yield from map(str, self.timers)
        if self.reply is not None:
            yield f"reply {self.reply}"
        yield from (f"send {marker}" for marker in self.markers)
