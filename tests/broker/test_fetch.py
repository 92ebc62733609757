"""Fetch against a whole broker: slices, limits, long polls, sessions (SPEC L6, P1; KIP-74, KIP-227)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.broker.running_broker import BrokerPeer, RunningBroker, batch_of

from strandline.model.failures import ErrorCode
from strandline.model.partitions import TopicPartition
from strandline.records.batch import split_batches
from strandline.records.record import read_records
from strandline.wire.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ForgottenTopic,
    PartitionData,
    ReplicaState,
)

MIB = 2**20


@pytest.fixture
def running(tmp_path: Path) -> Iterator[RunningBroker]:
    with RunningBroker(str(tmp_path)) as running:
        yield running


@pytest.fixture
def peer(running: RunningBroker) -> Iterator[BrokerPeer]:
    with running.peer() as peer:
        peer.create_topic("orders")
        yield peer


def wanted(offset: int = 0, *, partition: int = 0, bytes_max: int = MIB, epoch: int = -1) -> FetchPartition:
    return FetchPartition(partition, epoch, offset, -1, -1, bytes_max)


def request(*partitions: FetchPartition, topic: str = "orders", wait_ms: int = 0, min_bytes: int = 1) -> FetchRequest:
    topics = [FetchTopic(topic, partitions=list(partitions))] if partitions else []
    return FetchRequest(max_wait_ms=wait_ms, min_bytes=min_bytes, topics=topics)


def only(response: FetchResponse) -> PartitionData:
    (topic,) = response.responses
    (partition,) = topic.partitions
    return partition


def values(data: PartitionData) -> list[bytes | None]:
    assert isinstance(data.records, bytes | memoryview)
    return [record.value for batch in split_batches(data.records) for record in read_records(batch)]


@pytest.mark.parametrize("version", range(4, 13))
def test_every_version_reads_what_was_produced(peer: BrokerPeer, version: int) -> None:
    peer.produce("orders", batch_of(b"a", b"b"), batch_of(b"c"))
    found = only(peer.ask(request(wanted()), version, FetchResponse))
    assert (found.error_code, found.high_watermark, found.last_stable_offset) == (0, 3, 3)
    assert values(found) == [b"a", b"b", b"c"]


def test_topics_by_id(peer: BrokerPeer) -> None:
    topic_id = peer.create_topic("payments")
    peer.produce("payments", batch_of(b"a"))
    for asked, expected in ((topic_id, ErrorCode.NONE), (b"?" * 16, ErrorCode.UNKNOWN_TOPIC_ID)):
        topics = [FetchTopic(topic_id=asked, partitions=[wanted()])]
        assert only(peer.ask(FetchRequest(topics=topics), 17, FetchResponse)).error_code == expected


def test_a_read_begins_with_the_batch_that_holds_the_offset(peer: BrokerPeer) -> None:
    peer.produce("orders", batch_of(b"a"), batch_of(b"b", b"c"), batch_of(b"d"))
    assert values(only(peer.ask(request(wanted(2)), 11, FetchResponse))) == [b"b", b"c", b"d"]


def test_the_first_batch_comes_whole_whatever_the_limits(peer: BrokerPeer) -> None:
    peer.produce("orders", batch_of(b"x" * 1000), batch_of(b"y" * 1000))
    asked = request(wanted(bytes_max=10))
    asked.max_bytes = 10
    assert values(only(peer.ask(asked, 11, FetchResponse))) == [b"x" * 1000]


def test_the_limit_of_the_answer_is_shared_by_its_partitions(peer: BrokerPeer) -> None:
    peer.create_topic("payments")
    peer.produce("orders", batch_of(b"x" * 1000))
    peer.produce("payments", batch_of(b"y" * 1000))
    asked = request(wanted())
    asked.topics.append(FetchTopic("payments", partitions=[wanted()]))
    asked.max_bytes = 1200
    first, second = peer.ask(asked, 11, FetchResponse).responses
    assert values(first.partitions[0]) == [b"x" * 1000]
    assert (second.partitions[0].error_code, second.partitions[0].records) == (0, b"")


@pytest.mark.parametrize("offset", [-1, 2, 100])
def test_an_offset_out_of_range(peer: BrokerPeer, offset: int) -> None:
    peer.produce("orders", batch_of(b"a"))
    found = only(peer.ask(request(wanted(offset), wait_ms=60_000), 11, FetchResponse))
    assert (found.error_code, found.high_watermark) == (ErrorCode.OFFSET_OUT_OF_RANGE, -1)


def test_a_reader_with_another_leader_epoch_in_mind(peer: BrokerPeer) -> None:
    peer.produce("orders", batch_of(b"a"))
    newer = only(peer.ask(request(wanted(epoch=5)), 11, FetchResponse))
    same = only(peer.ask(request(wanted(epoch=0)), 11, FetchResponse))
    assert (newer.error_code, same.error_code) == (ErrorCode.UNKNOWN_LEADER_EPOCH, 0)


def test_a_broker_that_holds_no_replica_is_refused(peer: BrokerPeer) -> None:
    asked = request(wanted())
    asked.replica_id, asked.replica_state = 7, ReplicaState(7)
    assert only(peer.ask(asked, 11, FetchResponse)).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


# Long polls.


def waiting_on(running: RunningBroker) -> int:
    def count() -> int:
        partition = running.broker.partitions.find(TopicPartition("orders", 0))
        assert partition is not None
        return partition.watcher_count

    return running.call(count)


def until_waiting(running: RunningBroker, count: int = 1) -> None:
    while waiting_on(running) != count:
        pass


def test_a_long_poll_wakes_when_a_record_comes(running: RunningBroker, peer: BrokerPeer) -> None:
    with running.peer() as consumer:
        consumer.tell(request(wanted(), wait_ms=600_000), 11)
        until_waiting(running)
        peer.produce("orders", batch_of(b"a"))
        assert values(only(consumer.hear(11, FetchResponse))) == [b"a"]
    assert waiting_on(running) == 0


def test_a_long_poll_waits_for_as_many_bytes_as_it_wants(running: RunningBroker, peer: BrokerPeer) -> None:
    with running.peer() as consumer:
        consumer.tell(request(wanted(), wait_ms=600_000, min_bytes=1500), 11)
        until_waiting(running)
        peer.produce("orders", batch_of(b"x" * 1000))
        assert waiting_on(running) == 1
        peer.produce("orders", batch_of(b"y" * 1000))
        assert values(only(consumer.hear(11, FetchResponse))) == [b"x" * 1000, b"y" * 1000]


def test_a_long_poll_ends_with_what_there_is(running: RunningBroker, peer: BrokerPeer) -> None:
    found = only(peer.ask(request(wanted(), wait_ms=20), 11, FetchResponse))
    assert (found.error_code, found.records, found.high_watermark) == (0, b"", 0)
    assert waiting_on(running) == 0


def test_a_peer_that_goes_leaves_nothing_waiting(running: RunningBroker, peer: BrokerPeer) -> None:
    assert peer.create_topic("orders")
    with running.peer() as consumer:
        consumer.tell(request(wanted(), wait_ms=2**31 - 1), 11)
        until_waiting(running)
    until_waiting(running, 0)


# Sessions (KIP-227).


def in_session(session_id: int, epoch: int, *partitions: FetchPartition, wait_ms: int = 0) -> FetchRequest:
    asked = request(*partitions, wait_ms=wait_ms)
    asked.session_id, asked.session_epoch = session_id, epoch
    return asked


def begin_session(peer: BrokerPeer, *partitions: FetchPartition) -> int:
    response = peer.ask(in_session(0, 0, *partitions), 11, FetchResponse)
    assert response.session_id > 0
    assert response.error_code == 0
    return response.session_id


def test_an_incremental_answer_has_only_what_is_new(peer: BrokerPeer) -> None:
    session_id = begin_session(peer, wanted())
    assert peer.ask(in_session(session_id, 1), 11, FetchResponse).responses == []
    peer.produce("orders", batch_of(b"a"))
    assert values(only(peer.ask(in_session(session_id, 2), 11, FetchResponse))) == [b"a"]
    moved = peer.ask(in_session(session_id, 3, wanted(1)), 11, FetchResponse)
    assert moved.responses == []  # the high watermark of 1 was told with the record


def test_errors_in_a_session_are_told_each_time(peer: BrokerPeer) -> None:
    session_id = begin_session(peer, wanted(), wanted(partition=9))
    for epoch in (1, 2):
        found = only(peer.ask(in_session(session_id, epoch), 11, FetchResponse))
        assert (found.partition_index, found.error_code) == (9, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)


def test_forgotten_partitions_are_not_read_any_more(peer: BrokerPeer) -> None:
    session_id = begin_session(peer, wanted(), wanted(partition=9))
    asked = in_session(session_id, 1)
    asked.forgotten_topics_data = [ForgottenTopic("orders", partitions=[9])]
    assert peer.ask(asked, 11, FetchResponse).responses == []


def test_a_partition_that_is_forgotten_while_its_session_waits(running: RunningBroker, peer: BrokerPeer) -> None:
    """From another connection, which no client does: the poll that waits is answered all the same."""
    session_id = begin_session(peer, wanted())
    with running.peer() as waiting:
        waiting.tell(in_session(session_id, 1, wait_ms=600_000), 11)
        until_waiting(running)
        asked = in_session(session_id, 2)
        asked.forgotten_topics_data = [ForgottenTopic("orders", partitions=[0])]
        peer.ask(asked, 11, FetchResponse)
        peer.produce("orders", batch_of(b"a"))
        assert values(only(waiting.hear(11, FetchResponse))) == [b"a"]


def test_sessions_that_are_not_there_or_not_there_yet(peer: BrokerPeer) -> None:
    session_id = begin_session(peer, wanted())
    assert peer.ask(in_session(session_id, 5), 11, FetchResponse).error_code == ErrorCode.INVALID_FETCH_SESSION_EPOCH
    assert peer.ask(in_session(12345, 1), 11, FetchResponse).error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    by_id = FetchRequest(session_id=session_id, session_epoch=1)
    assert peer.ask(by_id, 13, FetchResponse).error_code == ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR


def test_a_session_is_closed_by_its_last_epoch(peer: BrokerPeer) -> None:
    session_id = begin_session(peer, wanted())
    assert peer.ask(in_session(session_id, -1, wanted()), 11, FetchResponse).session_id == 0
    assert peer.ask(in_session(session_id, 1), 11, FetchResponse).error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_without_room_for_a_session_there_is_an_answer_without_one(tmp_path: Path) -> None:
    setting = {"max_incremental_fetch_session_cache_slots": "1"}
    with RunningBroker(str(tmp_path), **setting) as running, running.peer() as peer:
        peer.create_topic("orders")
        begin_session(peer, wanted())
        response = peer.ask(in_session(0, 0, wanted()), 11, FetchResponse)
        assert (response.session_id, response.error_code) == (0, 0)
        assert only(response).error_code == 0
