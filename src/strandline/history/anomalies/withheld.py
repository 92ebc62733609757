"""What is committed, and readers of committed records are not shown: others have read it, so it is not lost.

A transaction that nobody ends holds the last stable offset back, and all that lies behind it; a commit whose marker was
not written is none to readers. Both are found where the last one to look had come to a record that it was owed. It was
not owed what lies behind a transaction that was still open, or may have been, and those of unknown writers may. The
same goes for what nobody has read: where only readers of committed records looked for it, they may have been held back.
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
from strandline.model.partitions import TopicPartition

MARKERS_MAX_US = 5_000_000  # how long after its end was acknowledged a transaction may hold others back
NEVER_US = 2**63 - 1
BEYOND_ALL = OFFSET_MAX + 1  # also what was sent, and nobody knows its offset, lies before it


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


class HeldBack:
    """Where those who looked last did not come to the end, because they read committed records."""

    def __init__(self, history: History, expectations: Expectations) -> None:
        self._history = history
        self._expectations = expectations
        self._hidden = HiddenTransactions(history)
        self._looks: dict[TopicPartition, list[Look]] = defaultdict(list)
        for look in last_looks(history):
            self._looks[look.partition].append(look)
        self._first_not_owed: dict[Look, int] = {}

    def hides(self, send: Send) -> bool:
        """Whether somebody looked for it, and nobody who looked was owed it."""
        looks = (
            [] if send.partition is None else [look for look in self._looks[send.partition] if _is_after(look, send)]
        )
        looks = [look for look in looks if self._history.lives.share_clock(look.poll, send)]
        offset = OFFSET_MAX if send.offset is None else send.offset
        return bool(looks) and all(self._is_held_back(look) and self._begins(look) <= offset for look in looks)

    def _is_held_back(self, look: Look) -> bool:
        return self._history.lives.reads_committed(look.poll)

    def _begins(self, look: Look) -> int:
        """From which offset on nothing is owed."""
        if look not in self._first_not_owed:
            self._first_not_owed[look] = self._find_first_not_owed(look)
        return self._first_not_owed[look]

    def _find_first_not_owed(self, look: Look) -> int:
        log = self._history.log(look.partition)
        if not self._hidden.are_over(look):
            return look.position
        markers_left = self._markers_in(look.partition)
        expected = look.position
        for offset in log.between(look.position, OFFSET_MAX, look.poll, is_committed=False):
            markers_left -= offset - expected
            writer = self._history.writer_of(Record(look.partition, offset, log.claims[offset].value))
            if writer is None or markers_left < 0 or not _is_decided(self._history, writer, look):
                return offset
            expected = offset + 1
        return BEYOND_ALL if self._expectations.is_every_writer_recorded else OFFSET_MAX

    def _markers_in(self, partition: TopicPartition) -> int:
        """How many offsets may have none of the known records, and no record of an unknown writer either."""
        if self._expectations.is_every_writer_recorded:
            return OFFSET_MAX
        transactions = self._history.transactions.by_name.values()
        return sum(any(send.partition == partition for send in each.sends) for each in transactions)


def last_looks(history: History) -> list[Look]:
    """Of those who read committed records, and of those who read all."""
    last: dict[tuple[TopicPartition, bool], Look] = {}
    for look in history.looks:
        key = look.partition, history.lives.reads_committed(look.poll)
        other = last.get(key)
        if other is None or other.poll.began_us < look.poll.began_us:
            last[key] = look
    return list(last.values())


def _is_after(look: Look, send: Send) -> bool:
    return look.poll.ended_us >= send.ended_us and (send.offset is None or look.position <= send.offset)


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
