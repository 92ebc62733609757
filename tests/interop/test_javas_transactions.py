"""Kafka's Java clients of both series and its `kafka-transactions` tool against our broker (SPEC P3; KIP-98, 664, 890).

Those of 3.9 add partitions themselves and keep their epoch; those of 4.x have an epoch for each transaction.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.broker.transaction_peer import Pair, TransactionPeer
from tests.interop.kafka import Kafka
from tests.interop.tools import Tools

from strandline.testing import Broker

pytestmark = pytest.mark.interop

PROGRAM = str(Path(__file__).with_name("Transactions.java"))


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(process=True) as broker:
        yield broker


@pytest.fixture
def tools(kafka: Kafka, broker: Broker) -> Tools:
    return Tools(kafka, broker.bootstrap)


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    return re.sub(r"\W+", "-", request.node.name).strip("-")


def run(kafka: Kafka, verb: str, broker: Broker, *arguments: str) -> list[str]:
    done = kafka.run(PROGRAM, verb, broker.bootstrap, *arguments)
    assert done.exit_code == 0, done.stderr
    return done.stdout.splitlines()


def test_what_is_committed_is_read_and_what_is_aborted_is_not(kafka: Kafka, broker: Broker, topic: str) -> None:
    committed = run(kafka, "write", broker, topic, "30", "20")
    assert len(committed) == 20 * 20
    assert run(kafka, "read", broker, topic, "read_committed") == committed
    assert len(run(kafka, "read", broker, topic, "read_uncommitted")) == 30 * 20


def test_a_copy_with_its_offsets(kafka: Kafka, broker: Broker, topic: str) -> None:
    written = run(kafka, "write", broker, topic, "10", "50")
    (position,) = run(kafka, "copy", broker, topic, f"{topic}-copies", str(len(written)))
    assert int(position) >= len(written), "aborted records and markers lie between"
    assert run(kafka, "read", broker, f"{topic}-copies", "read_committed") == written


def test_the_second_producer_of_an_id_fences_the_first(kafka: Kafka, broker: Broker, topic: str) -> None:
    assert run(kafka, "fence", broker, topic) == ["fenced"]
    assert run(kafka, "read", broker, topic, "read_committed") == ["second"]


def test_the_epoch_of_a_transaction(kafka: Kafka, broker: Broker, topic: str) -> None:
    """KIP-890: raised by each transaction of a client that knows of it."""
    run(kafka, "write", broker, topic, "5", "1")
    host, _, port = broker.bootstrap.partition(":")
    with TransactionPeer((host, int(port))) as peer:
        assert peer.describe(topic).producer_epoch == (5 if kafka.series == "4.3" else 0)


def test_listing_and_describing(kafka: Kafka, broker: Broker, tools: Tools, topic: str) -> None:
    run(kafka, "open", broker, topic)
    listed = tools("kafka-transactions", "list")
    assert re.search(rf"{topic}\s+1\s+\d+\s+Ongoing", listed)
    described = tools("kafka-transactions", "describe", "--transactional-id", topic)
    assert re.search(rf"Ongoing\s.*{topic}-0", described)
    producers = tools("kafka-transactions", "describe-producers", "--topic", topic, "--partition", "0")
    assert re.search(r"^\d+\s+\d+\s+-1\s+0\s+\d+\s+0\s*$", producers, re.MULTILINE)


def test_a_hanging_transaction_is_found_and_aborted(kafka: Kafka, broker: Broker, tools: Tools, topic: str) -> None:
    """As a broker without verification leaves it: in the partition, and unknown to every coordinator."""
    enable = "transaction.partition.verification.enable"
    broker_config = ("--entity-type", "brokers", "--entity-name", "1", "--alter")
    tools("kafka-configs", *broker_config, "--add-config", f"{enable}=false")
    host, _, port = broker.bootstrap.partition(":")
    with TransactionPeer((host, int(port))) as peer:
        peer.create_topic(topic)
        assert peer.append("whoever", Pair(10**12 + int(kafka.series == "4.3"), 0), topic, 0, b"a") == 0
        tools("kafka-configs", *broker_config, "--delete-config", enable)
        found = tools("kafka-transactions", "find-hanging", "--topic", topic, "--max-transaction-timeout", "0")
        assert topic in found
        place = ("--topic", topic, "--partition", "0")
        tools("kafka-transactions", "abort", *place, "--start-offset", "0")
        assert peer.fetch(topic).last_stable_offset == 2
    assert run(kafka, "read", broker, topic, "read_committed") == []
