"""Where `auto.offset.reset` leads a group that has no offset: to the beginning of a log, or to its end."""

from __future__ import annotations

from strandline.history.index import History
from strandline.history.operations import Outcome, Record, Send
from strandline.history.reading import Start


def may_be_beginning(history: History, start: Start) -> bool:
    """Nothing that is known lies before it, but what was deleted on purpose."""
    is_committed = history.lives.reads_committed(start.assign)
    return not history.log(start.partition).between(0, start.offset, start.assign, is_committed=is_committed)


def may_be_end(history: History, start: Start) -> bool:
    """Not where a record was acknowledged before the group asked, unless that may be the first of an open transaction:
    the stable end is there then."""
    writer = writer_at(history, start, start.offset)
    if writer is None or writer.transaction is not None or writer.outcome is not Outcome.OK:
        return True
    return writer.ended_us >= start.assign.began_us or not history.lives.share_clock(writer, start.assign)


def writer_at(history: History, start: Start, offset: int) -> Send | None:
    """Of the record that lies there for sure, in the partition where the group began."""
    claim = history.log(start.partition).claims.get(offset)
    writer = None if claim is None else history.writer_of(Record(start.partition, offset, claim.value))
    return writer if writer is not None and history.lives.is_promised(writer) else None
