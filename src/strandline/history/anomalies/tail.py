"""The end of a log that is gone. Nobody can come past what is missing there, so it takes one who looked and found none.

Many polls find nothing: a consumer is slow, a broker away, a group has given its partition to another. So only the last
one to look counts, and only where somebody who ran the clients says that they read to the end.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator
from typing import TypeAlias

from strandline.history.anomalies.withheld import HiddenTransactions, last_looks, withheld
from strandline.history.expectations import Expectations
from strandline.history.index import History
from strandline.history.operations import How, Poll, Record
from strandline.history.partition_log import OFFSET_MAX
from strandline.history.reading import Look
from strandline.history.verdict import Anomaly, Kind
from strandline.model.partitions import TopicPartition

LastReads: TypeAlias = dict[TopicPartition, dict[Hashable, Poll]]  # by process and clock, its last poll with a record


def lost_tails(history: History, expectations: Expectations) -> Iterator[Anomaly]:
    """A record that was read is not found by whoever looked last, from at or before its offset; or was never shown to
    those who read committed records.

    Excused are acknowledgements by the leader alone, retention and compaction.
    """
    if not expectations.is_read_to_end:
        return
    last_reads, hidden = _last_reads(history), HiddenTransactions(history)
    for look in last_looks(history):
        if _is_last(history, look, last_reads[look.partition].values()):
            yield from _not_found(history, expectations, look)
            if history.lives.reads_committed(look.poll):
                yield from withheld(history, expectations, look, hidden)


def _last_reads(history: History) -> LastReads:
    found: LastReads = defaultdict(dict)
    for poll in history.polls:
        reader = poll.process, history.lives.timeline(poll)
        for partition in {record.partition for record in poll.records}:
            last = found[partition].setdefault(reader, poll)
            if last.ended_us < poll.ended_us:
                found[partition][reader] = poll
    return found


def _is_last(history: History, look: Look, last_reads: Iterable[Poll]) -> bool:
    """After everybody else had read; and, of a member of a group, since it was given the partition."""
    is_member = look.assign is not None and look.assign.how is How.REBALANCE
    for read in last_reads:
        before_us = look.poll.began_us
        if is_member and look.assign is not None and read.process != look.poll.process:
            before_us = look.assign.began_us
        if read.ended_us >= before_us or not history.lives.share_clock(look.poll, read):
            return False
    return True


def _not_found(history: History, expectations: Expectations, look: Look) -> Iterator[Anomaly]:
    log, is_committed = history.log(look.partition), history.lives.reads_committed(look.poll)
    for offset in log.between(look.position, OFFSET_MAX, look.poll, is_committed=is_committed):
        value, witness = log.claims[offset]
        writer = history.writer_of(Record(look.partition, offset, value))
        was_in_reach = isinstance(witness, Poll) and (not is_committed or offset in log.committed_offsets)
        if was_in_reach and writer is not None:
            yield Anomaly(
                Kind.LOST_WRITE,
                history.lives.is_promised(writer) and not expectations.may_delete_from(writer.topic),
                f"{value!r} was read by {witness.process} at offset {offset} of {look.partition} and is gone:"
                f" {look.poll.process} looked last, from offset {look.position} on, and found nothing",
                look.partition,
                (offset,),
                (value,),
                tuple(dict.fromkeys((writer.process, witness.process, look.poll.process))),
                (witness.number, look.poll.number),
            )
