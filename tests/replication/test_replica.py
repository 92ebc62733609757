"""A replica between its roles: what it keeps, and which words of the controller it follows (SPEC R2, T4)."""

from __future__ import annotations

import pytest
from tests.log.making_logs import NOW, append, batch_of, batches_in, make_log
from tests.replication.memory_log import MemoryLog, Record

from strandline.log.log import Log
from strandline.model.failures import ErrorCode
from strandline.replication import effects as fx
from strandline.replication import events, requests
from strandline.replication.events import NO_LEADER, LeaderAndIsr
from strandline.replication.log_view import EpochEnd, LogView
from strandline.replication.replica import Effects, Replica
from strandline.replication.requests import AskEpochEnd, Fetch, FetchAnswer
from strandline.replication.settings import ReplicationSettings
from strandline.replication.truncation import diverging_epoch


def replica_of(log: LogView, *, broker_id: int = 1, high_watermark: int = 0) -> Replica:
    return Replica(
        broker_id=broker_id,
        log=log,
        high_watermark=high_watermark,
        live_brokers={1: 11, 2: 12},
        settings=ReplicationSettings(),
    )


def says(leader: int, epoch: int, version: int, isr: tuple[int, ...] = (1, 2)) -> LeaderAndIsr:
    return LeaderAndIsr(leader, epoch, isr, (1, 2), version)


def log_of(count: int) -> MemoryLog:
    log = MemoryLog()
    log.append(Record(f"r{index}", 0) for index in range(count))
    return log


def lines(effects: Effects) -> list[str]:
    return list(map(str, effects))


def test_a_checkpoint_beyond_the_log_is_not_believed() -> None:
    """The log may have lost its end since, or its beginning."""
    log = log_of(3)
    assert replica_of(log, high_watermark=9).high_watermark == 3
    log.advance_log_start(2)
    assert replica_of(log, high_watermark=1).high_watermark == 2


def test_the_high_watermark_goes_from_role_to_role() -> None:
    replica = replica_of(log_of(5), high_watermark=2)
    assert lines(replica.decide(says(2, 0, 1), 0)) == ["follow 2 in epoch 0"]
    assert replica.high_watermark == 2
    assert lines(replica.decide(says(1, 1, 2), 0)) == ["epoch 1 begins at 5"]
    assert (replica.high_watermark, replica.follower) == (2, None)
    assert lines(replica.decide(says(1, 2, 3, (1,)), 0)) == ["epoch 2 begins at 5", "high watermark 2 -> 5"]
    assert lines(replica.decide(says(2, 3, 4), 0)) == ["no longer leader of epoch 2", "follow 2 in epoch 3"]
    assert (replica.high_watermark, replica.leader) == (5, None)
    assert str(replica) == "1 follower of 2 in epoch 3, reconciling: log end 5, high watermark 5"


def test_the_same_leader_again_begins_with_no_knowledge_of_its_followers() -> None:
    replica = replica_of(log_of(5))
    replica.decide(says(1, 0, 1), 0)
    assert replica.leader is not None
    replica.leader.follower_fetched(2, 5, 0)
    assert replica.high_watermark == 5
    assert lines(replica.decide(says(1, 1, 2), 0)) == ["epoch 1 begins at 5"]
    assert replica.leader.followers[2].log_end_offset == -1


def test_old_words_are_ignored() -> None:
    replica = replica_of(log_of(1))
    replica.decide(says(1, 3, 7, (1,)), 0)
    assert lines(replica.decide(says(2, 2, 8), 0)) == ["ignored: epoch 2 is over, this is 3"]
    assert lines(replica.decide(says(2, 4, 6), 0)) == ["ignored: version 6 is older than 7"]
    assert lines(replica.decide(says(1, 3, 7, (1,)), 0)) == ["ignored: epoch 3 has begun already"]
    assert replica.leader is not None


def test_a_follower_ignores_old_versions_too() -> None:
    replica = replica_of(log_of(1))
    replica.decide(says(2, 3, 7), 0)
    assert lines(replica.decide(says(1, 4, 6), 0)) == ["ignored: version 6 is older than 7"]


