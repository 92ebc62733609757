"""Whatever a group copies in transactions is copied once, and nothing is left out."""

from __future__ import annotations

import pytest

from strandline.model.partitions import TopicPartition
from strandline.simulation.copies import CopiedOnce, Copy
from strandline.simulation.observed import PartitionTruth
from strandline.simulation.transaction_history import Transaction, TransactionalId

COPIES = TopicPartition("copies", 0)


class Copied:
    """An invariant, and what became of the transactions of one producer, one after another."""

    def __init__(self) -> None:
        self.copied_once = CopiedOnce(COPIES.topic, [0])
        self._owner = TransactionalId("copier", "copiers")

    def in_transaction(self, name: str, first: int, end: int, *, is_committed: bool = True) -> list[str]:
        transaction = Transaction(self._owner, name, producer_epoch=0, offset=0)
        self.copied_once.began(transaction, Copy(0, first, end))
        transaction.decided[COPIES] = is_committed
        return list(self.copied_once.check(PartitionTruth(COPIES, b"")))


@pytest.fixture
def copied() -> Copied:
    copied = Copied()
    assert copied.in_transaction("first", 0, 2) == []
    return copied


def test_copies_that_follow_one_another(copied: Copied) -> None:
    assert copied.in_transaction("second", 2, 5) == []
    assert list(copied.copied_once.left_out()) == []


def test_an_offset_that_is_copied_twice(copied: Copied) -> None:
    assert copied.in_transaction("second", 1, 3) == ["offset 1 of partition 0 was copied by first, and again by second"]


def test_what_was_aborted_may_be_copied_again(copied: Copied) -> None:
    assert copied.in_transaction("second", 2, 4, is_committed=False) == []
    assert copied.in_transaction("third", 2, 4) == []


def test_an_offset_that_is_left_out(copied: Copied) -> None:
    assert copied.in_transaction("second", 3, 4) == []
    assert list(copied.copied_once.left_out()) == ["offset 2 of partition 0 was never copied, and later ones were"]
