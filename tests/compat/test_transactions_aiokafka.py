"""aiokafka: transactions and readers of committed records."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.errors import ProducerFenced

from strandline.testing import Broker

WAIT_S = 20


def run(story: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(asyncio.wait_for(story(), WAIT_S))


async def read(bootstrap: str, topic: str, number: int, isolation_level: str) -> list[bytes | None]:
    async with AIOKafkaConsumer(
        topic, bootstrap_servers=bootstrap, auto_offset_reset="earliest", isolation_level=isolation_level
    ) as consumer:
        return [(await consumer.getone()).value for _ in range(number)]


def test_what_is_committed_is_read_and_what_is_aborted_is_not(bootstrap: str, topic: str) -> None:
    async def story() -> None:
        async with AIOKafkaProducer(bootstrap_servers=bootstrap, transactional_id=topic) as producer:
            for number in range(6):
                await producer.begin_transaction()
                await producer.send_and_wait(topic, str(number).encode())
                await (producer.abort_transaction() if number % 2 else producer.commit_transaction())
        assert await read(bootstrap, topic, 3, "read_committed") == [b"0", b"2", b"4"]
        assert await read(bootstrap, topic, 6, "read_uncommitted") == [str(number).encode() for number in range(6)]

    run(story)


def test_the_second_producer_of_an_id_fences_the_first(bootstrap: str, topic: str) -> None:
    async def story() -> None:
        async with AIOKafkaProducer(bootstrap_servers=bootstrap, transactional_id=topic) as first:
            await first.begin_transaction()
            await first.send_and_wait(topic, b"first")
            async with AIOKafkaProducer(bootstrap_servers=bootstrap, transactional_id=topic) as second:
                with pytest.raises(ProducerFenced):
                    await first.commit_transaction()
                async with second.transaction():
                    await second.send_and_wait(topic, b"second")
        assert await read(bootstrap, topic, 1, "read_committed") == [b"second"]

    run(story)


def test_offsets_go_with_the_transaction(bootstrap: str, topic: str) -> None:
    async def story() -> None:
        partition, group = TopicPartition(topic, 0), f"{topic}-group"
        async with (
            AIOKafkaProducer(bootstrap_servers=bootstrap, transactional_id=topic) as producer,
            AIOKafkaConsumer(bootstrap_servers=bootstrap, group_id=group, enable_auto_commit=False) as reader,
        ):
            async with producer.transaction():
                await producer.send_and_wait(topic, b"a")
                await producer.send_offsets_to_transaction({partition: 5}, group)
            reader.assign([partition])
            while await reader.committed(partition) != 5:
                await asyncio.sleep(0.01)

    run(story)


def test_offsets_are_the_first_that_anybody_hears_of_groups() -> None:
    """The producer asks for the group's coordinator only once its offsets are part of the transaction."""

    async def story(bootstrap: str) -> None:
        async with (
            AIOKafkaProducer(bootstrap_servers=bootstrap, transactional_id="first") as producer,
            producer.transaction(),
        ):
            await producer.send_and_wait("orders", b"a")
            await producer.send_offsets_to_transaction({TopicPartition("orders", 0): 5}, "readers")

    with Broker() as broker:
        asyncio.run(asyncio.wait_for(story(broker.bootstrap), WAIT_S))
