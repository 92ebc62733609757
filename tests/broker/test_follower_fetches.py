"""Fetches of a follower with a session: what is looked at, what wakes it, what it is told (KIP-227, SPEC R2)."""

from __future__ import annotations

from itertools import count

import pytest
from tests.broker.kafka_peer import framed_request
from tests.broker.manual_host import ManualHost
from tests.broker.partition_alone import FOLLOWER_ID, PartitionAlone
from tests.broker.running_broker import batch_of

from strandline.broker.attention import LOOK_AT_ALL_MS
from strandline.broker.configuration import Configuration
from strandline.broker.connection import Connection, Part
from strandline.broker.dispatch import Dispatch
from strandline.broker.fetch_sessions import FetchSessions
from strandline.broker.handlers.fetch import FetchHandler
from strandline.broker.partitions import Partitions
from strandline.broker.replication_quotas import ReplicationQuotas
from strandline.log.log_slice import LogSlice
from strandline.log.recovery import open_log
from strandline.model.failures import ErrorCode
from strandline.model.partitions import TopicPartition
from strandline.model.settings import LogSettings
from strandline.simulation.disk import SimulatedDisk
from strandline.wire.codec import decode, encode
from strandline.wire.header import response_body
from strandline.wire.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ForgottenTopic,
    PartitionData,
    ReplicaState,
)
from strandline.wire.versions import ApiKey

NOW_MS = 1_700_000_000_000
TOPIC_ID = bytes(range(16))
VERSION, WAIT_MS = 17, 500
BROKER_EPOCH, LEADER_EPOCH = 2, 3
PARTITIONS = 4


class Leader:
    """Four partitions with one record each, of which the follower has all, and a connection from it."""

    def __init__(self) -> None:
        self.host = ManualHost(NOW_MS)
        self.all = Partitions()
        self.partitions = [self._partition(index) for index in range(PARTITIONS)]
        numbers = count(5)
        self.sessions = FetchSessions(10, lambda: next(numbers))
        quotas = ReplicationQuotas(1, Configuration({}), self.host)
        handler = FetchHandler(self.all, self.sessions, {FOLLOWER_ID: BROKER_EPOCH}, quotas, self.host, 2**20)
        self._dispatch = Dispatch({ApiKey.FETCH: handler})
        self.ends = [1] * PARTITIONS  # of the follower's logs
        self.connect()

    def _partition(self, index: int) -> PartitionAlone:
        name = TopicPartition("orders", index)
        log = open_log(SimulatedDisk(), f"/{name}", name, LogSettings(segment_index_bytes=1024), now_ms=NOW_MS)
        partition = PartitionAlone(name, TOPIC_ID, log)
        partition.lead(LEADER_EPOCH, replicas=(1, FOLLOWER_ID), now_ms=NOW_MS)
        partition.append([batch_of(b"first", timestamp=NOW_MS)], NOW_MS)
        self.all.add(partition)
        return partition

    def connect(self) -> None:
        self.connection = Connection(self._dispatch, lambda: None)
        self.session_id, self.session_epoch = 0, 0

    def write(self, index: int) -> None:
        self.partitions[index].append([batch_of(b"more", timestamp=NOW_MS)], NOW_MS)

    def ask(
        self, *named: int, forgotten: tuple[int, ...] = (), epoch: int = BROKER_EPOCH
    ) -> list[PartitionData] | None:
        """None if the fetch waits."""
        wanted = [FetchPartition(index, LEADER_EPOCH, self.ends[index], LEADER_EPOCH, 0, 2**20) for index in named]
        request = FetchRequest(
            replica_state=ReplicaState(FOLLOWER_ID, epoch),
            max_wait_ms=WAIT_MS,
            min_bytes=1,
            session_id=self.session_id,
            session_epoch=self.session_epoch,
            topics=[FetchTopic(topic_id=TOPIC_ID, partitions=wanted)],
            forgotten_topics_data=[ForgottenTopic(topic_id=TOPIC_ID, partitions=list(forgotten))],
        )
        frame = framed_request(ApiKey.FETCH, VERSION, body=encode(request, VERSION))
        return self._heard(self.connection.receive(memoryview(bytearray(frame))))

    def hear(self) -> list[PartitionData] | None:
        self.host.settle()
        return self._heard(self.connection.proceed())

    def _heard(self, parts: list[Part]) -> list[PartitionData] | None:
        if not parts:
            return None
        stream = b"".join(part.read() if isinstance(part, LogSlice) else bytes(part) for part in parts)  # type: ignore[arg-type]
        response = decode(FetchResponse, VERSION, response_body(ApiKey.FETCH, VERSION, memoryview(stream)[4:]))
        self.session_id, self.session_epoch = response.session_id, self.session_epoch + 1
        return [each for topic in response.responses for each in topic.partitions]

    def wait(self) -> list[PartitionData] | None:
        self.host.pass_time(WAIT_MS)
        return self.hear()


def indexes(answer: list[PartitionData] | None) -> list[int]:
    assert answer is not None
    return [each.partition_index for each in answer]


@pytest.fixture
def leader() -> Leader:
    """With a session in which everything was said."""
    leader = Leader()
    assert leader.ask(*range(PARTITIONS)) is None
    assert indexes(leader.wait()) == [0, 1, 2, 3]
    return leader


