"""What was read that should not have been: of failed writes, of aborted transactions, of those not yet committed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from strandline.history.expectations import Expectations
from strandline.history.index import History
from strandline.history.operations import End, Outcome, Poll, Record, Send
from strandline.history.transaction import Fate
from strandline.history.verdict import Anomaly, Kind


def aborted_reads(history: History, _expectations: Expectations) -> Iterator[Anomaly]:
    """G1a: somebody read a write that failed for sure, or, reading committed records, one of an aborted transaction."""
    aborted = {transaction.name for transaction in history.transactions.with_fate(Fate.ABORTED)}
    if not aborted and not any(send.outcome is Outcome.FAIL for send in history.sends):
        return
    for poll, record, writer in _reads(history):
        if writer.outcome is Outcome.FAIL:
            why = "which failed"
        elif writer.transaction in aborted and history.lives.reads_committed(poll):
            why = f"in transaction {writer.transaction}, {_end_of(history, writer)}"
        else:
            continue
        yield _read_of(Kind.ABORTED_READ, poll, record, writer, f"sent by {writer.process}, {why}")


def _end_of(history: History, writer: Send) -> str:
    transaction = history.transaction_of(writer)
    is_left_open = transaction is not None and not transaction.ends
    return "whose producer went on to the next without ending it" if is_left_open else "which was aborted"


def precommitted_reads(history: History, _expectations: Expectations) -> Iterator[Anomaly]:
    """A transaction read what it had sent itself, before its own end."""
    for transaction in history.transactions.by_name.values():
        for poll in transaction.polls:
            if not history.lives.reads_committed(poll):
                continue
            for record in poll.records:
                writer = history.writer_of(record)
                if writer is not None and writer.transaction == transaction.name:
                    why = f"which its own transaction {transaction.name} had sent and not committed"
                    yield _read_of(Kind.PRECOMMITTED_READ, poll, record, writer, why)


def uncommitted_reads(history: History, _expectations: Expectations) -> Iterator[Anomaly]:
    """A reader of committed records saw a record before the commit of its transaction was even asked for."""
    for poll, record, writer in _reads(history) if history.transactions.by_name else ():
        transaction = history.transaction_of(writer)
        if transaction is None or poll.transaction == writer.transaction or not history.lives.reads_committed(poll):
            continue
        later = transaction.at_work_after(poll, history.lives.share_clock)
        if later is not None:
            what = "asked for the commit of" if isinstance(later, End) else "still wrote in"
            why = f"{later.began_us - poll.ended_us} µs before {later.process} {what} {writer.transaction}"
            yield _read_of(Kind.UNCOMMITTED_READ, poll, record, writer, why)


def future_reads(history: History, _expectations: Expectations) -> Iterator[Anomaly]:
    """A reader of uncommitted records saw a record of a transaction before anybody began to send it.

    Of all other reads that is a cycle, and told as one; these are in none, since they may cross (`dependencies`).
    """
    uncommitted = [poll for poll in history.polls if not history.lives.reads_committed(poll)]
    for poll, record, writer in _reads(history, uncommitted) if history.transactions.by_name else ():
        is_ahead = poll.ended_us < writer.began_us and history.lives.share_clock(poll, writer)
        if is_ahead and writer.transaction is not None and writer.outcome is not Outcome.FAIL:
            kind = Kind.READ_CYCLE_PROCESS if poll.process == writer.process else Kind.READ_CYCLE_REALTIME
            ahead = f"{writer.began_us - poll.ended_us} µs before {writer.process} began to send it"
            yield _read_of(kind, poll, record, writer, f"{ahead} in transaction {writer.transaction}")


def _reads(history: History, polls: Iterable[Poll] | None = None) -> Iterator[tuple[Poll, Record, Send]]:
    for poll in history.polls if polls is None else polls:
        for record in poll.records:
            writer = history.writer_of(record)
            if writer is not None:
                yield poll, record, writer


def _read_of(kind: Kind, poll: Poll, record: Record, writer: Send, why: str) -> Anomaly:
    return Anomaly(
        kind,
        True,
        f"{poll.process} read {record.value!r} from {record.partition} at offset {record.offset}, {why}",
        record.partition,
        (record.offset,),
        (record.value,),
        tuple(dict.fromkeys((poll.process, writer.process))),
        (poll.number, writer.number),
    )
