"""Settings of the coordinator: Kafka's names, defaults and bounds."""

from __future__ import annotations

import pytest

from strandline.model.settings import BadSetting
from strandline.transactions.settings import TransactionSettings, TransactionStateTopicSettings


def test_defaults_are_kafkas() -> None:
    settings = TransactionSettings()
    assert settings.transaction_max_timeout_ms == 900_000
    assert settings.transactional_id_expiration_ms == 604_800_000
    assert settings.transaction_abort_timed_out_transaction_cleanup_interval_ms == 10_000
    assert settings.transaction_remove_expired_transaction_cleanup_interval_ms == 3_600_000
    assert settings.transaction_partition_verification_enable is True
    assert settings.add_partitions_to_txn_retry_backoff_ms == 20
    assert settings.add_partitions_to_txn_retry_backoff_max_ms == 100
    topic = TransactionStateTopicSettings()
    assert (topic.transaction_state_log_num_partitions, topic.transaction_state_log_replication_factor) == (50, 3)
    assert (topic.transaction_state_log_segment_bytes, topic.transaction_state_log_load_buffer_size) == (
        104_857_600,
        5_242_880,
    )


def test_properties_by_kafkas_names() -> None:
    broker = {
        "transaction.max.timeout.ms": "5",
        "transaction.partition.verification.enable": "false",
        "transaction.state.log.min.isr": "1",
    }
    assert TransactionSettings.from_properties({}, broker).transaction_max_timeout_ms == 5
    assert TransactionSettings.from_properties({}, broker).transaction_partition_verification_enable is False
    assert TransactionStateTopicSettings.from_properties({}, broker).transaction_state_log_min_isr == 1


def test_the_topic_is_compacted_and_never_elected_uncleanly() -> None:
    assert TransactionStateTopicSettings().topic_properties() == {
        "cleanup.policy": "compact",
        "compression.type": "uncompressed",
        "unclean.leader.election.enable": "false",
        "min.insync.replicas": "2",
        "segment.bytes": "104857600",
    }


@pytest.mark.parametrize(
    "broker",
    [
        {"transaction.max.timeout.ms": "0"},
        {"transactional.id.expiration.ms": "0"},
        {"transaction.abort.timed.out.transaction.cleanup.interval.ms": "0"},
    ],
)
def test_what_cannot_be_is_refused(broker: dict[str, str]) -> None:
    with pytest.raises(BadSetting):
        TransactionSettings.from_properties({}, broker)