def test_a_version_that_the_leader_wrote_itself_is_known() -> None:
    replica = replica_of(log_of(0))
    replica.decide(says(1, 3, 7, (1,)), 0)
    assert replica.leader is not None
    replica.leader.follower_fetched(2, 0, 0)
    (change,) = replica.leader.take_effects()
    assert isinstance(change, fx.AlterIsr)
    replica.leader.handle(events.IsrCommitted(change, 8), 0)
    assert replica.partition_epoch == 8
    assert lines(replica.decide(says(2, 4, 7), 0)) == ["ignored: version 7 is older than 8"]


def test_the_controller_changes_the_isr_within_the_epoch() -> None:
    replica = replica_of(log_of(0))
    replica.decide(says(1, 3, 7), 0)
    assert replica.leader is not None
    replica.leader.appended(4, 0)
    effects = replica.decide(says(1, 3, 8, (1,)), 20_000)
    assert lines(effects) == ["isr 1,2 -> 1 (version 8)", "high watermark 0 -> 4"]


def test_a_follower_is_told_of_a_version_within_the_epoch() -> None:
    replica = replica_of(log_of(0))
    replica.decide(says(2, 3, 7), 0)
    assert lines(replica.decide(says(2, 3, 9, (2,)), 0)) == ["ignored: epoch 3 has begun already"]
    assert replica.partition_epoch == 9


def test_nobody_leads() -> None:
    replica = replica_of(log_of(2), high_watermark=1)
    assert lines(replica.decide(says(NO_LEADER, 0, 1), 0)) == ["follow nobody in epoch 0"]
    assert replica.follower is not None
    assert (replica.follower.request(0), replica.high_watermark) == (None, 1)


def test_stopping() -> None:
    replica = replica_of(log_of(2))
    assert replica.stop() == ()
    replica.decide(says(1, 0, 1, (1,)), 0)
    assert lines(replica.stop()) == ["no longer leader of epoch 0"]
    assert (replica.high_watermark, str(replica)) == (2, "1 stopped")


def test_settings_reach_the_leader() -> None:
    replica = replica_of(log_of(0))
    two = ReplicationSettings(min_insync_replicas=2)
    assert replica.settings_changed(two, 0) is None
    replica.decide(says(1, 0, 1, (1,)), 0)
    assert replica.leader is not None
    assert replica.leader.appended(3, 0) is None
    assert replica.settings_changed(ReplicationSettings(), 0) == 3


@pytest.mark.parametrize(
    "said",
    [
        says(1, 3, 7),
        says(NO_LEADER, 3, 7),
        events.IsrCommitted(change := fx.AlterIsr(5, 9, (1,), (11,), (1, 2), "2 is late"), 10),
        events.IsrRefused(change, ErrorCode.INELIGIBLE_REPLICA),
        events.IsrUnknown(change, "the connection was lost"),
        events.PartitionStateRead(1, 5, (1,), 10),
        change,
        fx.ReadPartitionState(5),
        fx.IsrChanged((1, 2), (1,), 10, "the controller has changed it"),
        fx.Fenced(5),
        fx.AssignEpoch(5, 7),
        fx.LeadershipLost(5),
        fx.FollowLeader(2, 5),
        fx.Ignored("late"),
        fx.AppendFetched(fx.Adopt(3, 0)),
        fx.TruncateTo(3, "the leader's log ends there"),
        fx.TruncateFullyAndStartAt(3, "the leader has nothing older"),
        fx.AdvanceLogStart(3),
        fx.HighWatermarkMoved(1, 3),
        fx.TryAgain(1000, ErrorCode.NOT_LEADER_OR_FOLLOWER),
        requests.Fetch(5, 3, 4, 0),
        requests.AskEpochEnd(5, 4),
        requests.AskOffset(5, True),
        requests.FetchAnswer(ErrorCode.NONE, 3, 0),
        requests.FetchAnswer(ErrorCode.OFFSET_OUT_OF_RANGE),
        requests.FetchAnswer(ErrorCode.NONE, 3, 0, EpochEnd(2, 1)),
    ],
    ids=lambda said: type(said).__name__,
)
def test_everything_prints_as_one_line(said: object) -> None:
    text = str(said)
    assert text
    assert "\n" not in text
    assert "=" not in text, "a sentence, and not a tuple"


