"""A follower appends what has come of an answer while the rest is under way, and the leader hears of it in its next
fetch and not before (SPEC R2)."""

from __future__ import annotations

import errno
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.broker.manual_host import ManualHost
from tests.broker.partition_alone import BROKER_ID, FOLLOWER_ID, PartitionAlone
from tests.broker.running_broker import batch_of

from strandline.broker.configuration import Configuration
from strandline.broker.fetcher_settings import FetcherSettings
from strandline.broker.peers import PeerFailed
from strandline.broker.replica_fetcher import FETCH_VERSION, ReplicaFetcher
from strandline.broker.replication_quotas import ReplicationQuotas
from strandline.client.connection import HearBegun
from strandline.log.recovery import open_log
from strandline.metadata.answer import Answer
from strandline.model.partitions import TopicPartition
from strandline.model.settings import LogSettings
from strandline.records.batch import set_place
from strandline.replication.events import LeaderAndIsr
from strandline.simulation.disk import SimulatedDisk
from strandline.wire.codec import encode
from strandline.wire.fetch_asking import decode_fetch_response
from strandline.wire.messages.fetch import FetchableTopicResponse, FetchRequest, FetchResponse, PartitionData

NAME, TOPIC_ID = TopicPartition("orders", 0), bytes(range(16))
LEADER_ID, LEADER_EPOCH, SESSION_ID = FOLLOWER_ID, 4, 7
COMMITTED = 3


def batches(first: int, end: int, leader_epoch: int = LEADER_EPOCH) -> bytes:
    """One record each, as the leader has them."""
    made = b""
    for offset in range(first, end):
        batch = batch_of(b"record %d" % offset * 10)
        set_place(batch, 0, offset, len(batch) - 12, leader_epoch)
        made += batch
    return made


class Leader:
    """What a follower asks it, and what it answers, in pieces."""

    def __init__(self) -> None:
        self.host = ManualHost(1_000)
        log = open_log(SimulatedDisk(), f"/{NAME}", NAME, LogSettings(segment_index_bytes=1024), now_ms=0)
        self.partition = PartitionAlone(NAME, TOPIC_ID, log)
        self.log = log
        self._decide(LEADER_EPOCH)
        quotas = ReplicationQuotas(BROKER_ID, Configuration({}), self.host)
        self._fetcher = ReplicaFetcher(LEADER_ID, BROKER_ID, lambda: 1, self, FetcherSettings(), quotas, self.host)
        self._fetcher.follow(self.partition)
        self.host.pass_time(0)
        self.answer(self.body(b""))  # which begins the session

    def _decide(self, leader_epoch: int) -> None:
        replicas = (LEADER_ID, BROKER_ID)
        self.partition.decide(LeaderAndIsr(LEADER_ID, leader_epoch, replicas, replicas, leader_epoch), 0)

    def another_epoch(self) -> None:
        self._decide(LEADER_EPOCH + 1)

    def ask(
        self, broker_id: int, request: Any, response: Any, *, hear_begun: HearBegun | None = None, **_: Any
    ) -> Answer[Any]:
        del broker_id, response
        if isinstance(request, FetchRequest):  # in a new epoch it first asks where the old one ended
            self.asked = request
        self._answer, self._hear_begun = Answer[Any](), hear_begun
        return self._answer

    def hang_up(self, broker_id: int, purpose: Any) -> None: ...

    @property
    def asked_offset(self) -> int | None:
        """None: as before."""
        offsets = [each.fetch_offset for topic in self.asked.topics for each in topic.partitions]
        return offsets[0] if offsets else None

    def body(self, records: bytes, high_watermark: int = COMMITTED) -> memoryview:
        data = PartitionData(0, 0, high_watermark, high_watermark, 0, records=records)
        topics = [FetchableTopicResponse(topic_id=TOPIC_ID, partitions=[data])]
        return memoryview(encode(FetchResponse(session_id=SESSION_ID, responses=topics), FETCH_VERSION))

    def begin(self, body: memoryview, length: int) -> None:
        assert self._hear_begun is not None
        self._hear_begun(body[:length])

    def answer(self, body: memoryview) -> None:
        self._answer.deliver(decode_fetch_response(FETCH_VERSION, body))

    def break_off(self) -> None:
        self._answer.deliver(PeerFailed("it went away"))
        self.host.pass_time(FetcherSettings().replica_fetch_backoff_ms)

    @property
    def bytes_in_log(self) -> bytes:
        active = self.log.segments.active
        return active.file.read(0, active.size_bytes)


