"""Settings of the coordinator: Kafka's names, defaults and bounds; and which partition a group belongs to."""

from __future__ import annotations

import pytest

from strandline.groups.settings import GroupSettings, OffsetsTopicSettings, coordinator_partition
from strandline.model.settings import BadSetting


def test_defaults_are_kafkas() -> None:
    settings = GroupSettings()
    assert settings.group_initial_rebalance_delay_ms == 3_000
    assert (settings.group_min_session_timeout_ms, settings.group_max_session_timeout_ms) == (6_000, 1_800_000)
    assert settings.offset_metadata_max_bytes == 4_096
    assert settings.offsets_retention_ms == 7 * 24 * 3_600_000
    assert settings.group_consumer_assignors == ("uniform", "range")
    assert OffsetsTopicSettings().offsets_topic_num_partitions == 50


def test_properties_by_kafkas_names() -> None:
    broker = {
        "offsets.retention.minutes": "2",
        "group.max.size": "3",
        "group.consumer.assignors": "range",
        "group.consumer.session.timeout.ms": "50000",
    }
    settings = GroupSettings.from_properties({}, broker)
    assert settings.offsets_retention_ms == 120_000
    assert settings.group_max_size == 3
    assert settings.group_consumer_assignors == ("range",)
    assert settings.group_consumer_session_timeout_ms == 50_000


@pytest.mark.parametrize(
    "broker",
    [
        {"group.max.size": "0"},
        {"group.min.session.timeout.ms": "2000000"},
        {"group.consumer.assignors": "best"},
        {"group.consumer.assignors": ""},
        {"group.consumer.session.timeout.ms": "44999"},
        {"group.consumer.session.timeout.ms": "60001"},
        {"group.consumer.heartbeat.interval.ms": "4999"},
        {
            "group.consumer.heartbeat.interval.ms": "45000",
            "group.consumer.max.heartbeat.interval.ms": "45000",
        },
    ],
)
def test_what_cannot_be_is_refused(broker: dict[str, str]) -> None:
    with pytest.raises(BadSetting):
        GroupSettings.from_properties({}, broker)


@pytest.mark.parametrize(
    ("group", "hash_code"),
    [("", 0), ("a", 97), ("hello", 99162322), ("polygenelubricants", 0), ("😀", 1772899)],
)
def test_a_group_belongs_where_java_says(group: str, hash_code: int) -> None:
    """The last but one has the hash -2^31, of which Kafka makes 0."""
    assert coordinator_partition(group, 50) == hash_code % 50
    assert coordinator_partition(group, 2**31) == hash_code


def test_negative_hashes_count_as_positive() -> None:
    # "consumer-group-x" in Java: the value wraps around.
    assert 0 <= coordinator_partition("consumer-group-x" * 10, 7) < 7
