"""kafka-python's KafkaAdminClient: topics, partitions, settings, records, directories, producers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from kafka import KafkaProducer, TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType, KafkaAdminClient, NewPartitions, NewTopic
from kafka.errors import (
    InvalidConfigurationError,
    InvalidPartitionsError,
    InvalidReplicationFactorError,
    InvalidTopicError,
    OffsetOutOfRangeError,
    TopicAlreadyExistsError,
    UnknownTopicOrPartitionError,
)

WAIT_S = 30


@pytest.fixture
def admin(bootstrap: str) -> Iterator[KafkaAdminClient]:
    client = KafkaAdminClient(bootstrap_servers=bootstrap)
    yield client
    client.close()


def create(admin: KafkaAdminClient, topic: str, partitions: int = 1, **config: str) -> None:
    settings = {name.replace("_", "."): value for name, value in config.items()}
    admin.create_topics([NewTopic(topic, partitions, 1, topic_configs=settings)])


def settings_of(admin: KafkaAdminClient, topic: str) -> dict[str, Any]:
    described = admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, topic)], config_filter="all")
    return {name: entry["value"] for name, entry in described["topic"][topic].items()}


def fill(bootstrap: str, topic: str, number: int) -> None:
    producer = KafkaProducer(bootstrap_servers=bootstrap)
    for each in [producer.send(topic, b"%d" % value, partition=0) for value in range(number)]:
        each.get(WAIT_S)
    producer.close()


def test_topics_are_created_described_and_deleted(admin: KafkaAdminClient, topic: str) -> None:
    create(admin, topic, 3)
    (described,) = admin.describe_topics([topic])
    assert [each["leader_id"] for each in described["partitions"]] == [1, 1, 1]
    assert topic in admin.list_topics()
    with pytest.raises(TopicAlreadyExistsError):
        create(admin, topic)
    admin.delete_topics([topic])
    assert topic not in admin.list_topics()
    with pytest.raises(UnknownTopicOrPartitionError):
        admin.delete_topics([topic])


@pytest.mark.parametrize(
    ("new", "error"),
    [
        (NewTopic("bad/name", 1, 1), InvalidTopicError),
        (NewTopic("too-many-replicas", 1, 9), InvalidReplicationFactorError),
        (NewTopic("no-partitions", 0, 1), InvalidPartitionsError),
        (NewTopic("no-such-setting", 1, 1, topic_configs={"nothing": "1"}), InvalidConfigurationError),
    ],
)
def test_a_topic_that_cannot_be(admin: KafkaAdminClient, new: NewTopic, error: type[Exception]) -> None:
    with pytest.raises(error):
        admin.create_topics([new])


def test_partitions_are_added(admin: KafkaAdminClient, topic: str) -> None:
    create(admin, topic)
    admin.create_partitions({topic: NewPartitions(4)})
    assert len(admin.describe_topics([topic])[0]["partitions"]) == 4
    with pytest.raises(InvalidPartitionsError):
        admin.create_partitions({topic: NewPartitions(2)})


def test_settings_of_a_topic(admin: KafkaAdminClient, topic: str) -> None:
    create(admin, topic, cleanup_policy="compact")
    assert settings_of(admin, topic)["cleanup.policy"] == "compact"
    admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, topic, {"retention.ms": "5000"})])
    changed = settings_of(admin, topic)
    assert (changed["retention.ms"], changed["cleanup.policy"]) == ("5000", "compact")
    replacement = ConfigResource(ConfigResourceType.TOPIC, topic, {"flush.ms": "9"})
    admin.alter_configs([replacement], incremental=False)  # the client fills in what else is set
    replaced = settings_of(admin, topic)
    assert (replaced["flush.ms"], replaced["cleanup.policy"]) == ("9", "compact")
    admin.reset_configs([ConfigResource(ConfigResourceType.TOPIC, topic, {})])
    reset = settings_of(admin, topic)
    assert (reset["retention.ms"], reset["cleanup.policy"]) == ("604800000", "delete")


def test_settings_of_a_broker(admin: KafkaAdminClient) -> None:
    resource = ConfigResource(ConfigResourceType.BROKER, "1")
    found = admin.describe_configs([resource], include_synonyms=True, config_filter="all")["broker"]["1"]
    assert found["log.retention.hours"]["synonyms"] == [
        {"name": "log.retention.hours", "value": "168", "source": "DEFAULT_CONFIG"}
    ]
    assert found["listeners"]["read_only"]


def test_records_are_deleted(admin: KafkaAdminClient, bootstrap: str, topic: str) -> None:
    create(admin, topic)
    fill(bootstrap, topic, 10)
    partition = TopicPartition(topic, 0)
    assert admin.delete_records({partition: 6})[partition]["low_watermark"] == 6
    with pytest.raises(OffsetOutOfRangeError):
        admin.delete_records({partition: 99})


def test_directories_and_producers(admin: KafkaAdminClient, bootstrap: str, topic: str) -> None:
    create(admin, topic)
    fill(bootstrap, topic, 3)
    (broker,) = admin.describe_log_dirs()
    (directory,) = broker["log_dirs"]
    sizes = {each["name"]: each["partitions"][0]["partition_size"] for each in directory["topics"]}
    assert sizes[topic] > 0
    assert directory["total_bytes"] > directory["usable_bytes"] > 0
    partition = TopicPartition(topic, 0)
    (producer,) = admin.describe_producers([partition])[partition].active_producers
    assert producer.last_sequence == 2, "kafka-python's producer is idempotent"


def test_the_cluster(admin: KafkaAdminClient, topic: str) -> None:
    cluster = admin.describe_cluster()
    assert (cluster["controller_id"], [each["broker_id"] for each in cluster["brokers"]]) == (1, [1])
    create(admin, topic, 2)
    page = admin.describe_topic_partitions([topic])
    assert [each["partition_index"] for each in page["topics"][0]["partitions"]] == [0, 1]
