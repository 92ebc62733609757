"""aiokafka in groups: join, rebalance, static members, commit and resume, seek, restarts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
from tests.compat import group_stories
from tests.compat.group_members import (
    HEARTBEAT_MS,
    PARTITIONS,
    SESSION_MS,
    WAIT_S,
    Member,
    share_fairly,
    wait_until,
)
from tests.compat.group_stories import OpenClient, Produce, values

from strandline.testing import Broker

ASSIGNORS = [
    pytest.param(assignor, id=assignor.name)
    for assignor in (RangePartitionAssignor, RoundRobinPartitionAssignor, StickyPartitionAssignor)
]


class AiokafkaClient:
    """With an event loop of its own, which runs while it polls."""

    def __init__(self, bootstrap: str, topic: str, group: str, settings: dict[str, Any]) -> None:
        self._topic = topic
        self._runner = asyncio.Runner()
        self.consumer: AIOKafkaConsumer = self._runner.run(self._start(bootstrap, topic, group, settings))

    async def _start(self, bootstrap: str, topic: str, group: str, settings: dict[str, Any]) -> AIOKafkaConsumer:
        consumer = AIOKafkaConsumer(
            topic,
            bootstrap_servers=bootstrap,
            group_id=group,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            session_timeout_ms=SESSION_MS,
            heartbeat_interval_ms=HEARTBEAT_MS,
            **settings,
        )
        await consumer.start()
        return consumer

    def poll(self) -> Iterable[tuple[int, bytes]]:
        for partition, records in self._runner.run(self.consumer.getmany(timeout_ms=50)).items():
            yield from ((partition.partition, record.value) for record in records)

    def assigned(self) -> Iterable[int]:
        return [place.partition for place in self.consumer.assignment()]

    def commit(self) -> object:
        return self._runner.run(self.consumer.commit())

    def seek(self, partition: int, offset: int) -> None:
        self.consumer.seek(TopicPartition(self._topic, partition), offset)

    def close(self) -> None:
        self._runner.run(self.consumer.stop())
        self._runner.close()


def opening(broker: Broker, **settings: Any) -> OpenClient:
    def open_client(topic: str, group: str) -> Callable[[], AiokafkaClient]:
        return lambda: AiokafkaClient(broker.bootstrap, topic, group, settings)

    return open_client


def producing(broker: Broker) -> Produce:
    async def send(topic: str, values: list[bytes]) -> None:
        async with AIOKafkaProducer(bootstrap_servers=broker.bootstrap) as producer:
            for number, value in enumerate(values):
                await asyncio.wait_for(producer.send_and_wait(topic, value, partition=number % PARTITIONS), WAIT_S)

    def produce(topic: str, values: list[bytes]) -> None:
        asyncio.run(send(topic, values))

    return produce


@pytest.mark.parametrize("assignor", ASSIGNORS)
def test_three_members_share_and_one_goes(group_broker: Broker, topic: str, assignor: type) -> None:
    opens = opening(group_broker, partition_assignment_strategy=[assignor])
    group_stories.three_members_share_and_one_goes(opens, producing(group_broker), topic)


def test_commit_and_resume(group_broker: Broker, topic: str) -> None:
    group_stories.what_was_committed_is_not_read_again(opening(group_broker), producing(group_broker), topic)


def test_seek(group_broker: Broker, topic: str) -> None:
    group_stories.a_member_seeks(opening(group_broker), producing(group_broker), topic)


@pytest.mark.parametrize("how", ["stop", "kill"])
def test_a_restart(mortal_broker: Broker, topic: str, how: str) -> None:
    group_stories.members_go_on_after_a_restart(
        opening(mortal_broker), producing(mortal_broker), topic, mortal_broker, how
    )


def test_a_static_member_has_its_partitions_back(group_broker: Broker, topic: str) -> None:
    """KIP-345."""
    producing(group_broker)(topic, values(0, 60))
    group = f"{topic}-group"
    kitchen = opening(group_broker, group_instance_id="kitchen")(topic, group)
    cellar = opening(group_broker, group_instance_id="cellar")(topic, group)
    with Member(cellar) as other:
        wait_until(lambda: share_fairly(other), other)
        with Member(kitchen) as first:
            wait_until(lambda: share_fairly(first, other), first, other)
            had = first.assigned
        with Member(kitchen) as again:
            wait_until(lambda: again.assigned == had and share_fairly(again, other), again, other)
