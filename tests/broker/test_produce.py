"""Produce against a whole broker: what is appended, what is refused and how (SPEC P1, P2)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.broker.kafka_peer import framed_request
from tests.broker.running_broker import BrokerPeer, RunningBroker, batch_of

from strandline.model.failures import ErrorCode
from strandline.model.partitions import TopicPartition
from strandline.records.builder import build_batch
from strandline.records.compression import Codec
from strandline.records.record import Record
from strandline.wire.codec import encode
from strandline.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from strandline.wire.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from strandline.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from strandline.wire.versions import ApiKey


@pytest.fixture
def running(tmp_path: Path) -> Iterator[RunningBroker]:
    with RunningBroker(str(tmp_path)) as running:
        yield running


@pytest.fixture
def peer(running: RunningBroker) -> Iterator[BrokerPeer]:
    with running.peer() as peer:
        peer.create_topic("orders")
        yield peer


def log_end_offset(running: RunningBroker, topic: str = "orders") -> int:
    def ask() -> int:
        partition = running.broker.partitions.find(TopicPartition(topic, 0))
        assert partition is not None
        return partition.log.log_end_offset

    return running.call(ask)


def test_requests_sent_together_are_answered_in_order_with_their_offsets(peer: BrokerPeer) -> None:
    answers = peer.produce("orders", batch_of(b"a", b"b"), batch_of(b"c"), batch_of(b"d", b"e"), acks=-1)
    assert [(answer.error_code, answer.base_offset) for answer in answers] == [(0, 0), (0, 2), (0, 3)]


def test_requests_behind_one_that_waits_are_appended_when_it_is_answered(peer: BrokerPeer) -> None:
    """They wait in memory of their own, where their batches get their offsets as anywhere."""
    stream = framed_request(ApiKey.METADATA, 12, body=encode(MetadataRequest([MetadataRequestTopic(name="new")]), 12))
    for value in (b"a", b"b"):
        data = TopicProduceData("orders", partition_data=[PartitionProduceData(0, bytes(batch_of(value)))])
        stream += framed_request(ApiKey.PRODUCE, 9, body=encode(ProduceRequest(None, 1, 1000, [data]), 9))
    peer.send(stream)
    assert peer.hear(12, MetadataResponse).topics[0].error_code == 0
    answers = [peer.hear(9, ProduceResponse).responses[0].partition_responses[0] for _ in range(2)]
    assert [(answer.error_code, answer.base_offset) for answer in answers] == [(0, 0), (0, 1)]


def test_with_flush_messages_acks_all_means_on_the_disk(tmp_path: Path) -> None:
    """SPEC L9. acks=1 does not wait for it, and consumers do."""
    with RunningBroker(str(tmp_path), log_flush_interval_messages="1") as running, running.peer() as peer:
        peer.create_topic("ledger")
        log = running.broker.partitions.leader_of("ledger", 0).log
        for first in (0, 2, 4):
            answers = peer.produce("ledger", batch_of(b"a"), batch_of(b"b"), acks=-1)
            assert [answer.base_offset for answer in answers] == [first, first + 1]
            assert running.call(lambda: log.recovery_point) == first + 2
        assert peer.produce("ledger", batch_of(b"c"), acks=1)[0].base_offset == 6


@pytest.mark.parametrize("version", range(3, 13))
def test_every_version_appends(peer: BrokerPeer, version: int) -> None:
    (answer,) = peer.produce("orders", batch_of(b"a"), version=version)
    assert (answer.error_code, answer.base_offset) == (0, 0)


def test_version_13_names_topics_by_id(peer: BrokerPeer) -> None:
    topic_id = peer.create_topic("payments")
    for asked, expected in ((topic_id, ErrorCode.NONE), (b"x" * 16, ErrorCode.UNKNOWN_TOPIC_ID)):
        data = TopicProduceData("", asked, [PartitionProduceData(0, bytes(batch_of(b"a")))])
        answer = peer.ask(ProduceRequest(None, 1, 1000, [data]), 13, ProduceResponse)
        assert answer.responses[0].topic_id == asked
        assert answer.responses[0].partition_responses[0].error_code == expected


@pytest.mark.parametrize("cut_at", [1, 2, 3, 4, 20, 100])
def test_a_request_is_taken_wherever_the_receive_before_it_ended(peer: BrokerPeer, cut_at: int) -> None:
    topic = TopicProduceData("orders", partition_data=[PartitionProduceData(0, bytes(batch_of(b"a")))])
    frame = framed_request(0, 9, body=encode(ProduceRequest(None, 1, 5_000, [topic]), 9))
    peer.send(frame + frame[:cut_at])
    first = peer.hear(9, ProduceResponse)
    peer.send(frame[cut_at:])
    second = peer.hear(9, ProduceResponse)
    offsets = [answer.responses[0].partition_responses[0].base_offset for answer in (first, second)]
    assert offsets == [0, 1]


def test_a_batch_sent_twice_with_its_sequence_is_there_once(running: RunningBroker, peer: BrokerPeer) -> None:
    identity = peer.ask(InitProducerIdRequest(None, 60_000), 4, InitProducerIdResponse)
    batch = batch_of(b"a", producer_id=identity.producer_id, producer_epoch=0, base_sequence=0)
    first, again = peer.produce("orders", batch, batch, acks=-1)
    assert (first.base_offset, again.base_offset, again.error_code) == (0, 0, 0)
    assert log_end_offset(running) == 1


def test_a_gap_in_the_sequence_is_refused(peer: BrokerPeer) -> None:
    identity = peer.ask(InitProducerIdRequest(None, 60_000), 4, InitProducerIdResponse)
    ours = {"producer_id": identity.producer_id, "producer_epoch": 0}
    peer.produce("orders", batch_of(b"a", base_sequence=0, **ours))
    (answer,) = peer.produce("orders", batch_of(b"c", base_sequence=2, **ours))
    assert answer.error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_producer_ids_are_given_once_also_after_a_restart(tmp_path: Path) -> None:
    given = []
    for _ in range(2):
        with RunningBroker(str(tmp_path)) as running, running.peer() as peer:
            given += [peer.ask(InitProducerIdRequest(None, 1), 4, InitProducerIdResponse).producer_id for _ in range(3)]
    assert len(set(given)) == 6


def test_acks_0_has_no_answer_and_keeps_the_order(running: RunningBroker, peer: BrokerPeer) -> None:
    data = TopicProduceData("orders", partition_data=[PartitionProduceData(0, bytes(batch_of(b"a")))])
    peer.tell(ProduceRequest(None, 0, 1000, [data]), 9)
    (answer,) = peer.produce("orders", batch_of(b"b"))
    assert answer.base_offset == 1
    assert log_end_offset(running) == 2


def test_acks_0_that_fails_closes_the_connection(peer: BrokerPeer) -> None:
    data = TopicProduceData("nowhere", partition_data=[PartitionProduceData(0, bytes(batch_of(b"a")))])
    peer.tell(ProduceRequest(None, 0, 1000, [data]), 9)
    assert peer.is_closed_by_broker()


def test_a_damaged_batch_is_refused_and_its_neighbours_are_taken(running: RunningBroker, peer: BrokerPeer) -> None:
    damaged = batch_of(b"abc")
    damaged[-1] ^= 1
    answers = peer.produce("orders", batch_of(b"a"), damaged, batch_of(b"b"))
    assert [answer.error_code for answer in answers] == [0, ErrorCode.CORRUPT_MESSAGE, 0]
    assert [answer.base_offset for answer in answers] == [0, -1, 1]
    assert log_end_offset(running) == 2


@pytest.mark.parametrize(
    ("records", "error_code"),
    [
        (b"", ErrorCode.INVALID_RECORD),
        (b"short", ErrorCode.INVALID_RECORD),
        (bytes(batch_of(b"a") + batch_of(b"b")), ErrorCode.INVALID_RECORD),
        (bytes(batch_of(b"a")[:16] + b"\x01" + batch_of(b"a")[17:]), ErrorCode.INVALID_RECORD),
    ],
    ids=["nothing", "too short", "two batches", "old format"],
)
def test_what_is_not_one_batch_is_refused(peer: BrokerPeer, records: bytes, error_code: ErrorCode) -> None:
    (answer,) = peer.produce("orders", records)
    assert (answer.error_code, answer.base_offset) == (error_code, -1)


def test_zstd_needs_a_version_that_knows_it(peer: BrokerPeer) -> None:
    batch = build_batch([Record(0, 1_000, None, b"a" * 500)], codec=Codec.ZSTD)
    (old,) = peer.produce("orders", batch, version=6)
    (new,) = peer.produce("orders", batch, version=7)
    assert (old.error_code, new.error_code) == (ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, 0)


@pytest.mark.parametrize("acks", [-2, 2, 32767])
def test_acks_that_mean_nothing_are_refused(peer: BrokerPeer, acks: int) -> None:
    (answer,) = peer.produce("orders", batch_of(b"a"), acks=acks)
    assert answer.error_code == ErrorCode.INVALID_REQUIRED_ACKS


def test_unknown_topics_and_partitions_have_their_own_error_each(peer: BrokerPeer) -> None:
    topics = [
        TopicProduceData("nowhere", partition_data=[PartitionProduceData(0, bytes(batch_of(b"a")))]),
        TopicProduceData(
            "orders",
            partition_data=[
                PartitionProduceData(7, bytes(batch_of(b"a"))),
                PartitionProduceData(0, bytes(batch_of(b"a"))),
            ],
        ),
    ]
    answer = peer.ask(ProduceRequest(None, -1, 1000, topics), 9, ProduceResponse)
    errors = [partition.error_code for topic in answer.responses for partition in topic.partition_responses]
    assert errors == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, 0]


def test_no_more_replicas_need_to_be_in_sync_than_there_are(tmp_path: Path) -> None:
    with RunningBroker(str(tmp_path), min_insync_replicas="2") as running, running.peer() as peer:
        peer.create_topic("orders")
        (answer,) = peer.produce("orders", batch_of(b"a"), acks=-1)
    assert answer.error_code == ErrorCode.NONE


def test_what_was_appended_is_there_after_a_restart(tmp_path: Path) -> None:
    with RunningBroker(str(tmp_path)) as running, running.peer() as peer:
        topic_id = peer.create_topic("orders")
        peer.produce("orders", batch_of(b"a", b"b"))
    with RunningBroker(str(tmp_path)) as running, running.peer() as peer:
        assert peer.create_topic("orders") == topic_id
        (answer,) = peer.produce("orders", batch_of(b"c"))
        assert answer.base_offset == 2
