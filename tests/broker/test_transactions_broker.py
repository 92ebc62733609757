"""Transactions against a whole broker: what is committed is seen, all of it; what is aborted is not (SPEC P3)."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.broker.running_transactions import RunningTransactions
from tests.broker.transaction_peer import Pair, TransactionPeer, transactional_batch

from strandline.log import lookup
from strandline.model.failures import ErrorCode
from strandline.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse
from strandline.wire.messages.list_transactions import ListTransactionsRequest, ListTransactionsResponse
from strandline.wire.messages.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData


@pytest.fixture
def running(tmp_path: Path) -> Iterator[RunningTransactions]:
    with RunningTransactions(str(tmp_path)) as running:
        yield running


@pytest.fixture
def peer(running: RunningTransactions) -> Iterator[TransactionPeer]:
    with running.producer() as peer:
        peer.create_topic("orders")
        peer.create_topic("invoices")
        yield peer


def test_nothing_is_seen_before_the_commit(running: RunningTransactions, peer: TransactionPeer) -> None:
    pair = peer.started("t")
    peer.added("t", pair, "orders", "invoices")
    assert peer.append("t", pair, "orders", 0, b"a", b"b") == 0
    assert peer.append("t", pair, "invoices", 0, b"c") == 0
    assert (peer.seen("orders"), peer.seen("invoices")) == ([], [])
    assert (peer.uncommitted("orders"), peer.uncommitted("invoices")) == ([b"a", b"b"], [b"c"])
    assert (peer.end_offset("orders"), peer.end_offset("orders", isolation=0)) == (0, 2)
    assert peer.end("t", pair, commit=True).error_code == 0
    running.wait_until_stable("orders")
    running.wait_until_stable("invoices")
    assert (peer.seen("orders"), peer.seen("invoices")) == ([b"a", b"b"], [b"c"])
    assert (peer.end_offset("orders"), peer.end_offset("orders", isolation=0)) == (3, 3), "the marker has an offset"


def test_an_abort_is_seen_by_those_who_read_everything(running: RunningTransactions, peer: TransactionPeer) -> None:
    """RP#6630: read_uncommitted shows what was aborted too."""
    pair = peer.started("t")
    peer.transact("t", pair, "orders", 0, b"a")
    peer.added("t", pair, "orders")
    assert peer.append("t", pair, "orders", 1, b"b") == 0
    assert peer.end("t", pair, commit=False).error_code == 0
    peer.transact("t", pair, "orders", 2, b"c")
    running.wait_until_stable("orders")
    assert peer.seen("orders") == [b"a", b"c"]
    assert peer.uncommitted("orders") == [b"a", b"b", b"c"]


def test_readers_stop_at_the_oldest_open_transaction(running: RunningTransactions, peer: TransactionPeer) -> None:
    first, second = peer.started("first"), peer.started("second")
    peer.added("first", first, "orders")
    peer.added("second", second, "orders")
    assert peer.append("first", first, "orders", 0, b"a") == 0
    assert peer.append("second", second, "orders", 0, b"b") == 0
    peer.produce("orders", b"")  # an empty one is refused and changes nothing
    assert peer.end("second", second, commit=True).error_code == 0
    running.wait_until(lambda: running.partition_in_loop("orders").high_watermark == 3)
    assert peer.fetch("orders").last_stable_offset == 0
    assert peer.seen("orders") == []
    assert peer.end("first", first, commit=False).error_code == 0
    running.wait_until_stable("orders")
    assert peer.seen("orders") == [b"b"]


def test_a_long_poll_of_committed_records_ends_with_the_transaction_and_tells_what_was_aborted(
    running: RunningTransactions, peer: TransactionPeer
) -> None:
    """KAFKA-5376: the list of aborted transactions was missing in answers that had waited."""
    pair = peer.started("t")
    peer.added("t", pair, "orders")
    assert peer.append("t", pair, "orders", 0, b"a") == 0
    with running.producer() as reader:
        reader.tell_fetch("orders", wait_ms=10_000)
        assert peer.end("t", pair, commit=False).error_code == 0
        data = reader.hear_fetched()
    assert [(each.producer_id, each.first_offset) for each in data.aborted_transactions or []] == [(pair[0], 0)]
    assert data.last_stable_offset == data.high_watermark == 2


def test_an_empty_transaction_can_be_ended_only_with_an_epoch_for_each(peer: TransactionPeer) -> None:
    pair = peer.started("t")
    assert peer.end("t", pair, commit=True).error_code == ErrorCode.INVALID_TXN_STATE
    assert peer.end("t", pair, commit=False).error_code == ErrorCode.INVALID_TXN_STATE
    assert peer.end("t", pair, commit=True, version=5).error_code == ErrorCode.INVALID_TXN_STATE
    answer = peer.end("t", pair, commit=False, version=5)
    assert (answer.error_code, answer.producer_epoch) == (0, pair.producer_epoch + 1)


def test_who_comes_for_an_id_aborts_what_was_open(running: RunningTransactions, peer: TransactionPeer) -> None:
    old = peer.started("t")
    peer.added("t", old, "orders")
    assert peer.append("t", old, "orders", 0, b"a") == 0
    new = peer.started("t")
    assert new.producer_epoch > old.producer_epoch
    running.wait_until_stable("orders")
    assert peer.seen("orders") == []
    peer.transact("t", new, "orders", 0, b"b")
    running.wait_until_stable("orders")
    assert peer.seen("orders") == [b"b"]


