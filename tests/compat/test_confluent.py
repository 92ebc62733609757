"""confluent-kafka (librdkafka): records in every shape, read back by assignment and by time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition

WAIT_S = 20
CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]
MakeConsumer = Callable[..., Consumer]


def produce(producer: Producer, topic: str, values: list[bytes], **fields: Any) -> list[Message]:
    delivered: list[Message] = []
    failed: list[KafkaError] = []

    def heard(error: KafkaError | None, message: Message) -> None:
        if error is None:
            delivered.append(message)
        else:
            failed.append(error)

    for value in values:
        producer.produce(topic, value, on_delivery=heard, **fields)
    assert producer.flush(WAIT_S) == 0
    assert failed == []
    return delivered


def read(consumer: Consumer, number: int) -> list[Message]:
    messages: list[Message] = []
    while len(messages) < number:
        found = consumer.consume(number - len(messages), WAIT_S)
        assert found, f"{len(messages)} of {number} came"
        assert [message.error() for message in found if message.error()] == []
        messages += found
    return messages


@pytest.fixture
def consumer(bootstrap: str) -> Iterator[Consumer]:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "readers", "enable.auto.commit": False})
    yield consumer
    consumer.close()


@pytest.mark.parametrize("codec", CODECS)
def test_every_codec(bootstrap: str, topic: str, consumer: Consumer, codec: str) -> None:
    values = [f"value {number}".encode() * 20 for number in range(300)]
    producer = Producer({"bootstrap.servers": bootstrap, "compression.type": codec, "linger.ms": 20})
    produce(producer, topic, values)
    consumer.assign([TopicPartition(topic, 0, 0)])
    assert [message.value() for message in read(consumer, 300)] == values


@pytest.mark.parametrize("acks", ["0", "1", "all"])
def test_every_kind_of_acknowledgement(bootstrap: str, topic: str, consumer: Consumer, acks: str) -> None:
    produce(Producer({"bootstrap.servers": bootstrap, "acks": acks}), topic, [b"a", b"b", b"c"])
    consumer.assign([TopicPartition(topic, 0, 0)])
    assert [message.value() for message in read(consumer, 3)] == [b"a", b"b", b"c"]


def test_keys_headers_timestamps_and_tombstones(bootstrap: str, topic: str, consumer: Consumer) -> None:
    producer = Producer({"bootstrap.servers": bootstrap})
    headers: list[tuple[str, str | bytes | None]] = [("trace", b"1"), ("trace", b"2"), ("nothing", None)]
    producer.produce(topic, b"v", b"k", timestamp=1_700_000_000_123, headers=headers)
    producer.produce(topic, None, b"k")
    assert producer.flush(WAIT_S) == 0
    consumer.assign([TopicPartition(topic, 0, 0)])
    first, tombstone = read(consumer, 2)
    assert (first.key(), first.value(), first.timestamp()[1]) == (b"k", b"v", 1_700_000_000_123)
    assert first.headers() == headers
    assert (tombstone.key(), tombstone.value()) == (b"k", None)


def test_an_idempotent_producer_keeps_order(bootstrap: str, topic: str, consumer: Consumer) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True, "batch.num.messages": 7})
    values = [str(number).encode() for number in range(5_000)]
    delivered = produce(producer, topic, values)
    assert [message.offset() for message in delivered] == list(range(5_000))
    consumer.assign([TopicPartition(topic, 0, 0)])
    assert [message.value() for message in read(consumer, 5_000)] == values


def test_offsets_and_seeking_by_time(bootstrap: str, topic: str, consumer: Consumer) -> None:
    producer = Producer({"bootstrap.servers": bootstrap})
    for number in range(10):
        producer.produce(topic, str(number).encode(), timestamp=1_700_000_000_000 + number * 1_000)
    assert producer.flush(WAIT_S) == 0
    assert consumer.get_watermark_offsets(TopicPartition(topic, 0), WAIT_S) == (0, 10)
    (found,) = consumer.offsets_for_times([TopicPartition(topic, 0, 1_700_000_006_500)], WAIT_S)
    assert found.offset == 7
    consumer.assign([found])
    assert [message.value() for message in read(consumer, 3)] == [b"7", b"8", b"9"]
    consumer.seek(TopicPartition(topic, 0, 2))
    assert read(consumer, 1)[0].value() == b"2"


def test_a_batch_of_a_megabyte_and_one_that_is_too_large(bootstrap: str, topic: str, consumer: Consumer) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "message.max.bytes": 3_000_000})
    produce(producer, topic, [b"x" * 1_000_000])
    refused: list[KafkaError | None] = []
    producer.produce(topic, b"x" * 2_000_000, on_delivery=lambda error, _: refused.append(error))
    assert producer.flush(WAIT_S) == 0
    assert refused[0] is not None
    assert refused[0].code() == KafkaError.MSG_SIZE_TOO_LARGE
    consumer.assign([TopicPartition(topic, 0, 0)])
    assert read(consumer, 1)[0].value() == b"x" * 1_000_000


def test_metadata_names_the_address_that_works(bootstrap: str, consumer: Consumer) -> None:
    metadata = consumer.list_topics(timeout=WAIT_S)
    (broker,) = metadata.brokers.values()
    assert f"{broker.host}:{broker.port}" == bootstrap.replace("localhost", "127.0.0.1")
    assert metadata.controller_id == broker.id
