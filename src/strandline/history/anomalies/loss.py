"""What was acknowledged and is not there: lost for sure, or only not seen by anybody."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from strandline.history.anomalies.withheld import HeldBack
from strandline.history.expectations import Expectations
from strandline.history.index import History
from strandline.history.operations import Outcome, Send
from strandline.history.partition_log import PartitionLog
from strandline.history.transaction import Transaction
from strandline.history.trims import Trims
from strandline.history.verdict import Anomaly, Kind


def lost_writes(history: History, expectations: Expectations) -> Iterator[Anomaly]:
    """An acknowledged record that nobody read, though somebody read its offset, or past it.

    Excused are acknowledgements by the leader alone, retention and compaction.
    """
    for log, send, offset, passed in _missing(history):
        if passed is not None:
            found = (
                "readers found another record there" if passed == offset else f"readers came past it to offset {passed}"
            )
            yield Anomaly(
                Kind.LOST_WRITE,
                _is_owed(history, expectations, send),
                f"{send.value!r} was {_promised(send)} and is gone: {found} and nobody read it",
                log.partition,
                (offset,) if offset is not None else (),
                (send.value,),
                (send.process,),
                (send.number,),
            )


def torn_transactions(history: History, expectations: Expectations) -> Iterator[Anomaly]:
    """A transaction of which one record was read and another is lost: all or nothing was promised (KIP-98)."""
    read_parts: dict[str, Send | None] = {}  # one of each transaction
    for log, send, offset, passed in _missing(history):
        transaction = history.transaction_of(send)
        if passed is None or transaction is None:
            continue
        if transaction.name not in read_parts:
            read_parts[transaction.name] = _read_part(history, transaction)
        other = read_parts[transaction.name]
        if other is not None:
            yield Anomaly(
                Kind.TORN_TRANSACTION,
                _is_owed(history, expectations, send),
                f"of transaction {transaction.name}, {other.value!r} was read from {other.partition} and"
                f" {send.value!r} is gone from {log.partition}, where it had offset {offset}",
                log.partition,
                (offset,) if offset is not None else (),
                (other.value, send.value),
                (send.process,),
                (other.number, send.number),
            )


def _read_part(history: History, transaction: Transaction) -> Send | None:
    for send in transaction.sends:
        if send.partition is not None and history.is_read(send, history.log(send.partition)):
            return send
    return None


def unseen(history: History, expectations: Expectations) -> Iterator[Anomaly]:
    """A record that was promised and nobody has read, and past which nobody has read either: late, or lost."""
    unread = [send for _, send, _, passed in _missing(history) if passed is None]
    held_back = HeldBack(history, expectations)
    for send in (*unread, *_missing_somewhere(history)):
        yield Anomaly(
            Kind.UNSEEN,
            expectations.is_read_to_end and _is_owed(history, expectations, send) and not held_back.hides(send),
            f"{send.value!r} was {_promised(send)} and nobody read it",
            send.partition,
            (send.offset,) if send.offset is not None else (),
            (send.value,),
            (send.process,),
            (send.number,),
        )


def _is_owed(history: History, expectations: Expectations, send: Send) -> bool:
    return history.lives.is_promised(send) and not expectations.may_delete_from(send.topic)


def _promised(send: Send) -> str:
    if send.outcome is not Outcome.OK:
        place = send.topic if send.partition is None else send.partition
        return f"sent by {send.process} to {place} in {send.transaction}, whose commit was acknowledged,"
    place = "" if send.offset is None else f" at offset {send.offset}"
    return f"acknowledged to {send.process}{place} of {send.partition}"


def _missing(history: History) -> Iterator[tuple[PartitionLog, Send, int | None, int | None]]:
    """Each with its offset, and how far somebody read who came past it."""
    for send in history.promises():
        if send.partition is None:
            continue
        log = history.log(send.partition)
        passed = None if send.offset is None else log.reader_passed(send.offset)
        lowest = log.lowest_free_offset if send.offset is None else send.offset
        may_be_deleted = passed is None and lowest < log.trims.offset_since(send)
        if not history.is_read(send, log) and not may_be_deleted:
            yield log, send, send.offset, passed


def _missing_somewhere(history: History) -> Iterator[Send]:
    """Sent in a transaction that was committed, to a partition that nobody knows."""
    sends = [send for send in history.promises() if send.partition is None]
    read_values: dict[str, set[str]] = defaultdict(set)  # by topic, as the trims
    trims: dict[str, Trims] = defaultdict(lambda: Trims(history.lives.timeline))
    for partition, log in history.logs.items() if sends else ():
        read_values[partition.topic] |= log.read_values
        trims[partition.topic].join(log.trims, above=log.lowest_free_offset)
    for joined in trims.values():
        joined.settle()
    for send in sends:
        if send.value not in read_values[send.topic] and not trims[send.topic].offset_since(send):
            yield send
