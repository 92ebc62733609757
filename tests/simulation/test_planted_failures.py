"""Invariants that no missing safeguard breaks first: each fails where somebody plants what it is there to find."""

from __future__ import annotations

from typing import cast

import pytest

from strandline.log.log import Log
from strandline.metadata import paths
from strandline.metadata.operations import Create, Operation, SetData
from strandline.metadata.transactions import Changed
from strandline.metadata.values import PartitionState, encode_controller_epoch, encode_partition_state
from strandline.model.partitions import TopicPartition
from strandline.simulation.client_invariants import ReadsAreTrue
from strandline.simulation.history import History, Sent
from strandline.simulation.invariants import CommittedStays, Contiguous, FollowersCopy, Invariant, LeaderInIsr
from strandline.simulation.observed import Batch, PartitionTruth, Replica
from strandline.simulation.retention_load import LogStartGoesUp
from strandline.simulation.shown_is_committed import ShownIsCommitted
from strandline.simulation.store_invariants import IsrIsAssigned, OneController

NAME = TopicPartition("news", 0)
STATE = paths.partition_state_path(NAME)
FIRST, SECOND, OTHER = Batch(0, 1, 1, crc=1), Batch(2, 3, 1, crc=2), Batch(2, 3, 0, crc=3)


@pytest.fixture
def truth() -> PartitionTruth:
    """Of three replicas, led by 1 in epoch 1, of which two batches are committed."""
    truth = PartitionTruth(NAME, b"")
    truth.assigned, truth.stored = (1, 2, 3), state()
    truth.committed = [FIRST, SECOND]
    for broker_id in truth.assigned:
        has(truth, broker_id, FIRST, SECOND)
    truth.replica(1).leads_in = 1
    return truth


def state(
    *, leader: int = 1, leader_epoch: int = 1, isr: tuple[int, ...] = (1, 2, 3), controller_epoch: int = 1
) -> PartitionState:
    return PartitionState(leader, leader_epoch, isr, controller_epoch)


def has(truth: PartitionTruth, broker_id: int, *batches: Batch) -> Replica:
    """And shows all of it."""
    replica = truth.replica(broker_id)
    replica.batches = {batch.base_offset: batch for batch in batches}
    replica.is_up, replica.leader_epoch, replica.agreed = True, 1, 0
    replica.high_watermark = replica.log_end_offset = batches[-1].last_offset + 1 if batches else 0
    truth.agree(replica)
    return replica


def complaints(invariant: Invariant, truth: PartitionTruth) -> list[str]:
    return list(invariant.check(truth))


@pytest.mark.parametrize("invariant", [CommittedStays, FollowersCopy, IsrIsAssigned, LeaderInIsr, ShownIsCommitted])
def test_where_nothing_is_wrong_nobody_complains(truth: PartitionTruth, invariant: type[Invariant]) -> None:
    assert complaints(invariant(), truth) == []


# The store.


def test_a_leader_is_not_in_the_isr(truth: PartitionTruth) -> None:
    truth.stored = state(isr=(2, 3))
    assert complaints(LeaderInIsr(), truth) == ["leader 1 is not in the isr (2, 3)"]


def test_somebody_is_twice_in_the_isr(truth: PartitionTruth) -> None:
    truth.stored = state(isr=(1, 2, 2))
    assert complaints(LeaderInIsr(), truth) == ["the isr (1, 2, 2) names somebody twice"]


@pytest.mark.parametrize("leader_epoch", [1, 2], ids=["by a leader", "by a controller"])
def test_somebody_joins_the_isr_who_is_no_replica(truth: PartitionTruth, leader_epoch: int) -> None:
    invariant = IsrIsAssigned()
    assert complaints(invariant, truth) == []
    truth.stored = state(leader_epoch=leader_epoch, isr=(1, 2, 3, 4))
    assert complaints(invariant, truth) == ["the isr (1, 2, 3, 4) has [4], and the replicas are (1, 2, 3)"]


def test_a_leader_that_has_not_heard_of_it_may_take_in_who_was_a_replica_and_a_controller_may_not(
    truth: PartitionTruth,
) -> None:
    for leader_epoch, expected in ((1, []), (2, ["the isr (1, 2, 3) has [3], and the replicas are (1, 2)"])):
        invariant = IsrIsAssigned()
        truth.assigned, truth.stored = (1, 2, 3), state(isr=(1, 2))
        assert complaints(invariant, truth) == []
        truth.assigned, truth.stored = (1, 2), state(leader_epoch=leader_epoch)
        assert complaints(invariant, truth) == expected


class Written:
    """What sessions write, one after the other, and who complains."""

    def __init__(self) -> None:
        self.complaints: list[str] = []
        self._invariant = OneController(lambda _, sentence: self.complaints.append(sentence))

    def by(self, session_id: int, *operations: Operation) -> None:
        self._invariant.written(Changed(1, 0, session_id, operations))

    def wins(self, session_id: int, epoch: int) -> None:
        raised = SetData(paths.CONTROLLER_EPOCH, encode_controller_epoch(epoch))
        self.by(session_id, Create(paths.CONTROLLER, b"", ephemeral=True), raised)


@pytest.fixture
def written() -> Written:
    """A topic by the controller of epoch 1, whose session is 7; then one of session 8 takes over."""
    written = Written()
    written.wins(7, 1)
    written.by(7, Create(paths.topic_path("news")), Create(STATE, encode_partition_state(state())))
    written.wins(8, 2)
    assert written.complaints == []
    return written


def test_leaders_write_their_isr_and_the_newest_controller_who_leads(written: Written) -> None:
    written.by(5, SetData(STATE, encode_partition_state(state(isr=(1, 2)))))
    written.by(8, SetData(STATE, encode_partition_state(state(leader=2, leader_epoch=2, controller_epoch=2))))
    assert written.complaints == []


