"""The invariant of leaders fails where it should: two in one epoch, and epochs that go back."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from strandline.metadata.values import PartitionState
from strandline.model.partitions import TopicPartition
from strandline.simulation.invariants import OneLeader
from strandline.simulation.observed import PartitionTruth, Replica

FIRST, SECOND = 1, 2


def lead(truth: PartitionTruth, broker_id: int, epoch: int) -> None:
    told(truth, broker_id, epoch).leads_in = epoch


def follow(truth: PartitionTruth, broker_id: int, epoch: int) -> None:
    told(truth, broker_id, epoch).leads_in = None


def told(truth: PartitionTruth, broker_id: int, epoch: int) -> Replica:
    replica = truth.replica(broker_id)
    replica.leader_epoch, replica.told_epoch = epoch, max(replica.told_epoch, epoch)
    return replica


def store(truth: PartitionTruth, epoch: int, version: int) -> None:
    truth.stored = PartitionState(leader=FIRST, leader_epoch=epoch, isr=(FIRST, SECOND), controller_epoch=1)
    truth.stored_version = version


@pytest.fixture
def truth() -> PartitionTruth:
    return PartitionTruth(TopicPartition("news", 0), b"")


def complaints(truth: PartitionTruth, moments: Iterable[tuple[int, int]]) -> list[str]:
    """Of brokers that begin to lead in some epoch, one after the other, and do not stop."""
    invariant = OneLeader()
    found: list[str] = []
    for broker_id, epoch in moments:
        lead(truth, broker_id, epoch)
        found += invariant.check(truth)
    return found


def test_leaders_of_one_epoch_after_another_are_no_fault_even_if_the_old_one_does_not_know(
    truth: PartitionTruth,
) -> None:
    assert complaints(truth, [(FIRST, 3), (SECOND, 4), (FIRST, 5)]) == []


def test_two_lead_in_one_epoch(truth: PartitionTruth) -> None:
    assert complaints(truth, [(FIRST, 3), (SECOND, 3)]) == ["1 and 2 both lead in epoch 3"]


def test_two_lead_in_one_epoch_one_after_the_other(truth: PartitionTruth) -> None:
    """The first is long gone when the second begins."""
    invariant = OneLeader()
    lead(truth, FIRST, 3)
    assert list(invariant.check(truth)) == []
    truth.replica(FIRST).leads_in = None
    lead(truth, SECOND, 3)
    assert list(invariant.check(truth)) == ["1 and 2 both lead in epoch 3"]


def test_a_leader_goes_back_to_an_epoch_in_which_it_has_led(truth: PartitionTruth) -> None:
    assert complaints(truth, [(FIRST, 3), (FIRST, 5), (FIRST, 3)]) == ["1 leads in epoch 3, and was told of epoch 5"]


def test_who_follows_in_an_epoch_leads_in_no_older_one(truth: PartitionTruth) -> None:
    follow(truth, FIRST, 5)
    lead(truth, FIRST, 4)
    assert list(OneLeader().check(truth)) == ["1 leads in epoch 4, and was told of epoch 5"]


def test_the_store_goes_back(truth: PartitionTruth) -> None:
    invariant = OneLeader()
    for epoch, version in ((3, 7), (4, 8)):
        store(truth, epoch, version)
        assert list(invariant.check(truth)) == []
    store(truth, 3, 9)
    assert list(invariant.check(truth)) == ["the store went from epoch and version (4, 8) back to (3, 9)"]