class TestOnRealLogs:
    """`log.Log` is what a replica looks at, and can do what it asks for."""

    def carry_out(
        self, log: Log, replica: Replica, effects: tuple[fx.ReplicaEffect, ...], records: bytes = b""
    ) -> None:
        for effect in effects:
            match effect:
                case fx.AssignEpoch(epoch, start_offset):
                    log.assign_epoch(epoch, start_offset)
                case fx.AppendFetched(then) if replica.follower:
                    log.append_replicated(records, now_ms=NOW)
                    self.carry_out(log, replica, replica.follower.appended(then))
                case fx.TruncateTo(offset) if replica.follower:
                    log.truncate_to(offset, now_ms=NOW)
                    self.carry_out(log, replica, replica.follower.truncated())

    def fetch(self, follower_log: Log, follower: Replica, leader_log: Log, leader: Replica) -> None:
        """One question and its answer."""
        assert follower.follower is not None
        assert leader.leader is not None
        request = follower.follower.request(0)
        if isinstance(request, AskEpochEnd):
            end = EpochEnd(*leader_log.epochs.end_offset_for(request.epoch, leader_log.log_end_offset))
            effects = follower.follower.epoch_end_answered(request, ErrorCode.NONE, end, 0)
            self.carry_out(follower_log, follower, effects)
            return
        assert isinstance(request, Fetch)
        diverging = diverging_epoch(
            leader_log, last_fetched_epoch=request.last_fetched_epoch, fetch_offset=request.fetch_offset
        )
        assert diverging is None
        leader.leader.follower_fetched(2, request.fetch_offset, 0)
        records = b"".join(batch for head, batch in heads_and_batches(leader_log) if head >= request.fetch_offset)
        answer = FetchAnswer(ErrorCode.NONE, leader.leader.high_watermark, leader_log.log_start_offset)
        effects = follower.follower.fetch_answered(request, answer, 0)
        self.carry_out(follower_log, follower, effects, records)

    def test_a_follower_cuts_and_catches_up(self) -> None:
        leader_log, follower_log = make_log("/leader"), make_log("/follower")
        for log in (leader_log, follower_log):
            append(log, batch_of("a", "b"), leader_epoch=0)
        append(follower_log, batch_of("c", "d"), batch_of("e"), leader_epoch=1)
        append(leader_log, batch_of("x"), leader_epoch=2)
        leader, follower = replica_of(leader_log), replica_of(follower_log, broker_id=2, high_watermark=1)
        self.carry_out(leader_log, leader, leader.decide(says(1, 3, 1), 0))
        self.carry_out(follower_log, follower, follower.decide(says(1, 3, 1), 0))
        append(leader_log, batch_of("y", "z"), leader_epoch=3)
        assert leader.leader is not None
        leader.leader.appended(leader_log.log_end_offset, 0)
        for _ in range(4):
            self.fetch(follower_log, follower, leader_log, leader)
        assert batches_in(follower_log) == batches_in(leader_log)
        assert follower_log.epochs.entries() == ((0, 0), (2, 2), (3, 3))
        assert (leader.high_watermark, follower.high_watermark) == (5, 5)

    def test_an_epoch_without_records_does_not_keep_them_talking(self) -> None:
        leader_log, follower_log = make_log("/leader"), make_log("/follower")
        for log in (leader_log, follower_log):
            append(log, batch_of("a"), leader_epoch=0)
        leader, follower = replica_of(leader_log), replica_of(follower_log, broker_id=2)
        self.carry_out(follower_log, follower, follower.decide(says(2, 1, 1), 0))
        self.carry_out(leader_log, leader, leader.decide(says(1, 2, 2), 0))
        self.carry_out(follower_log, follower, follower.decide(says(1, 2, 2), 0))
        for _ in range(3):
            self.fetch(follower_log, follower, leader_log, leader)
        assert (leader.high_watermark, follower.high_watermark) == (1, 1)


def heads_and_batches(log: Log) -> list[tuple[int, bytes]]:
    return [(int.from_bytes(batch[:8], "big"), bytes(batch)) for batch in batches_in(log)]