def test_topics_that_are_not_there(peer: TransactionPeer) -> None:
    """Nothing is added where one of them cannot be, and internal topics are not the client's."""
    pair = peer.started("t")
    assert peer.add_partitions("t", pair, "orders", "nowhere") == [
        ErrorCode.OPERATION_NOT_ATTEMPTED,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ]
    assert peer.add_partitions("t", pair, "__consumer_offsets") == [ErrorCode.TOPIC_AUTHORIZATION_FAILED]
    assert peer.describe("t").transaction_state == "Empty"


@pytest.mark.parametrize("version", range(12, 14))
def test_a_client_with_an_epoch_for_each_transaction_adds_nothing_itself(
    running: RunningTransactions, peer: TransactionPeer, version: int
) -> None:
    """KIP-890: Produce from version 12 on adds the partition; EndTxn 5 gives the next epoch."""
    topic_id = peer.create_topic("orders")
    pair = peer.started("t")
    for number in range(5):
        value = str(number).encode()
        assert _append(peer, pair, topic_id, value, version) == 0
        answer = peer.end("t", pair, commit=number % 2 == 0, version=5)
        assert answer.error_code == 0
        assert answer.producer_epoch == pair.producer_epoch + 1
        pair = Pair(answer.producer_id, answer.producer_epoch)
    running.wait_until_stable("orders")
    assert peer.seen("orders") == [b"0", b"2", b"4"]


def _append(peer: TransactionPeer, pair: Pair, topic_id: bytes, value: bytes, version: int) -> int:
    """With topic ids from version 13 on. The next transaction may begin while the markers of the last are written."""
    while True:
        data = [PartitionProduceData(0, bytes(transactional_batch(pair, 0, value)))]
        topic = TopicProduceData("orders", topic_id, data)
        answer = peer.ask(ProduceRequest("t", -1, 5_000, [topic]), version, ProduceResponse)
        error_code = answer.responses[0].partition_responses[0].error_code
        if error_code != ErrorCode.CONCURRENT_TRANSACTIONS:
            return error_code


def test_listing_and_describing(peer: TransactionPeer) -> None:
    pair = peer.started("open")
    peer.started("idle")
    peer.added("open", pair, "orders")
    answer = peer.ask(ListTransactionsRequest(["Ongoing", "Nonsense"]), 1, ListTransactionsResponse)
    assert [(each.transactional_id, each.transaction_state) for each in answer.transaction_states] == [
        ("open", "Ongoing")
    ]
    assert answer.unknown_state_filters == ["Nonsense"]
    answer = peer.ask(ListTransactionsRequest(), 0, ListTransactionsResponse)
    assert {each.transactional_id for each in answer.transaction_states} == {"open", "idle"}
    described = peer.describe("open")
    assert (described.transaction_state, described.producer_id) == ("Ongoing", pair.producer_id)
    assert [(topic.topic, topic.partitions) for topic in described.topics] == [("orders", [0])]
    assert peer.describe("nobody").error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
    assert peer.describe("").error_code == ErrorCode.INVALID_REQUEST


def test_a_transaction_ends_though_its_topic_is_deleted(running: RunningTransactions, peer: TransactionPeer) -> None:
    pair = peer.started("t")
    peer.added("t", pair, "orders", "invoices")
    assert peer.append("t", pair, "orders", 0, b"a") == 0
    assert peer.append("t", pair, "invoices", 0, b"b") == 0
    peer.ask(DeleteTopicsRequest(topic_names=["invoices"], timeout_ms=5_000), 5, DeleteTopicsResponse)
    assert peer.end("t", pair, commit=True).error_code == 0
    peer.transact("t", pair, "orders", 1, b"c")
    running.wait_until_stable("orders")
    assert peer.seen("orders") == [b"a", b"c"]


def test_committed_records_are_read_right_after_a_restart(tmp_path: Path) -> None:
    """What is below the high watermark is stable, though nothing moves that mark any more."""
    with RunningTransactions(str(tmp_path)) as running, running.producer() as peer:
        peer.create_topic("orders")
        pair = peer.started("t")
        for sequence in range(3):
            peer.transact("t", pair, "orders", sequence, b"a")
        running.wait_until_stable("orders")
    with RunningTransactions(str(tmp_path)) as running, running.producer() as peer:
        assert peer.seen("orders") == [b"a"] * 3
        assert peer.fetch("orders").last_stable_offset == 6


def test_readers_are_told_that_the_disk_failed(
    running: RunningTransactions, peer: TransactionPeer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The records can be read, and what was aborted among them cannot: nothing is shown (SPEC L10)."""

    def fail(*_: object) -> int:
        raise OSError(errno.EIO, "as if")

    peer.transact("t", peer.started("t"), "orders", 0, b"a")
    running.wait_until_stable("orders")
    monkeypatch.setattr(lookup, "aborted_transactions_in", fail)
    assert peer.fetch("orders").error_code == ErrorCode.KAFKA_STORAGE_ERROR


def test_the_finalized_feature_is_there(peer: TransactionPeer) -> None:
    answer = peer.ask_api_versions(3)
    assert [(each.name, each.max_version_level) for each in answer.finalized_features] == [("transaction.version", 2)]
    assert answer.finalized_features_epoch >= 0
