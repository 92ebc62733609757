"""Kafka's paths (SPEC M1), beside those of a Kafka 3.9 that ran."""

from __future__ import annotations

import pytest
from tests.metadata.kafka_znodes import ENCODED, OF_A_BROKER

from strandline.metadata import paths
from strandline.metadata.operations import check_path
from strandline.model.failures import CorruptData
from strandline.model.partitions import TopicPartition


def test_a_broker_finds_everything_where_kafka_put_it() -> None:
    partition = TopicPartition("orders", 1)
    for path in (
        paths.broker_path(1),
        paths.topic_path("orders"),
        paths.partitions_path("orders"),
        paths.partition_path(partition),
        paths.partition_state_path(partition),
        paths.config_path(paths.entity_path(paths.TOPIC_CONFIGS, "orders")),
        paths.config_path(paths.user_client_path("alice b", "c")),
        paths.CONTROLLER,
        paths.CONTROLLER_EPOCH,
        paths.CLUSTER_ID,
        paths.FEATURE,
        *paths.PERSISTENT_PATHS,
    ):
        assert path in OF_A_BROKER
        check_path(path)


def test_the_persistent_paths_are_kafkas() -> None:
    assert [path.encode() for path in paths.PERSISTENT_PATHS] == [
        path for name, path in ENCODED if name == "persistent"
    ]


def test_the_rest_is_as_in_kafkas_documents() -> None:
    assert paths.delete_topic_path("orders") == "/admin/delete_topics/orders"
    assert paths.REASSIGN_PARTITIONS == "/admin/reassign_partitions"
    assert paths.PREFERRED_REPLICA_ELECTION == "/admin/preferred_replica_election"
    assert paths.ISR_CHANGE_PREFIX == "/isr_change_notification/isr_change_"
    assert paths.LOG_DIR_EVENT_PREFIX == "/log_dir_event_notification/log_dir_event_"
    assert paths.entity_path(paths.BROKER_CONFIGS, paths.DEFAULT_ENTITY) == "brokers/<default>"
    assert paths.user_client_path(paths.DEFAULT_ENTITY, "a/b") == "users/<default>/clients/a%2Fb"


@pytest.mark.parametrize(("name", "sanitized"), [entry for entry in ENCODED if entry[0].startswith("sanitized ")])
def test_names_of_users_are_made_safe_as_kafka_does(name: str, sanitized: bytes) -> None:
    plain = name.removeprefix("sanitized ")
    assert paths.sanitize(plain).encode() == sanitized
    assert paths.desanitize(sanitized.decode()) == plain
    check_path(f"/config/users/{sanitized.decode()}")


def test_notices_are_numbered() -> None:
    assert paths.sequence_number(f"{paths.CONFIG_CHANGE_PREFIX}0000000042") == 42
    assert paths.sequence_number("isr_change_0000000000") == 0
    for path in ("isr_change_", "isr_change_x1", "isr_change_-000000001", "isr_change_²"):
        with pytest.raises(CorruptData):
            paths.sequence_number(path)
