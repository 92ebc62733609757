"""What is committed, and readers of committed records are not shown: others have read it, so it is not lost.

A transaction that nobody ends holds the last stable offset back, and all that lies behind it; a commit whose marker was
not written is none to readers. Both are found where the last one to look had come to a record that it was owed. It was
not owed what lies behind a transaction that was still open, or may have been, and those of unknown writers may.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator

from strandline.history.expectations import Expectations
from strandline.history.index import History
from strandline.history.operations import Outcome, Poll, Record, Send
from strandline.history.partition_log import OFFSET_MAX
from strandline.history.reading import Look
from strandline.history.transaction import Transaction
from strandline.history.verdict import Anomaly, Kind

MARKERS_MAX_US = 5_000_000  # how long after its end was acknowledged a transaction may hold others back
NEVER_US = 2**63 - 1


class HiddenTransactions:
    """Until when those were open that may have a record of which nobody knows where it lies."""

    def __init__(self, history: History) -> None:
        self._history = history
        self._until_us: dict[Hashable, dict[Hashable, int]] = defaultdict(dict)  # by place, by clock
        for transaction in history.transactions.by_name.values():
            for send in transaction.sends:
                if send.outcome is not Outcome.FAIL and not self._is_found(send):
                    self._note(send, transaction)

    def _is_found(self, send: Send) -> bool:
        if send.offset is not None or send.partition is None or self._history.is_ambiguous(send.topic, send.value):
            return send.offset is not None  # the value alone may be that of another
        return send.value in self._history.log(send.partition).place_of

    def _note(self, send: Send, transaction: Transaction) -> None:
        end = transaction.acknowledged_end
        timeline = None if end is None else self._history.lives.timeline(end)
        ended_us = NEVER_US if end is None else end.ended_us
        known = self._until_us[send.partition or send.topic]
        known[timeline] = max(ended_us, known.get(timeline, ended_us))

    def are_over(self, look: Look) -> bool:
        timeline = self._history.lives.timeline(look.poll)
        known = (self._until_us.get(place, {}) for place in (look.partition, look.partition.topic))
        return all(each == timeline and _is_over(us, look) for ends in known for each, us in ends.items())


def withheld(history: History, expectations: Expectations, look: Look, hidden: HiddenTransactions) -> Iterator[Anomaly]:
    """`look` is that of a reader of committed records, after all others."""
    log = history.log(look.partition)
    end = _known_until(history, expectations, look) if hidden.are_over(look) else look.position
    for offset in log.between(look.position, end, look.poll, is_committed=False):
        value, witness = log.claims[offset]
        if offset in log.committed_offsets:
            continue
        writer = history.writer_of(Record(look.partition, offset, value))
        if writer is None or not _is_decided(history, writer, look):
            return
        if history.is_committed(writer) and isinstance(witness, Poll):
            yield Anomaly(
                Kind.UNSEEN,
                history.lives.is_promised(writer) and not expectations.may_delete_from(writer.topic),
                f"{value!r} was read by {witness.process} at offset {offset} of {look.partition}, and no reader of"
                f" committed records saw it: {look.poll.process} looked last, from offset {look.position} on, and no"
                " transaction was open",
                look.partition,
                (offset,),
                (value,),
                tuple(dict.fromkeys((writer.process, witness.process, look.poll.process))),
                (writer.number, witness.number, look.poll.number),
            )


def _known_until(history: History, expectations: Expectations, look: Look) -> int:
    """The offset up to which somebody read all there is, or all is known: others' transactions may lie behind it."""
    passed = history.log(look.partition).reader_passed(look.position)
    return OFFSET_MAX if expectations.is_every_writer_recorded else look.position if passed is None else passed + 1


def _is_decided(history: History, writer: Send, look: Look) -> bool:
    transaction = history.transaction_of(writer)
    if transaction is None:
        return True
    end = transaction.acknowledged_end
    return end is not None and history.lives.share_clock(end, look.poll) and _is_over(end.ended_us, look)


def _is_over(ended_us: int, look: Look) -> bool:
    return ended_us + MARKERS_MAX_US <= look.poll.ended_us
