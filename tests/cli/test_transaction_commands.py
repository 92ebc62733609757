"""Transactions by the command line, on a real broker."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaException, Producer
from tests.broker.transaction_peer import Pair, TransactionPeer
from tests.cli.commands import Commands

WAIT_S = 20


@pytest.fixture
def producer(commands: Commands, topic: str) -> Producer:
    """With the topic's name for its id, and a transaction open in the topic."""
    producer = Producer({"bootstrap.servers": commands.address, "transactional.id": topic, "log_level": 0})
    producer.init_transactions(WAIT_S)
    producer.begin_transaction()
    producer.produce(topic, b"a")
    assert producer.flush(WAIT_S) == 0
    return producer


def test_an_open_transaction_is_listed_and_described(commands: Commands, topic: str, producer: Producer) -> None:
    (row,) = [row for row in commands.rows("transaction", "list") if row["transactional_id"] == topic]
    assert row["state"] == "Ongoing"
    assert topic in commands("transaction", "list", "--state", "Ongoing")
    assert topic not in commands("transaction", "list", "--state", "Empty")
    assert topic not in commands("transaction", "list", "--longer-than", "600000")
    (described,) = commands.rows("transaction", "describe", topic)
    assert (described["state"], described["partitions"]) == ("Ongoing", [f"{topic}-0"])
    assert described["producer_id"] == row["producer_id"]
    (shown,) = commands.rows("transaction", "producers", topic)
    assert (shown["producer_id"], shown["start_offset"]) == (row["producer_id"], 0)
    assert f"{topic}-0" in commands("transaction", "describe", topic)
    producer.commit_transaction(WAIT_S)
    assert commands.rows("transaction", "producers", topic)[0]["start_offset"] is None


def test_an_id_that_is_not_there(commands: Commands) -> None:
    assert "nobody" in commands.refused("transaction", "describe", "nobody")


def test_what_its_coordinator_knows_does_not_hang(commands: Commands, topic: str, producer: Producer) -> None:
    rows = commands.rows("transaction", "find-hanging", topic, "--max-transaction-timeout", "0")
    assert rows == []
    producer.abort_transaction(WAIT_S)


def test_a_hanging_transaction_is_found_and_aborted(commands: Commands, topic: str) -> None:
    """As an old broker without verification left them: in the partition, and unknown to every coordinator."""
    commands("config", "set", "1", "transaction.partition.verification.enable=false", "--entity", "broker")
    host, _, port = commands.address.partition(":")
    with TransactionPeer((host, int(port))) as peer:
        peer.create_topic(topic)
        assert peer.append("whoever", Pair(10**12, 0), topic, 0, b"a") == 0
        commands("produce", topic, stdin=b"b\n")
        assert peer.seen(topic) == []
        (row,) = commands.rows("transaction", "find-hanging", topic, "--max-transaction-timeout", "0")
        assert (row["producer_id"], row["start_offset"]) == (10**12, 0)
        assert commands.rows("transaction", "find-hanging", topic) == [], "it is too young to be sure"
        abort = ("transaction", "abort", topic, "-p", "0", "--start-offset", "0")
        assert commands.rows(*abort)[0]["status"] == "would be aborted"
        assert peer.seen(topic) == []
        assert commands.rows(*abort, "--execute")[0]["status"] == "aborted"
        assert peer.seen(topic) == [b"b"]
        assert "no transaction is open" in commands.refused(*abort, "--execute")
    commands("config", "unset", "1", "transaction.partition.verification.enable", "--entity", "broker")


def test_a_producer_is_fenced(commands: Commands, topic: str, producer: Producer) -> None:
    terminate = ("transaction", "force-terminate", topic)
    assert commands.rows(*terminate)[0]["status"] == "would be fenced"
    assert commands.rows(*terminate, "--execute")[0]["status"] == "fenced"
    with pytest.raises(KafkaException) as fenced:
        producer.commit_transaction(WAIT_S)
    assert fenced.value.args[0].fatal()
