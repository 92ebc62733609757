"""Transactional requests that make no sense, and what they are answered with (docs/bad-input.md)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.broker.running_broker import batch_of
from tests.broker.running_transactions import RunningTransactions
from tests.broker.transaction_peer import NO_PAIR, Pair, TransactionPeer, transactional_batch

from strandline.model.failures import ErrorCode
from strandline.wire.messages.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData


@pytest.fixture
def running(tmp_path: Path) -> Iterator[RunningTransactions]:
    with RunningTransactions(str(tmp_path), num_partitions="2") as running:
        yield running


@pytest.fixture
def peer(running: RunningTransactions) -> Iterator[TransactionPeer]:
    with running.producer() as peer:
        peer.create_topic("orders")
        yield peer


def test_init_producer_id(peer: TransactionPeer) -> None:
    """Row "InitProducerId with timeout > max / during prepare": 50 / 51."""
    peer.find_transaction_coordinator("t")
    for timeout_ms in (0, -1, 900_001):
        assert peer.init("t", timeout_ms=timeout_ms).error_code == ErrorCode.INVALID_TRANSACTION_TIMEOUT
    assert peer.init("t", Pair(5, -1)).error_code == ErrorCode.INVALID_REQUEST
    pair = peer.started("t")
    peer.added("t", pair, "orders")
    assert peer.init("t").error_code == ErrorCode.CONCURRENT_TRANSACTIONS
    assert peer.init("t" * 40_000).error_code in (ErrorCode.INVALID_REQUEST, ErrorCode.NOT_COORDINATOR)


def test_markers(running: RunningTransactions, peer: TransactionPeer) -> None:
    pair = peer.started("t")
    peer.added("t", pair, "orders")
    assert peer.append("t", pair, "orders", 0, b"a") == 0
    assert peer.write_marker(pair, "nowhere", commit=True) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert peer.write_marker(NO_PAIR, "orders", commit=True) == ErrorCode.INVALID_RECORD
    assert peer.write_marker(pair, "orders", commit=True, coordinator_epoch=9) == 0
    before = running.log_end_offset("orders")
    refused = peer.write_marker(pair, "orders", commit=True, coordinator_epoch=8)
    assert refused == ErrorCode.TRANSACTION_COORDINATOR_FENCED
    assert peer.write_marker(Pair(pair[0], -1), "orders", commit=True) == ErrorCode.INVALID_PRODUCER_EPOCH
    assert running.log_end_offset("orders") == before


def test_two_producers_in_one_request(running: RunningTransactions, peer: TransactionPeer) -> None:
    """CVE-2018-17196: what counts is what the batches say."""
    pair = peer.started("t")
    assert peer.add_partitions("t", pair, "orders") == [0]
    assert peer.add_partitions("t", pair, "orders", partition=1) == [0]
    stranger = Pair(10**9, 0)
    data = [
        PartitionProduceData(index, bytes(transactional_batch(who, 0, b"a")))
        for index, who in enumerate((pair, stranger))
    ]
    request = ProduceRequest("t", -1, 5_000, [TopicProduceData("orders", partition_data=data)])
    answer = peer.ask(request, 11, ProduceResponse)
    results = [each.error_code for each in answer.responses[0].partition_responses]
    assert results == [ErrorCode.NONE, ErrorCode.INVALID_PRODUCER_ID_MAPPING]
    assert running.log_end_offset("orders") == 1


def test_a_batch_outside_its_transaction(running: RunningTransactions, peer: TransactionPeer) -> None:
    """A producer that has a transaction open writes nothing past it."""
    pair = peer.started("t")
    peer.added("t", pair, "orders")
    assert peer.append("t", pair, "orders", 0, b"a") == 0
    batch = batch_of(b"b", producer_id=pair.producer_id, producer_epoch=pair.producer_epoch, base_sequence=1)
    (answer,) = peer.produce("orders", batch)
    assert answer.error_code == ErrorCode.INVALID_TXN_STATE
    assert running.log_end_offset("orders") == 1
