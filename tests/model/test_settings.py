"""Settings by Kafka's names, units and precedence (SPEC C1, C2, L3)."""

from __future__ import annotations

from dataclasses import fields

import pytest

from strandline.model.settings import (
    DAY_MS,
    HOUR_MS,
    LONG_MAX,
    BadSetting,
    CleanerSettings,
    LogDirectorySettings,
    LogSettings,
    ProducerStateSettings,
)


def test_the_defaults_are_kafkas() -> None:
    settings = LogSettings()
    assert settings.segment_bytes == 1073741824
    assert settings.segment_ms == 604800000
    assert settings.segment_index_bytes == 10485760
    assert settings.index_interval_bytes == 4096
    assert settings.max_message_bytes == 1048588
    assert settings.flush_messages == settings.flush_ms == LONG_MAX
    assert settings.retention_ms == 604800000
    assert settings.retention_bytes == -1
    assert settings.delete_retention_ms == 86400000
    assert settings.file_delete_delay_ms == 60000
    assert (settings.deletes, settings.compacts) == (True, False)
    assert CleanerSettings().dedupe_buffer_size == 134217728
    assert ProducerStateSettings().producer_id_expiration_ms == DAY_MS
    assert LogDirectorySettings().high_watermark_checkpoint_interval_ms == 5000


def test_a_topic_wins_over_the_broker_and_the_broker_over_the_default() -> None:
    broker = {"log.segment.bytes": "2000", "log.index.interval.bytes": "100"}
    settings = LogSettings.from_properties({"segment.bytes": "1000"}, broker)
    assert (settings.segment_bytes, settings.index_interval_bytes) == (1000, 100)
    assert settings.max_message_bytes == LogSettings().max_message_bytes


def test_a_topics_name_is_no_brokers_name() -> None:
    assert LogSettings.from_properties({"log.segment.bytes": "1000"}) == LogSettings()
    assert LogSettings.from_properties({}, {"segment.bytes": "1000"}) == LogSettings()


@pytest.mark.parametrize(
    ("broker", "retention_ms"),
    [
        ({"log.retention.hours": "2"}, 2 * HOUR_MS),
        ({"log.retention.hours": "2", "log.retention.minutes": "5"}, 300_000),
        ({"log.retention.hours": "2", "log.retention.minutes": "5", "log.retention.ms": "7"}, 7),
        ({"log.retention.hours": "-1"}, -1),
        ({"log.retention.hours": "2", "log.retention.ms": "-1"}, -1),
    ],
)
def test_the_finest_unit_wins(broker: dict[str, str], retention_ms: int) -> None:
    """SPEC C2."""
    assert LogSettings.from_properties({}, broker).retention_ms == retention_ms


def test_a_message_may_wait_for_the_scheduler_to_be_flushed() -> None:
    """SPEC L9: log.flush.interval.ms falls back to the scheduler's interval."""
    assert LogSettings.from_properties({}, {"log.flush.scheduler.interval.ms": "500"}).flush_ms == 500
    both = {"log.flush.scheduler.interval.ms": "500", "log.flush.interval.ms": "200"}
    assert LogSettings.from_properties({}, both).flush_ms == 200


def test_policies_come_alone_or_together() -> None:
    """SPEC C1."""
    both = LogSettings.from_properties({"cleanup.policy": " compact, delete "})
    assert (both.compacts, both.deletes) == (True, True)
    compact = LogSettings.from_properties({"cleanup.policy": "compact"}, {"log.cleanup.policy": "delete"})
    assert (compact.compacts, compact.deletes) == (True, False)


def test_changing_some_properties_leaves_the_rest() -> None:
    """KAFKA-9254: a change of one setting wiped the topic's others, and a compacted topic began to delete."""
    settings = LogSettings.from_properties({"cleanup.policy": "compact", "segment.bytes": "1000"})
    changed = settings.with_properties({"segment.bytes": "2000", "unknown.to.us": "x"})
    assert (changed.segment_bytes, changed.compacts) == (2000, True)
    assert settings.segment_bytes == 1000
    assert settings.with_properties({}) == settings


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("segment.bytes", "13"),
        ("segment.bytes", "2147483648"),
        ("segment.bytes", ""),
        ("segment.bytes", "1e6"),
        ("segment.bytes", "1_000"),
        ("segment.bytes", "1.5"),
        ("segment.bytes", "٣٣٣"),
        ("segment.ms", "0"),
        ("segment.index.bytes", "2147483648"),
        ("max.message.bytes", "2147483648"),
        ("retention.ms", "-2"),
        ("retention.bytes", "9223372036854775808"),
        ("cleanup.policy", "shred"),
        ("cleanup.policy", "delete,shred"),
        ("min.cleanable.dirty.ratio", "1.01"),
        ("min.cleanable.dirty.ratio", "nan"),
        ("min.cleanable.dirty.ratio", "half"),
        ("message.timestamp.type", "createtime"),
        ("compression.type", "brotli"),
        ("max.compaction.lag.ms", "0"),
    ],
)
def test_a_bad_value_is_refused_by_name(name: str, text: str) -> None:
    with pytest.raises(BadSetting, match=name):
        LogSettings.from_properties({name: text})
    with pytest.raises(BadSetting, match=name):
        LogSettings().with_properties({name: text})


def test_a_bad_broker_value_is_refused_by_the_brokers_name() -> None:
    with pytest.raises(BadSetting, match=r"log\.retention\.hours"):
        LogSettings.from_properties({}, {"log.retention.hours": "a week"})
    with pytest.raises(BadSetting, match=r"log\.cleaner\.enable"):
        CleanerSettings.from_properties({}, {"log.cleaner.enable": "yes"})


def test_compaction_cannot_be_due_before_it_is_allowed() -> None:
    with pytest.raises(BadSetting, match=r"min\.compaction\.lag\.ms"):
        LogSettings.from_properties({"min.compaction.lag.ms": "10", "max.compaction.lag.ms": "9"})
    with pytest.raises(BadSetting, match=r"min\.compaction\.lag\.ms"):
        LogSettings(max_compaction_lag_ms=5).with_properties({"min.compaction.lag.ms": "6"})


def test_the_brokers_own_settings() -> None:
    broker = {
        "log.cleaner.enable": "FALSE",
        "log.cleaner.threads": " 3 ",
        "log.cleaner.io.max.bytes.per.second": "1.5e6",
        "log.dir": "/one",
        "log.dirs": "/a, /b,",
        "producer.id.expiration.ms": "1000",
    }
    cleaner = CleanerSettings.from_properties({}, broker)
    assert (cleaner.enable, cleaner.threads, cleaner.io_max_bytes_per_second) == (False, 3, 1.5e6)
    assert LogDirectorySettings.from_properties({}, broker).log_dirs == ("/a", "/b")
    assert LogDirectorySettings.from_properties({}, {"log.dir": "/one"}).log_dirs == ("/one",)
    assert ProducerStateSettings.from_properties({}, broker).producer_id_expiration_ms == 1000


@pytest.mark.parametrize("kind", [LogSettings, CleanerSettings, ProducerStateSettings, LogDirectorySettings])
def test_every_default_would_be_accepted_as_a_property(kind: type[LogSettings]) -> None:
    for entry in fields(kind):
        value = entry.default
        text = ",".join(value) if isinstance(value, tuple) else str(value)
        name, factor = entry.metadata["synonyms"][0]
        assert factor == 1
        assert getattr(kind.from_properties({}, {name: text}), entry.name) == value