def test_who_was_the_controller_writes_who_leads_or_a_topic(written: Written) -> None:
    written.by(7, SetData(STATE, encode_partition_state(state(leader=2, leader_epoch=2))))
    written.by(7, Create(paths.topic_path("diary")))
    assert [complaint.split(",")[0] for complaint in written.complaints] == [
        f"SetData of {STATE} with epoch 1",
        f"Create of {paths.topic_path('diary')} with epoch 2",
    ]


def test_the_controller_writes_with_an_epoch_that_is_past(written: Written) -> None:
    """Its own, of an earlier time in office."""
    written.by(8, SetData(STATE, encode_partition_state(state(leader=2, leader_epoch=2))))
    assert len(written.complaints) == 1


def test_an_epoch_of_controllers_is_begun_twice_or_by_nobody(written: Written) -> None:
    written.wins(9, 2)
    written.by(9, SetData(paths.CONTROLLER_EPOCH, encode_controller_epoch(3)))
    assert written.complaints == ["the epoch of the controller goes from 2 to 2", "epoch 3 is begun by nobody"]


# Clients.


def test_a_reader_gets_what_was_refused(truth: PartitionTruth) -> None:
    history = History()
    history.sent[SECOND.crc] = Sent("careless", 1, is_idempotent=False, partition=NAME)
    history.failed[SECOND.crc] = "NOT_LEADER_OR_FOLLOWER"
    for batch in (FIRST, SECOND):
        history.was_read("reader", NAME, batch)
    assert complaints(ReadsAreTrue(history), truth) == [
        f"reader read {SECOND}, of which its producer was told NOT_LEADER_OR_FOLLOWER"
    ]


# Replicas.


def test_a_follower_appends_what_its_leader_has_not(truth: PartitionTruth) -> None:
    follower = has(truth, 2, FIRST, OTHER)
    follower.before_news, follower.news = FIRST, [OTHER]
    assert complaints(FollowersCopy(), truth) == [
        f"2 appends {OTHER} in epoch 1, which is not in the log of its leader, 1"
    ]


def test_a_leader_lacks_what_was_committed(truth: PartitionTruth) -> None:
    has(truth, 1, FIRST)
    assert complaints(CommittedStays(), truth) == [f"1 leads in epoch 1 without {SECOND}, which was committed"]


def test_a_leader_that_was_replaced_may_lack_it_and_show_nothing_in_its_place(truth: PartitionTruth) -> None:
    truth.stored = state(leader=2, leader_epoch=2)
    old = has(truth, 1, FIRST, OTHER)
    old.high_watermark = 2
    assert complaints(CommittedStays(), truth) == []
    old.high_watermark = 4
    assert len(complaints(CommittedStays(), truth)) == 1


def test_a_follower_shows_what_was_not_committed(truth: PartitionTruth) -> None:
    has(truth, 2, FIRST, OTHER)
    assert complaints(ShownIsCommitted(), truth) == [
        f"follower 2 has the high watermark 4, and lacks {SECOND}, which was committed"
    ]


def test_a_follower_shows_more_than_was_committed(truth: PartitionTruth) -> None:
    has(truth, 2, FIRST, SECOND, Batch(4, 4, 1, crc=4))
    assert complaints(ShownIsCommitted(), truth) == [
        "follower 2 has the high watermark 5, and what is committed ends at 4"
    ]


def test_who_led_may_show_what_it_counted_when_its_disk_has_it(truth: PartitionTruth) -> None:
    """`flush.messages=1`: a leader counts what its followers have, shows it when its own disk has it too, and by then
    may follow."""
    late = has(truth, 2, FIRST, SECOND, Batch(4, 4, 1, crc=4))
    late.counted_watermark = 5
    truth.commit(late)
    truth.agree(late)
    assert truth.committed_end == 5
    assert complaints(ShownIsCommitted(), truth) == []


def test_who_led_shows_more_than_it_has_counted(truth: PartitionTruth) -> None:
    late = has(truth, 2, FIRST, SECOND, Batch(4, 4, 1, crc=4))
    late.counted_watermark = 4
    truth.commit(late)
    assert len(complaints(ShownIsCommitted(), truth)) == 1


def test_the_start_of_a_log_goes_back_or_beyond_what_is_committed(truth: PartitionTruth) -> None:
    invariant, replica = LogStartGoesUp(), truth.replica(2)
    replica.log = cast(Log, object())  # in one life of it
    found = []
    for log_start_offset in (2, 0, 5):
        replica.log_start_offset = log_start_offset
        found += complaints(invariant, truth)
    assert found == [
        "2: the log began at 2, and begins at 0",
        "2: the log begins at 5, and no more than 4 is committed",
    ]


def test_what_compaction_has_left_has_gaps_and_still_increases(truth: PartitionTruth) -> None:
    truth.is_compacted, replica = True, truth.replica(2)
    replica.news = [FIRST, Batch(6, 7, 1, crc=4)]
    assert complaints(Contiguous(), truth) == []
    replica.news = [FIRST, Batch(1, 2, 1, crc=4)]
    assert len(complaints(Contiguous(), truth)) == 1


def test_a_log_has_a_gap_or_an_epoch_that_falls(truth: PartitionTruth) -> None:
    replica, later, older = truth.replica(2), Batch(3, 3, 1, crc=4), OTHER
    for news, expected in (
        ([FIRST, later], f"2: {FIRST} is followed by {later}"),
        ([FIRST, older], f"2: the epoch falls from {FIRST} to {older}"),
    ):
        replica.news = news
        assert complaints(Contiguous(), truth) == [expected]