def wanted_by(leader: Leader) -> int:
    session = leader.sessions._sessions[leader.session_id]
    assert session.attention is not None
    return len(session.attention.wanted)


def test_quiet_partitions_are_not_looked_at(leader: Leader) -> None:
    assert leader.ask() is None
    assert leader.wait() == []
    assert wanted_by(leader) == 0
    leader.write(2)
    assert wanted_by(leader) == 1


def test_a_log_that_grows_wakes_the_fetch_once_in_a_turn(leader: Leader) -> None:
    assert leader.ask() is None
    leader.write(3)
    leader.write(1)
    turns = leader.host.turns
    answer = leader.hear()
    assert indexes(answer) == [3, 1]
    assert leader.host.turns == turns + 1


def test_what_was_written_between_two_fetches_is_answered_at_once(leader: Leader) -> None:
    leader.write(1)
    assert indexes(leader.ask()) == [1]


def test_rot_in_one_partition_stops_no_other(leader: Leader) -> None:
    log = leader.partitions[1].log
    position = log.size_bytes
    assert leader.ask() is None
    leader.write(1)
    leader.write(2)
    log.segments.active.file.write(position, bytes(20))
    answer = leader.hear() or []
    assert {each.partition_index: each.error_code for each in answer} == {1: ErrorCode.CORRUPT_MESSAGE, 2: 0}
    leader.ends[2] = 2
    assert leader.ask(2, forgotten=(1,)) is None, "the follower leaves it out until it tries again"


def test_a_high_watermark_that_moves_is_told_and_wakes_nobody(leader: Leader) -> None:
    leader.write(1)
    assert indexes(leader.ask()) == [1]
    leader.ends[1] = 2
    assert leader.ask(1) is None
    assert leader.partitions[1].high_watermark == 2
    assert leader.hear() is None
    (told,) = leader.wait() or []
    assert (told.partition_index, told.high_watermark, bytes(told.records or b"")) == (1, 2, b"")  # type: ignore[arg-type]
    assert leader.ask() is None
    assert leader.wait() == []


def test_a_log_start_that_deletion_moves_is_told(leader: Leader) -> None:
    """SPEC C4: DeleteRecords waits for the followers."""
    assert leader.ask() is None
    leader.partitions[2].advance_log_start(1)
    (told,) = leader.wait() or []
    assert (told.partition_index, told.log_start_offset) == (2, 1)


def test_a_log_start_that_retention_moves_is_told_within_a_second(leader: Leader) -> None:
    leader.partitions[2].log.advance_log_start(1, high_watermark=1)  # of which nobody tells
    leader.host.pass_time(LOOK_AT_ALL_MS)
    assert leader.ask() is None
    assert indexes(leader.wait()) == [2]


def test_records_that_were_not_taken_are_sent_again(leader: Leader) -> None:
    leader.write(0)
    assert indexes(leader.ask()) == [0]
    assert indexes(leader.ask()) == [0]


def test_a_follower_of_quiet_partitions_stays_caught_up(leader: Leader) -> None:
    """SPEC R3: or the next record would find it lagging, and it had to leave."""
    for _ in range(100):
        assert leader.ask() is None
        leader.wait()
    leader.write(0)
    partition = leader.partitions[0]
    partition.check_followers(leader.host.now_ms())
    assert partition.leader is not None
    assert partition.leader.effects == []
    assert partition.leader.pending is None


def test_another_epoch_of_the_follower_is_noted_everywhere(leader: Leader) -> None:
    """KIP-903: who has been restarted is another."""
    assert {each.error_code for each in leader.ask(epoch=9) or []} == {ErrorCode.NOT_LEADER_OR_FOLLOWER}
    assert wanted_by(leader) == PARTITIONS


def test_a_leader_that_resigns_wakes_the_fetch(leader: Leader) -> None:
    assert leader.ask() is None
    leader.partitions[1].stop()
    (told,) = leader.hear() or []
    assert (told.partition_index, told.error_code) == (1, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    assert indexes(leader.ask()) == [1]  # until the follower hears from the controller


def test_forgotten_partitions_are_not_watched_any_more(leader: Leader) -> None:
    before = [partition.watcher_count for partition in leader.partitions]
    assert leader.ask(forgotten=(0, 2)) is None
    assert [partition.watcher_count for partition in leader.partitions] == [0, before[1], 0, before[3]]
    leader.write(0)
    assert leader.hear() is None


def test_a_follower_that_comes_back_leaves_no_watch_behind(leader: Leader) -> None:
    before = [partition.watcher_count for partition in leader.partitions]
    for _ in range(5):
        leader.connection.close()
        leader.connect()
        assert leader.ask(*range(PARTITIONS)) is None
        leader.wait()
    assert [partition.watcher_count for partition in leader.partitions] == before


def test_a_follower_without_a_session_is_served_too() -> None:
    leader = Leader()
    leader.sessions._slots = 0
    assert leader.ask(0, 1) is None
    leader.write(1)
    assert sorted(indexes(leader.hear())) == [0, 1]
    assert leader.session_id == 0
    assert [partition.watcher_count for partition in leader.partitions] == [0] * PARTITIONS
