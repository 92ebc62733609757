"""confluent-kafka's AdminClient (librdkafka): topics, partitions, settings, records, credentials."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer, TopicCollection, TopicPartition
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

WAIT_S = 30


@pytest.fixture
def admin(bootstrap: str) -> AdminClient:
    return AdminClient({"bootstrap.servers": bootstrap})


def done(futures: Any) -> dict[Any, Any]:
    return {key: future.result(WAIT_S) for key, future in futures.items()}


def refused(futures: dict[Any, Any]) -> int:
    """The error code of the only one."""
    (future,) = futures.values()
    with pytest.raises(KafkaException) as raised:
        future.result(WAIT_S)
    error: KafkaError = raised.value.args[0]
    return error.code()


def create(admin: AdminClient, topic: str, partitions: int = 1, **config: str) -> None:
    settings = {name.replace("_", "."): value for name, value in config.items()}
    done(admin.create_topics([NewTopic(topic, partitions, 1, config=settings)]))


def config_of(admin: AdminClient, kind: ResourceType, name: str) -> dict[str, ConfigEntry]:
    (entries,) = done(admin.describe_configs([ConfigResource(kind, name)])).values()
    found: dict[str, ConfigEntry] = entries
    return found


def test_topics_are_created_described_and_deleted(admin: AdminClient, topic: str) -> None:
    create(admin, topic, 3, retention_ms="60000")
    (described,) = done(admin.describe_topics(TopicCollection([topic]))).values()
    assert [(each.id, each.leader.id, len(each.replicas)) for each in described.partitions] == [
        (number, 1, 1) for number in range(3)
    ]
    assert topic in admin.list_topics(timeout=WAIT_S).topics
    assert refused(admin.create_topics([NewTopic(topic, 1, 1)])) == KafkaError.TOPIC_ALREADY_EXISTS
    done(admin.delete_topics([topic]))
    assert topic not in admin.list_topics(timeout=WAIT_S).topics
    assert refused(admin.delete_topics([topic])) == KafkaError.UNKNOWN_TOPIC_OR_PART


@pytest.mark.parametrize(
    ("new", "code"),
    [
        (NewTopic("bad/name", 1, 1), KafkaError.TOPIC_EXCEPTION),
        (NewTopic("too-many-replicas", 1, 9), KafkaError.INVALID_REPLICATION_FACTOR),
        (NewTopic("no-such-broker", 1, replica_assignment=[[77]]), KafkaError.INVALID_REPLICA_ASSIGNMENT),
        (NewTopic("no-such-setting", 1, 1, config={"nothing": "1"}), KafkaError.INVALID_CONFIG),
    ],
)
def test_a_topic_that_cannot_be(admin: AdminClient, new: NewTopic, code: int) -> None:
    assert refused(admin.create_topics([new])) == code


def test_a_dry_run(admin: AdminClient, topic: str) -> None:
    done(admin.create_topics([NewTopic(topic, 1, 1)], validate_only=True))
    assert topic not in admin.list_topics(timeout=WAIT_S).topics


def test_partitions_are_added(admin: AdminClient, topic: str) -> None:
    create(admin, topic)
    done(admin.create_partitions([NewPartitions(topic, 4)]))
    assert len(admin.list_topics(topic, timeout=WAIT_S).topics[topic].partitions) == 4
    assert refused(admin.create_partitions([NewPartitions(topic, 2)])) == KafkaError.INVALID_PARTITIONS


def test_settings_of_a_topic(admin: AdminClient, topic: str) -> None:
    create(admin, topic, cleanup_policy="compact")
    before = config_of(admin, ResourceType.TOPIC, topic)
    assert (before["cleanup.policy"].value, before["retention.ms"].is_default) == ("compact", True)
    set_entry = ConfigEntry("retention.ms", "5000", incremental_operation=AlterConfigOpType.SET)
    append = ConfigEntry("cleanup.policy", "delete", incremental_operation=AlterConfigOpType.APPEND)
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[set_entry, append])
    done(admin.incremental_alter_configs([resource]))
    after = config_of(admin, ResourceType.TOPIC, topic)
    assert (after["retention.ms"].value, after["cleanup.policy"].value) == ("5000", "compact,delete")
    assert ConfigSource(after["retention.ms"].source) is ConfigSource.DYNAMIC_TOPIC_CONFIG
    with pytest.warns(DeprecationWarning, match="incremental_alter_configs"):
        done(admin.alter_configs([ConfigResource(ResourceType.TOPIC, topic, set_config={"flush.ms": "9"})]))
    replaced = config_of(admin, ResourceType.TOPIC, topic)
    assert (replaced["flush.ms"].value, replaced["cleanup.policy"].value) == ("9", "delete")


def test_settings_of_a_broker(admin: AdminClient) -> None:
    entries = config_of(admin, ResourceType.BROKER, "1")
    assert entries["listeners"].is_read_only
    assert entries["log.retention.hours"].value == "168"
    bad = ConfigEntry("listeners", "PLAINTEXT://:1", incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.BROKER, "1", incremental_configs=[bad])
    assert refused(admin.incremental_alter_configs([resource])) == KafkaError.INVALID_CONFIG


def test_records_are_deleted(admin: AdminClient, bootstrap: str, topic: str) -> None:
    create(admin, topic)
    producer = Producer({"bootstrap.servers": bootstrap})
    for number in range(10):
        producer.produce(topic, b"%d" % number, partition=0)
    assert producer.flush(WAIT_S) == 0
    (deleted,) = done(admin.delete_records([TopicPartition(topic, 0, 6)])).values()
    assert deleted.low_watermark == 6
    (offsets,) = done(admin.list_offsets({TopicPartition(topic, 0): OffsetSpec.earliest()})).values()
    assert offsets.offset == 6
    assert refused(admin.delete_records([TopicPartition(topic, 0, 99)])) == KafkaError.OFFSET_OUT_OF_RANGE


def test_the_cluster(admin: AdminClient) -> None:
    cluster = admin.describe_cluster().result(WAIT_S)
    assert (cluster.controller.id, [node.id for node in cluster.nodes]) == (1, [1])
    assert cluster.cluster_id == admin.list_topics(timeout=WAIT_S).cluster_id


def test_credentials(admin: AdminClient) -> None:
    info = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 8192)
    done(admin.alter_user_scram_credentials([UserScramCredentialUpsertion("alice", info, b"secret", b"salt")]))
    (description,) = done(admin.describe_user_scram_credentials(["alice"])).values()
    (found,) = description.scram_credential_infos
    assert (found.mechanism, found.iterations) == (ScramMechanism.SCRAM_SHA_256, 8192)


def test_access_rules_are_not_kept(admin: AdminClient) -> None:
    rule = AclBinding(
        ResourceType.TOPIC,
        "orders",
        ResourcePatternType.LITERAL,
        "User:alice",
        "*",
        AclOperation.READ,
        AclPermissionType.ALLOW,
    )
    assert refused(admin.create_acls([rule])) == KafkaError.SECURITY_DISABLED
