"""Somebody sets the clock on the wall, or a virtual machine wakes from a long sleep. Who waits, lags or tries again
does so by another clock (SPEC R1, R3): one that was an hour ahead and was set right stopped a follower for an hour."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.broker.manual_host import ManualHost
from tests.broker.partition_alone import BROKER_ID, FOLLOWER_ID, PartitionAlone
from tests.broker.running_broker import batch_of

from strandline.broker.configuration import Configuration
from strandline.broker.fetcher_settings import FetcherSettings
from strandline.broker.replica_fetcher import ReplicaFetcher
from strandline.broker.replication_quotas import ReplicationQuotas
from strandline.log.log_directory import LogDirectory
from strandline.log.recovery import open_log
from strandline.metadata.answer import Answer
from strandline.model.failures import ErrorCode
from strandline.model.partitions import TopicPartition
from strandline.model.settings import LogSettings
from strandline.replication.effects import AlterIsr
from strandline.replication.events import LeaderAndIsr
from strandline.replication.settings import ReplicationSettings
from strandline.simulation.disk import SimulatedDisk
from strandline.wire.messages.fetch import FetchableTopicResponse, FetchRequest, FetchResponse, PartitionData

NAME, TOPIC_ID = TopicPartition("orders", 0), bytes(range(16))
LEADER_ID = FOLLOWER_ID
REPLICAS = (BROKER_ID, FOLLOWER_ID)
HOUR_MS = 3_600_000
LAG_MS = ReplicationSettings().replica_lag_time_max_ms
leaps = st.integers(-HOUR_MS, HOUR_MS)


class Replica:
    """A partition of a broker whose clock may leap."""

    def __init__(self) -> None:
        self.host = ManualHost(1_000)
        log = open_log(SimulatedDisk(), f"/{NAME}", NAME, LogSettings(segment_index_bytes=1024), now_ms=0)
        self.partition = PartitionAlone(NAME, TOPIC_ID, log, elapsed_ms=self.host.elapsed_ms)
        self.fetches: list[FetchRequest] = []

    def lead(self) -> None:
        self.partition.decide(LeaderAndIsr(BROKER_ID, 0, REPLICAS, REPLICAS, 0), self.host.now_ms())

    def follow(self) -> None:
        self.partition.decide(LeaderAndIsr(LEADER_ID, 0, REPLICAS, REPLICAS, 0), self.host.now_ms())
        quotas = ReplicationQuotas(BROKER_ID, Configuration({}), self.host)
        fetcher = ReplicaFetcher(LEADER_ID, BROKER_ID, lambda: 1, self, FetcherSettings(), quotas, self.host)
        fetcher.follow(self.partition)
        self.host.pass_time(0)

    def ask(self, broker_id: int, request: Any, response: Any, **_: Any) -> Answer[Any]:
        """Of the fetcher's leader."""
        del broker_id, response
        self.fetches.append(request)
        self._answer = Answer[Any]()
        return self._answer

    def hang_up(self, broker_id: int, purpose: Any) -> None: ...

    def refuse(self, error_code: ErrorCode) -> None:
        data = PartitionData(0, error_code, -1, records=b"")
        topics = [FetchableTopicResponse(topic_id=TOPIC_ID, partitions=[data])]
        self._answer.deliver(FetchResponse(responses=topics))

    def append(self) -> None:
        self.partition.append([batch_of(b"late")], self.host.now_ms())

    def follower_fetches(self, offset: int) -> None:
        self.partition.follower_fetched(FOLLOWER_ID, offset, self.host.elapsed_ms(), 0, 1)

    @property
    def proposed(self) -> list[tuple[int, ...]]:
        return [effect.isr for effect in self.partition.nobody.effects if isinstance(effect, AlterIsr)]


@given(leaps, leaps)
def test_a_follower_that_was_refused_asks_again_after_the_backoff(before_ms: int, after_ms: int) -> None:
    """As a chaos run of 2026-11-19 had it: the clock was an hour ahead when a new leader did not know yet that it was
    one, then it was set right, and the follower was out of the ISR for good."""
    replica = Replica()
    replica.host.clock_leap_ms = before_ms
    replica.follow()
    replica.refuse(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    replica.host.clock_leap_ms = after_ms
    asked = len(replica.fetches)
    replica.host.pass_time(FetcherSettings().replica_fetch_backoff_ms)
    assert len(replica.fetches) == asked + 1
    assert replica.fetches[-1].topics, "it asks for the partition, and not for nothing"


@given(leaps)
def test_a_follower_that_has_fallen_behind_leaves_the_isr_in_its_time(leap_ms: int) -> None:
    """With the clock on the wall it would have stayed for an hour, and held up every acks=all."""
    replica = Replica()
    replica.lead()
    replica.append()
    replica.host.clock_leap_ms = leap_ms
    replica.host.pass_time(LAG_MS)
    replica.partition.check_followers()
    assert replica.proposed == [], "it has its time"
    replica.host.pass_time(1)
    replica.partition.check_followers()
    assert replica.proposed == [(BROKER_ID,)]


@given(leaps)
def test_a_follower_that_keeps_up_stays(leap_ms: int) -> None:
    """With the clock on the wall it would have been turned out by the first look after a leap."""
    replica = Replica()
    replica.lead()
    replica.append()
    replica.follower_fetches(1)
    replica.append()
    replica.host.clock_leap_ms = leap_ms
    replica.partition.check_followers()
    assert replica.proposed == []


def test_files_that_left_their_log_go_though_the_clock_was_set_back() -> None:
    """Also those that left it since: they would wait behind what left it while the clock was an hour ahead."""
    settings = LogSettings(segment_index_bytes=1024, file_delete_delay_ms=1_000)
    log = open_log(SimulatedDisk(), f"/{NAME}", NAME, settings, now_ms=0)
    for now_ms in (HOUR_MS, 0):
        log.append([batch_of(b"old")], leader_epoch=0, now_ms=now_ms)
        log.roll(now_ms)
        log.remove_segments([log.segments.first], now_ms=now_ms)
    assert log.deletions.remove_due(999) == 1, "the delay of the first is over, for it has not begun"
    assert log.deletions.remove_due(1_000) == 1


def test_folders_of_deleted_topics_go_though_the_clock_was_set_back() -> None:
    disk = SimulatedDisk()
    directory = LogDirectory.open(disk, "/data", lambda _: LogSettings(file_delete_delay_ms=1_000), now_ms=0)
    for number, now_ms in enumerate((HOUR_MS, 0)):
        directory.create(NAME, now_ms=now_ms)
        directory.remove(NAME, token=f"{number:032x}", now_ms=now_ms)
    directory.remove_due_files(999)
    assert [each.due_ms for each in directory.removals] == [1_000]
    directory.remove_due_files(1_000)
    assert not directory.removals


def test_records_in_memory_are_flushed_though_the_clock_was_set_back() -> None:
    """`flush.ms` bounds what a machine can lose (SPEC L9)."""
    log = open_log(SimulatedDisk(), f"/{NAME}", NAME, LogSettings(flush_ms=1_000), now_ms=HOUR_MS)
    log.append([batch_of(b"late")], leader_epoch=0, now_ms=HOUR_MS)
    assert not log.flush_is_due(HOUR_MS + 999)
    assert log.flush_is_due(2_000)
    log.flush(2_000)
    log.append([batch_of(b"later")], leader_epoch=0, now_ms=2_000)
    assert not log.flush_is_due(2_999)
