"""What was copied in transactions, from which offsets of what was consumed: each offset once, and none left out.

The truth is in the committed batches of the topic that is written to: a copy counts as soon as a marker there has
committed its transaction.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from strandline.simulation.observed import PartitionTruth
from strandline.simulation.transaction_history import Transaction


class Copy(NamedTuple):
    """Of the offsets of one partition from `first` up to `end`, which is committed as the group's."""

    partition: int
    first: int
    end: int


class CopiedOnce:
    name = "CopiedOnce"

    def __init__(self, topic: str, indexes: list[int]) -> None:
        self._topic = topic
        self._undecided: dict[Transaction, Copy] = {}
        self._copied: dict[int, dict[int, Transaction]] = {index: {} for index in indexes}

    def began(self, transaction: Transaction, copy: Copy) -> None:
        self._undecided[transaction] = copy

    def check(self, truth: PartitionTruth) -> Iterator[str]:
        if truth.name.topic != self._topic:
            return
        decided = [each for each in self._undecided if each.decided or each.outcome is False]
        for transaction in decided:
            copy = self._undecided.pop(transaction)
            if any(transaction.decided.values()):
                yield from self._count(transaction, copy)

    def _count(self, transaction: Transaction, copy: Copy) -> Iterator[str]:
        copied = self._copied[copy.partition]
        for offset in range(copy.first, copy.end):
            other = copied.setdefault(offset, transaction)
            if other is not transaction:
                yield f"offset {offset} of partition {copy.partition} was copied by {other}, and again by {transaction}"

    def left_out(self) -> Iterator[str]:
        """When every transaction is decided."""
        for index, copied in self._copied.items():
            missing = next((offset for offset in range(max(copied, default=-1)) if offset not in copied), None)
            if missing is not None:
                yield f"offset {missing} of partition {index} was never copied, and later ones were"
