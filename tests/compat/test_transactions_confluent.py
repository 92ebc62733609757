"""confluent-kafka (librdkafka): transactions, readers of committed records, offsets within transactions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

WAIT_S = 20


def producer_of(bootstrap: str, transactional_id: str, **settings: Any) -> Producer:
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": transactional_id, **settings})
    producer.init_transactions(WAIT_S)
    return producer


def write(producer: Producer, topic: str, values: list[bytes]) -> None:
    for value in values:
        producer.produce(topic, value)
    assert producer.flush(WAIT_S) == 0


def read(consumer: Consumer, number: int) -> list[bytes | None]:
    messages: list[Message] = []
    while len(messages) < number:
        found = consumer.consume(number - len(messages), WAIT_S)
        assert found, f"{len(messages)} of {number} came"
        messages += found
        messages = [message for message in messages if message.error() is None]  # an end is one too
    return [message.value() for message in messages]


@pytest.fixture
def consumer(bootstrap: str, topic: str) -> Iterator[Consumer]:
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": f"{topic}-readers",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
        }
    )
    yield consumer
    consumer.close()


def everything(consumer: Consumer, topic: str) -> list[bytes | None]:
    """Up to where it may read."""
    consumer.assign([TopicPartition(topic, 0, 0)])
    values: list[bytes | None] = []
    while True:
        message = consumer.poll(WAIT_S)
        assert message is not None
        error = message.error()
        if error is not None:
            assert error.code() == KafkaError._PARTITION_EOF
            return values
        values.append(message.value())


def test_what_is_committed_is_read_and_what_is_aborted_is_not(bootstrap: str, topic: str, consumer: Consumer) -> None:
    producer = producer_of(bootstrap, topic)
    expected: list[bytes] = []
    for number in range(20):
        values = [f"{number}-{index}".encode() for index in range(25)]
        producer.begin_transaction()
        write(producer, topic, values)
        if number % 3:
            producer.commit_transaction(WAIT_S)
            expected += values
        else:
            producer.abort_transaction(WAIT_S)
    assert everything(consumer, topic) == expected


def test_a_reader_stops_before_an_open_transaction(bootstrap: str, topic: str, consumer: Consumer) -> None:
    producer = producer_of(bootstrap, topic)
    producer.begin_transaction()
    write(producer, topic, [b"a"])
    assert everything(consumer, topic) == []
    assert consumer.get_watermark_offsets(TopicPartition(topic, 0), WAIT_S) == (0, 0)
    producer.commit_transaction(WAIT_S)
    consumer.assign([TopicPartition(topic, 0, 0)])
    assert consumer.consume(1, WAIT_S)[0].value() == b"a"


def test_the_second_producer_of_an_id_fences_the_first(bootstrap: str, topic: str, consumer: Consumer) -> None:
    first = producer_of(bootstrap, topic)
    first.begin_transaction()
    write(first, topic, [b"first"])
    second = producer_of(bootstrap, topic)
    with pytest.raises(KafkaException) as fenced:
        first.commit_transaction(WAIT_S)
    assert fenced.value.args[0].fatal()
    second.begin_transaction()
    write(second, topic, [b"second"])
    second.commit_transaction(WAIT_S)
    assert everything(consumer, topic) == [b"second"]


def test_offsets_go_with_the_transaction(bootstrap: str, topic: str, consumer: Consumer) -> None:
    target = f"{topic}-copies"
    plain = Producer({"bootstrap.servers": bootstrap})
    write(plain, topic, [b"to be copied"])
    producer = producer_of(bootstrap, topic)
    for offset, commits in [(5, True), (9, False)]:
        producer.begin_transaction()
        write(producer, target, [str(offset).encode()])
        offsets = [TopicPartition(topic, 0, offset)]
        producer.send_offsets_to_transaction(offsets, consumer.consumer_group_metadata(), WAIT_S)
        producer.commit_transaction(WAIT_S) if commits else producer.abort_transaction(WAIT_S)
    (committed,) = consumer.committed([TopicPartition(topic, 0)], WAIT_S)
    assert committed.offset == 5
    assert everything(consumer, target) == [b"5"]


def test_a_transaction_that_takes_too_long_is_aborted(bootstrap: str, topic: str, consumer: Consumer) -> None:
    producer = producer_of(bootstrap, topic, **{"transaction.timeout.ms": 1_000, "message.timeout.ms": 1_000})
    producer.begin_transaction()
    write(producer, topic, [b"late"])
    other = producer_of(bootstrap, f"{topic}-other")
    other.begin_transaction()
    write(other, topic, [b"after"])
    other.commit_transaction(WAIT_S)
    consumer.assign([TopicPartition(topic, 0, 0)])
    assert read(consumer, 1) == [b"after"], "which the open transaction had held up"
    with pytest.raises(KafkaException):
        producer.commit_transaction(WAIT_S)


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_every_codec_over_many_partitions(bootstrap: str, topic: str, consumer: Consumer, codec: str) -> None:
    producer = producer_of(bootstrap, topic, **{"compression.type": codec, "linger.ms": 5})
    topics = [f"{topic}-{number}" for number in range(4)]
    for commits in (True, False, True):
        producer.begin_transaction()
        for each in topics:
            for number in range(50):
                producer.produce(each, f"{commits} {number}".encode() * 10)
        # librdkafka aborts without a flush what the coordinator has not heard of yet, and is told that it is nothing.
        assert producer.flush(WAIT_S) == 0
        producer.commit_transaction(WAIT_S) if commits else producer.abort_transaction(WAIT_S)
    expected = [f"True {number}".encode() * 10 for number in range(50)] * 2
    for each in topics:
        assert everything(consumer, each) == expected
