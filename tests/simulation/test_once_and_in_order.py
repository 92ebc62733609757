"""The invariant of idempotent producers fails where it should, and knows the one leader that cannot know them."""

from __future__ import annotations

import pytest
from tests.log.making_logs import NOW, batch_of, make_log

from strandline.log.log import Log
from strandline.model.partitions import TopicPartition
from strandline.simulation.client_invariants import OnceAndInOrder
from strandline.simulation.history import History, Sent
from strandline.simulation.observed import Batch, PartitionTruth, Replica

EPOCH, CRC = 4, 6
FIRST, AGAIN = Batch(10, 11, EPOCH - 1, CRC), Batch(93, 94, EPOCH, CRC)


def complaints(leader: Replica) -> list[str]:
    """The same batch is committed twice, the second time by this leader."""
    history, truth = History(), PartitionTruth(TopicPartition("news", 0), b"")
    history.sent[CRC] = Sent("reporter", 0, True, truth.name, is_gapless=True)
    leader.leads_in = EPOCH
    truth.commit(leader)
    truth.committed += [FIRST, AGAIN]
    return list(OnceAndInOrder(history).check(truth))


def replica_of(log: Log) -> Replica:
    replica = Replica(1)
    replica.read_all(log)
    return replica


def test_a_batch_of_another_partition_with_the_same_crc_is_another() -> None:
    """Once in some hundred runs there is one, in the journal say."""
    history, truth = History(), PartitionTruth(TopicPartition("journal", 0), b"")
    history.sent[CRC] = Sent("reporter", 1, True, TopicPartition("news", 0), is_gapless=True)
    truth.committed.append(FIRST)
    assert list(OnceAndInOrder(history).check(truth)) == []


def test_a_leader_that_was_there_knows_what_it_has() -> None:
    (complaint,) = complaints(replica_of(make_log()))
    assert complaint.startswith("batch 0 of reporter is committed at 93-94 of epoch 4")


@pytest.mark.parametrize(("start", "is_known"), [(11, True), (12, False), (47, False)])
def test_a_log_that_started_over_knows_nothing_of_what_was_before(start: int, is_known: bool) -> None:
    log = make_log()
    log.append([batch_of("a", "b")], leader_epoch=0, now_ms=NOW)
    replica = replica_of(log)
    log.truncate_fully_and_start_at(start, now_ms=NOW)
    replica.read_all(log)
    assert bool(complaints(replica)) == is_known


def test_nor_does_one_that_started_over_at_its_own_end() -> None:
    """Since its leader had nothing left to compare it with."""
    log = make_log()
    log.append([batch_of(*"abcdefghijklmnopqrst")], leader_epoch=0, now_ms=NOW)
    replica = replica_of(log)
    log.truncate_fully_and_start_at(20, now_ms=NOW)
    replica.read_all(log)
    assert (replica.log_start_offset, replica.log_end_offset) == (20, 20)
    assert not complaints(replica)


def test_a_log_of_which_all_has_expired_still_knows_its_producers() -> None:
    """As Kafka's does: what goes by age or size takes nobody's sequence numbers with it."""
    log = make_log()
    log.append([batch_of(*"abcdefghijklmnopqrst")], leader_epoch=0, now_ms=NOW)
    replica = replica_of(log)
    log.roll(NOW)
    log.advance_log_start(20, high_watermark=20)
    replica.read_all(log)
    assert (replica.log_start_offset, replica.log_end_offset) == (20, 20)
    assert complaints(replica)