def test_what_has_come_is_in_the_log_and_nobody_is_told() -> None:
    leader = Leader()
    asked = leader.asked
    records = batches(0, 10)
    body = leader.body(records)
    leader.begin(body, len(body) // 2)
    assert leader.log.log_end_offset == 4, "the fifth is cut short"
    assert leader.partition.high_watermark == 0
    assert leader.asked is asked
    leader.answer(body)
    assert (leader.log.log_end_offset, leader.partition.high_watermark) == (10, COMMITTED)
    assert leader.asked_offset == 10
    assert leader.bytes_in_log == records


@given(st.integers(0, 12), st.lists(st.integers(0, 2_000), max_size=6))
def test_pieces_make_the_same_log_as_the_whole(count: int, lengths: list[int]) -> None:
    records = batches(0, count) + batches(count, count + 1)[:50]  # a leader cuts the last one short
    in_pieces, whole = Leader(), Leader()
    body = whole.body(records)
    for length in sorted(lengths):
        in_pieces.begin(body, length)
    for leader in (in_pieces, whole):
        leader.answer(body)
    assert in_pieces.bytes_in_log == whole.bytes_in_log
    assert in_pieces.partition.high_watermark == whole.partition.high_watermark
    assert in_pieces.asked == whole.asked


def test_all_but_the_last_bytes_may_have_been_taken() -> None:
    """Then the answer brings nothing more, and yet the leader must hear how far its follower has come."""
    leader = Leader()
    body = leader.body(batches(0, 5))
    leader.begin(body, len(body) - 3)
    assert leader.log.log_end_offset == 5
    leader.answer(body)
    assert (leader.asked_offset, leader.partition.high_watermark) == (5, COMMITTED)


def test_an_answer_that_breaks_off_leaves_what_was_taken() -> None:
    leader = Leader()
    body = leader.body(batches(0, 10))
    leader.begin(body, len(body) // 2)
    leader.break_off()
    assert leader.asked_offset == 4
    leader.answer(leader.body(b""))
    leader.answer(leader.body(batches(4, 10)))
    assert leader.bytes_in_log == batches(0, 10)


def test_in_another_epoch_nothing_more_is_taken() -> None:
    """The leader of the new epoch may have other records there."""
    leader = Leader()
    body = leader.body(batches(0, 10))
    leader.begin(body, len(body) // 2)
    leader.another_epoch()
    end = leader.log.log_end_offset
    leader.begin(body, len(body) - 3)
    leader.answer(body)
    assert leader.log.log_end_offset <= end
    assert leader.partition.high_watermark == 0


@pytest.mark.parametrize("is_begun", [True, False])
def test_damage_is_found_and_what_comes_before_it_is_kept(is_begun: bool) -> None:
    leader = Leader()
    records = bytearray(batches(0, 4))
    records[len(batches(0, 3)) - 1] ^= 1  # in the third
    body = leader.body(bytes(records))
    if is_begun:
        leader.begin(body, len(body) - 3)
        assert leader.log.log_end_offset == 2
    leader.answer(body)
    leader.host.pass_time(FetcherSettings().replica_fetch_backoff_ms)
    assert leader.log.log_end_offset == 2
    assert leader.asked_offset == 2
    leader.answer(leader.body(batches(2, 4)))
    assert leader.bytes_in_log == batches(0, 4)


def test_an_error_that_comes_with_records_takes_none() -> None:
    leader = Leader()
    data = PartitionData(0, 6, COMMITTED, COMMITTED, 0, records=batches(0, 5))
    topics = [FetchableTopicResponse(topic_id=TOPIC_ID, partitions=[data])]
    body = memoryview(encode(FetchResponse(session_id=SESSION_ID, responses=topics), FETCH_VERSION))
    leader.begin(body, len(body) - 3)
    leader.answer(body)
    assert leader.log.log_end_offset == 0


def test_an_answer_about_several_partitions_waits_for_its_end() -> None:
    leader = Leader()
    data = [PartitionData(index, 0, COMMITTED, COMMITTED, 0, records=batches(0, 5)) for index in range(2)]
    topics = [FetchableTopicResponse(topic_id=TOPIC_ID, partitions=data)]
    body = memoryview(encode(FetchResponse(session_id=SESSION_ID, responses=topics), FETCH_VERSION))
    leader.begin(body, len(body) - 3)
    assert leader.log.log_end_offset == 0
    leader.answer(body)
    assert leader.log.log_end_offset == 5


def test_a_disk_that_fails_amid_an_answer_has_nothing_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The log counts a batch before it is written. Who asks for what comes after it says that it has it, and what its
    leader commits by that is on one machine less (seed 72000279 of the simulator, load of flushes)."""
    leader = Leader()
    body = leader.body(batches(0, 10))

    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(type(leader.log.segments.active), "append", fail)
    asked = leader.asked
    leader.begin(body, len(body) // 2)
    assert leader.log.failure is not None
    leader.answer(body)
    leader.host.pass_time(10_000)
    assert leader.asked is asked, "nothing more is asked for"
