"""aiokafka: records in every shape, read back by assignment and by time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

WAIT_S = 20


async def with_consumer(bootstrap: str, work: Callable[[AIOKafkaConsumer], Awaitable[None]]) -> None:
    consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap, enable_auto_commit=False)
    await consumer.start()
    try:
        await asyncio.wait_for(work(consumer), WAIT_S)
    finally:
        await consumer.stop()


async def produce(bootstrap: str, topic: str, values: list[bytes], **settings: object) -> None:
    producer = AIOKafkaProducer(bootstrap_servers=bootstrap, **settings)
    await producer.start()
    try:
        for value in values:
            await producer.send(topic, value)
        await asyncio.wait_for(producer.flush(), WAIT_S)
    finally:
        await producer.stop()


async def read_from_start(bootstrap: str, topic: str, number: int) -> list[bytes | None]:
    values: list[bytes | None] = []

    async def work(consumer: AIOKafkaConsumer) -> None:
        consumer.assign([TopicPartition(topic, 0)])
        await consumer.seek_to_beginning()
        while len(values) < number:
            values.append((await consumer.getone()).value)

    await with_consumer(bootstrap, work)
    return values


@pytest.mark.parametrize("codec", [None, "gzip", "snappy", "lz4", "zstd"])
def test_every_codec(bootstrap: str, topic: str, codec: str | None) -> None:
    async def run() -> None:
        values = [f"value {number}".encode() * 20 for number in range(200)]
        await produce(bootstrap, topic, values, compression_type=codec, linger_ms=20)
        assert await read_from_start(bootstrap, topic, 200) == values

    asyncio.run(run())


@pytest.mark.parametrize(("acks", "is_idempotent"), [(0, False), (1, False), ("all", False), ("all", True)])
def test_every_kind_of_acknowledgement(bootstrap: str, topic: str, acks: int | str, is_idempotent: bool) -> None:
    async def run() -> None:
        await produce(bootstrap, topic, [b"a", b"b"], acks=acks, enable_idempotence=is_idempotent)
        assert await read_from_start(bootstrap, topic, 2) == [b"a", b"b"]

    asyncio.run(run())


def test_keys_headers_timestamps_and_seeking_by_time(bootstrap: str, topic: str) -> None:
    partition = TopicPartition(topic, 0)

    async def read(consumer: AIOKafkaConsumer) -> None:
        assert (await consumer.offsets_for_times({partition: 1_700_000_001_000}))[partition].offset == 1
        assert await consumer.end_offsets([partition]) == {partition: 2}
        consumer.assign([partition])
        consumer.seek(partition, 0)
        record = await consumer.getone()
        assert (record.key, record.value, record.timestamp) == (b"k", b"v", 1_700_000_000_000)
        assert list(record.headers) == [("trace", b"1")]

    async def run() -> None:
        producer = AIOKafkaProducer(bootstrap_servers=bootstrap)
        await producer.start()
        for number in range(2):
            await producer.send_and_wait(
                topic, b"v", b"k", timestamp_ms=1_700_000_000_000 + number * 1_000, headers=[("trace", b"1")]
            )
        await producer.stop()
        await with_consumer(bootstrap, read)

    asyncio.run(run())
