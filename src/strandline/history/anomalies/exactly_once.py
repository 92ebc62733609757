"""Exactly once: what a transaction of a group has consumed, none consumes again (KIP-447)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from strandline.history.expectations import Expectations
from strandline.history.index import History
from strandline.history.operations import Outcome, Poll, Record
from strandline.history.reading import Reading
from strandline.history.transaction import Fate, Transaction
from strandline.history.verdict import Anomaly, Kind
from strandline.model.partitions import TopicPartition


class Consumption(NamedTuple):
    group: str
    transaction: Transaction
    poll: Poll


def consumed_twice(history: History, _expectations: Expectations) -> Iterator[Anomaly]:
    """Two committed transactions of a group consumed the same record, and nobody went back to it on purpose.

    A transaction consumed what it read below the offset that it committed there. What it only read is anybody's.
    """
    consumers: dict[tuple[str, TopicPartition, int], Consumption] = {}
    for consumption, record in _consumed(history):
        other = consumers.setdefault((consumption.group, record.partition, record.offset), consumption)
        if other.transaction is consumption.transaction:
            continue
        pairs = (consumption, other), (other, consumption)
        if not any(_is_on_purpose(history, again, first, record.partition) for again, first in pairs):
            yield _twice(other, consumption, record)


def _consumed(history: History) -> Iterator[tuple[Consumption, Record]]:
    for transaction in history.transactions.with_fate(Fate.COMMITTED):
        for group, claimed in _claims(transaction).items():
            for poll in transaction.polls:
                consumption = Consumption(group, transaction, poll)
                for record in poll.records:
                    if record.offset < claimed.get(record.partition, record.offset):
                        yield consumption, record


def _claims(transaction: Transaction) -> dict[str, dict[TopicPartition, int]]:
    """By group, the offsets below which it consumed for sure: the last counts, and in doubt the lowest."""
    claims: dict[str, dict[TopicPartition, int]] = defaultdict(dict)
    for commit in sorted(transaction.commits, key=lambda each: (each.outcome is Outcome.UNKNOWN, each.began_us)):
        claimed = claims[commit.group]
        for partition, offset in commit.offsets:
            if commit.outcome is Outcome.OK:
                claimed[partition] = offset
            elif commit.outcome is Outcome.UNKNOWN and partition in claimed:
                claimed[partition] = min(claimed[partition], offset)
    return claims


def _is_on_purpose(history: History, again: Consumption, first: Consumption, partition: TopicPartition) -> bool:
    """Its consumer was told where to read, and for all we know not before the other was to be committed."""
    seek, end = history.sought.get(Reading(again.poll.number, partition)), first.transaction.acknowledged_end
    if seek is None:
        return False
    return end is None or seek.ended_us >= end.began_us or not history.lives.share_clock(seek, end)


def _twice(first: Consumption, again: Consumption, record: Record) -> Anomaly:
    return Anomaly(
        Kind.CONSUMED_TWICE,
        True,
        f"group {again.group} consumed {record.value!r} from {record.partition} at offset {record.offset} in"
        f" transaction {first.transaction.name} and again in {again.transaction.name}, and both were committed",
        record.partition,
        (record.offset,),
        (record.value,),
        (again.poll.process,),
        (first.poll.number, again.poll.number),
    )
