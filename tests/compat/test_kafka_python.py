"""kafka-python 3: records in every shape, read back by assignment and by time."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from kafka import KafkaConsumer, KafkaProducer, TopicPartition

WAIT_S = 20


@pytest.fixture
def consumer(bootstrap: str) -> Iterator[KafkaConsumer]:
    consumer = KafkaConsumer(bootstrap_servers=bootstrap, consumer_timeout_ms=WAIT_S * 1000)
    yield consumer
    consumer.close()


def read_from_start(consumer: KafkaConsumer, topic: str, number: int) -> list[bytes]:
    partition = TopicPartition(topic, 0)
    consumer.assign([partition])
    consumer.seek_to_beginning(partition)
    return [next(consumer).value for _ in range(number)]


@pytest.mark.parametrize("codec", [None, "gzip", "snappy", "lz4", "zstd"])
def test_every_codec(bootstrap: str, topic: str, consumer: KafkaConsumer, codec: str | None) -> None:
    producer = KafkaProducer(bootstrap_servers=bootstrap, compression_type=codec, linger_ms=20)
    values = [f"value {number}".encode() * 20 for number in range(200)]
    for value in values:
        producer.send(topic, value)
    producer.flush(WAIT_S)
    producer.close()
    assert read_from_start(consumer, topic, 200) == values


@pytest.mark.parametrize("acks", [0, 1, "all"])
def test_every_kind_of_acknowledgement(bootstrap: str, topic: str, consumer: KafkaConsumer, acks: int | str) -> None:
    producer = KafkaProducer(bootstrap_servers=bootstrap, acks=acks, enable_idempotence=False)
    for value in (b"a", b"b"):
        producer.send(topic, value)
    producer.flush(WAIT_S)
    producer.close()
    assert read_from_start(consumer, topic, 2) == [b"a", b"b"]


def test_keys_headers_and_timestamps(bootstrap: str, topic: str, consumer: KafkaConsumer) -> None:
    producer = KafkaProducer(bootstrap_servers=bootstrap)
    sent = producer.send(topic, b"v", b"k", headers=[("trace", b"1")], timestamp_ms=1_700_000_000_123).get(WAIT_S)
    producer.close()
    assert sent.offset == 0
    consumer.assign([TopicPartition(topic, 0)])
    consumer.seek(TopicPartition(topic, 0), 0)
    record = next(consumer)
    assert (record.key, record.value, record.timestamp) == (b"k", b"v", 1_700_000_000_123)
    assert [tuple(header) for header in record.headers] == [("trace", b"1")]


def test_offsets_by_time(bootstrap: str, topic: str, consumer: KafkaConsumer) -> None:
    producer = KafkaProducer(bootstrap_servers=bootstrap)
    for number in range(10):
        producer.send(topic, str(number).encode(), timestamp_ms=1_700_000_000_000 + number * 1_000)
    producer.flush(WAIT_S)
    producer.close()
    partition = TopicPartition(topic, 0)
    assert consumer.offsets_for_times({partition: 1_700_000_006_500})[partition].offset == 7
    assert consumer.beginning_offsets([partition])[partition] == 0
    assert consumer.end_offsets([partition])[partition] == 10
