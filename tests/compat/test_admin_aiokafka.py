"""aiokafka's admin client, which speaks the oldest versions that are served: topics, partitions, settings, records."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic, RecordsToDelete
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import InvalidPartitionsError

RESOURCE_ERROR, RESOURCE_CONFIGS = 0, 4  # places in the tuples of a DescribeConfigs response
CONFIG_NAME, CONFIG_VALUE = 0, 1
TOPIC_ALREADY_EXISTS, INVALID_CONFIG = 36, 40


def with_admin(bootstrap: str, use: Callable[[AIOKafkaAdminClient], Awaitable[None]]) -> None:
    async def run() -> None:
        admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
        await admin.start()
        try:
            await use(admin)
        finally:
            await admin.close()

    asyncio.run(run())


async def settings_of(admin: AIOKafkaAdminClient, topic: str) -> dict[str, str]:
    (answer,) = await admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, topic)])
    (resource,) = answer.resources
    assert resource[RESOURCE_ERROR] == 0
    return {config[CONFIG_NAME]: config[CONFIG_VALUE] for config in resource[RESOURCE_CONFIGS]}


def error_codes(answer: Any) -> list[int]:
    """Of topics, however the version calls them."""
    return [each[1] for each in getattr(answer, "topic_errors", None) or answer.topic_error_codes]


def test_topics_are_created_grow_and_go(bootstrap: str, topic: str) -> None:
    async def use(admin: AIOKafkaAdminClient) -> None:
        created = await admin.create_topics([NewTopic(topic, 2, 1, topic_configs={"retention.ms": "60000"})])
        assert error_codes(created) == [0]
        again = await admin.create_topics([NewTopic(topic, 2, 1)])
        assert error_codes(again) == [TOPIC_ALREADY_EXISTS]
        (described,) = await admin.describe_topics([topic])
        assert len(described["partitions"]) == 2
        grown = await admin.create_partitions({topic: NewPartitions(3)})
        assert error_codes(grown) == [0]
        with pytest.raises(InvalidPartitionsError):
            await admin.create_partitions({topic: NewPartitions(1)})
        assert len((await admin.describe_topics([topic]))[0]["partitions"]) == 3
        assert error_codes(await admin.delete_topics([topic])) == [0]
        assert topic not in await admin.list_topics()

    with_admin(bootstrap, use)


def test_settings_of_a_topic(bootstrap: str, topic: str) -> None:
    async def use(admin: AIOKafkaAdminClient) -> None:
        await admin.create_topics([NewTopic(topic, 1, 1, topic_configs={"cleanup.policy": "compact"})])
        assert (await settings_of(admin, topic))["cleanup.policy"] == "compact"
        await admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, topic, {"retention.ms": "5000"})])
        replaced = await settings_of(admin, topic)
        assert (replaced["retention.ms"], replaced["cleanup.policy"]) == ("5000", "delete")
        (refused,) = await admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, topic, {"nothing": "1"})])
        assert refused.resources[0][0] == INVALID_CONFIG

    with_admin(bootstrap, use)


def test_records_are_deleted(bootstrap: str, topic: str) -> None:
    async def use(admin: AIOKafkaAdminClient) -> None:
        await admin.create_topics([NewTopic(topic, 1, 1)])
        producer = AIOKafkaProducer(bootstrap_servers=bootstrap)
        await producer.start()
        for number in range(10):
            await producer.send_and_wait(topic, b"%d" % number, partition=0)
        await producer.stop()
        partition = TopicPartition(topic, 0)
        deleted = await admin.delete_records({partition: RecordsToDelete(before_offset=6)})
        assert deleted == {partition: 6}

    with_admin(bootstrap, use)


def test_the_cluster(bootstrap: str) -> None:
    async def use(admin: AIOKafkaAdminClient) -> None:
        cluster = await admin.describe_cluster()
        assert [each["node_id"] for each in cluster["brokers"]] == [1]
        assert cluster["controller_id"] == 1

    with_admin(bootstrap, use)
