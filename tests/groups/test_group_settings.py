"""Settings of the coordinator: Kafka's names, defaults and bounds."""

from __future__ import annotations

import pytest

from strandline.groups.settings import GroupSettings, OffsetsTopicSettings
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
