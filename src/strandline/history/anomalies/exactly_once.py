"""Exactly once: what a transaction of a group has consumed, none consumes again (KIP-447)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator
from typing import NamedTuple

from strandline.history.expectations import Expectations
from strandline.history.index import History
from strandline.history.lives import Lives
from strandline.history.operations import Assign, Outcome, Poll, Record
from strandline.history.reading import Reading
from strandline.history.transaction import Fate, Transaction
from strandline.history.verdict import Anomaly, Kind
from strandline.model.partitions import TopicPartition

BEFORE_ALL_US = -1


class Consumption(NamedTuple):
    """A stretch of time: from when its consumer was told where to read, to the end of its transaction."""

    group: str
    transaction: Transaction
    poll: Poll
    told: Assign | None  # None: nobody sent it there on purpose, so it has no beginning

    @property
    def began_us(self) -> int:
        return BEFORE_ALL_US if self.told is None else self.told.ended_us

    @property
    def ended_us(self) -> int:
        end = self.transaction.acknowledged_end
        return BEFORE_ALL_US if end is None else end.began_us


def consumed_twice(history: History, expectations: Expectations) -> Iterator[Anomaly]:
    """Two committed transactions of a group consumed the same record, and nobody went back to it on purpose.

    A transaction consumed what it read below the offset that it committed there. What it only read is anybody's.
    Excused is a group that may begin again, since its offsets were deleted.
    """
    first: dict[tuple[str, TopicPartition, int], Consumption] = {}
    several: dict[tuple[str, TopicPartition, int], list[Consumption]] = {}
    for consumption, record in _consumed(history):
        key = consumption.group, record.partition, record.offset
        other = first.setdefault(key, consumption)
        if other is not consumption:
            several.setdefault(key, [other]).append(consumption)
    for (_, partition, offset), consumptions in several.items():
        record = Record(partition, offset, history.log(partition).claims[offset].value)
        for one, again in _overlapping(history.lives, consumptions):
            yield _twice(one, again, record, is_bad=not expectations.may_forget_offsets)


def _consumed(history: History) -> Iterator[tuple[Consumption, Record]]:
    for transaction in history.transactions.with_fate(Fate.COMMITTED):
        for group, claimed in _claims(transaction).items():
            for poll in transaction.polls:
                consumptions: dict[TopicPartition, Consumption] = {}
                for record in poll.records:
                    partition = record.partition
                    if record.offset >= claimed.get(partition, record.offset):
                        continue
                    if partition not in consumptions:
                        told = history.sought.get(Reading(poll.number, partition))
                        consumptions[partition] = Consumption(group, transaction, poll, told)
                    yield consumptions[partition], record


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


def _overlapping(lives: Lives, consumptions: Iterable[Consumption]) -> Iterator[tuple[Consumption, Consumption]]:
    """Each with one before it, if there is one that neither came on purpose after the other.

    In the order in which they begin it is enough to look at the one that ends last, of those with comparable clocks.
    """
    last_to_end: dict[tuple[Hashable, Hashable], Consumption] = {}  # by the clocks of beginning and end
    told_nothing: Consumption | None = None
    for consumption in _by_transaction(consumptions):
        begins, ends = _timelines(lives, consumption)
        if begins is None:
            others, told_nothing = [told_nothing], consumption
        else:
            others = [last_to_end.get((ends, begins)), last_to_end.get((None, begins))]
        for other in others:
            if other is not None and not _is_excused(lives, other, consumption):
                yield other, consumption
                break
        known = last_to_end.setdefault((begins, ends), consumption)
        if known.ended_us < consumption.ended_us:
            last_to_end[begins, ends] = consumption


def _by_transaction(consumptions: Iterable[Consumption]) -> Iterable[Consumption]:
    """The earliest of each, in the order in which they begin."""
    earliest: dict[str, Consumption] = {}
    for consumption in sorted(consumptions, key=lambda each: each.began_us):
        earliest.setdefault(consumption.transaction.name, consumption)
    return earliest.values()


def _timelines(lives: Lives, consumption: Consumption) -> tuple[Hashable, Hashable]:
    told, end = consumption.told, consumption.transaction.acknowledged_end
    return None if told is None else lives.timeline(told), None if end is None else lives.timeline(end)


def _is_excused(lives: Lives, one: Consumption, other: Consumption) -> bool:
    return _is_on_purpose(lives, one, other) or _is_on_purpose(lives, other, one)


def _is_on_purpose(lives: Lives, again: Consumption, first: Consumption) -> bool:
    """Its consumer was told where to read, and for all we know not before the other was to be committed."""
    told, end = again.told, first.transaction.acknowledged_end
    if told is None:
        return False
    return end is None or told.ended_us >= end.began_us or not lives.share_clock(told, end)


def _twice(first: Consumption, again: Consumption, record: Record, *, is_bad: bool) -> Anomaly:
    return Anomaly(
        Kind.CONSUMED_TWICE,
        is_bad,
        f"group {again.group} consumed {record.value!r} from {record.partition} at offset {record.offset} in"
        f" transaction {first.transaction.name} and again in {again.transaction.name}, and both were committed",
        record.partition,
        (record.offset,),
        (record.value,),
        (again.poll.process,),
        (first.poll.number, again.poll.number),
    )
