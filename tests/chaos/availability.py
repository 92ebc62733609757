"""How long clients had to wait, out of what they noted: the longest silence of each partition around a fault.

A silence is a time in which no record of the partition was acknowledged although the producers went on. It counts for
a fault from the moment of the fault on, until the next one: acknowledgements that are just on their way do not end
it, and one that begins late (the records in a dead leader's socket, a follower that is waited for) belongs to it too.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from strandline.history.operations import Operation, Outcome, Send
from strandline.model.partitions import TopicPartition

US = 1_000_000


class Acknowledgements:
    def __init__(self, operations: Iterable[Operation]) -> None:
        """Times at which records were acknowledged, by partition. Those of transactions only count: their producers
        stop and begin again, and a silence may be theirs."""
        self.count = 0
        self.missing = 0  # of producers without transactions, which retry until they have an answer
        self._times: dict[TopicPartition, list[int]] = {}
        for each in operations:
            if isinstance(each, Send):
                self._note(each)
        for times in self._times.values():
            times.sort()

    def _note(self, send: Send) -> None:
        is_acknowledged = send.outcome is Outcome.OK and send.partition is not None
        self.count += is_acknowledged
        self.missing += not is_acknowledged and send.transaction is None
        if is_acknowledged and send.transaction is None and send.partition is not None:
            self._times.setdefault(send.partition, []).append(send.ended_us)

    @property
    def partitions(self) -> list[TopicPartition]:
        return sorted(self._times)

    def longest_silence_s(self, partition: TopicPartition, began_us: int, ended_us: int) -> float:
        times = self._times[partition]
        heard = times[bisect_left(times, began_us) : bisect_left(times, ended_us)]
        marks = [began_us, *heard, ended_us]
        return max(after - before for before, after in pairwise(marks)) / US


class Percentiles(NamedTuple):
    faults: int
    p50: float
    p99: float
    worst: float


def percentiles(values: Sequence[float]) -> Percentiles:
    """By rank; p99 of fewer than a hundred is the worst."""
    ordered = sorted(values)
    return Percentiles(len(ordered), _ranked(ordered, 0.50), _ranked(ordered, 0.99), ordered[-1] if ordered else 0.0)


def _ranked(ordered: Sequence[float], share: float) -> float:
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0
