"""Settings of the group coordinator, by Kafka's names and with Kafka's defaults.

The fields are the broker's properties with underscores for dots; only the retention of offsets has another unit.
"""

from __future__ import annotations

from strandline.model.lazy_dataclass import dataclass
from strandline.model.settings import DAY_MS, INT_MAX, MINUTE_MS, BadSetting, PropertySettings, setting

# A new member cannot be told dead by its session, for it has none before its first JoinGroup is answered.
NEW_MEMBER_JOIN_TIMEOUT_MS = 5 * MINUTE_MS
ASSIGNORS = ("uniform", "range")


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSettings(PropertySettings):
    group_min_session_timeout_ms: int = setting(6_000, "group.min.session.timeout.ms", at_most=INT_MAX)
    group_max_session_timeout_ms: int = setting(30 * MINUTE_MS, "group.max.session.timeout.ms", at_most=INT_MAX)
    group_initial_rebalance_delay_ms: int = setting(
        3_000, "group.initial.rebalance.delay.ms", at_least=0, at_most=INT_MAX
    )
    group_max_size: int = setting(INT_MAX, "group.max.size", at_least=1, at_most=INT_MAX)
    offset_metadata_max_bytes: int = setting(4_096, "offset.metadata.max.bytes", at_least=0, at_most=INT_MAX)
    offsets_retention_ms: int = setting(
        7 * DAY_MS, ("offsets.retention.minutes", MINUTE_MS), at_least=1, at_most=INT_MAX * MINUTE_MS
    )
    offsets_retention_check_interval_ms: int = setting(600_000, "offsets.retention.check.interval.ms", at_least=1)
    group_consumer_session_timeout_ms: int = setting(45_000, "group.consumer.session.timeout.ms", at_least=1)
    group_consumer_min_session_timeout_ms: int = setting(45_000, "group.consumer.min.session.timeout.ms", at_least=1)
    group_consumer_max_session_timeout_ms: int = setting(60_000, "group.consumer.max.session.timeout.ms", at_least=1)
    group_consumer_heartbeat_interval_ms: int = setting(5_000, "group.consumer.heartbeat.interval.ms", at_least=1)
    group_consumer_min_heartbeat_interval_ms: int = setting(
        5_000, "group.consumer.min.heartbeat.interval.ms", at_least=1
    )
    group_consumer_max_heartbeat_interval_ms: int = setting(
        15_000, "group.consumer.max.heartbeat.interval.ms", at_least=1
    )
    group_consumer_max_size: int = setting(INT_MAX, "group.consumer.max.size", at_least=1, at_most=INT_MAX)
    # The first is the one for members that name none.
    group_consumer_assignors: tuple[str, ...] = setting(ASSIGNORS, "group.consumer.assignors", one_of=ASSIGNORS)

    def __post_init__(self) -> None:
        if self.group_min_session_timeout_ms > self.group_max_session_timeout_ms:
            raise BadSetting("group.min.session.timeout.ms is above group.max.session.timeout.ms")
        if not self.group_consumer_assignors:
            raise BadSetting(f"group.consumer.assignors is empty: name one of {', '.join(ASSIGNORS)}")
        for name in ("session_timeout", "heartbeat_interval"):
            self._check_within_bounds(name)
        if self.group_consumer_heartbeat_interval_ms >= self.group_consumer_session_timeout_ms:
            raise BadSetting("group.consumer.heartbeat.interval.ms is not below group.consumer.session.timeout.ms")

    def _check_within_bounds(self, name: str) -> None:
        low, value, high = (getattr(self, f"group_consumer_{bound}{name}_ms") for bound in ("min_", "", "max_"))
        if not low <= value <= high:
            setting_name = f"group.consumer.{name.replace('_', '.')}.ms"
            raise BadSetting(f"{setting_name}={value} is not within its own minimum {low} and maximum {high}")


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetsTopicSettings(PropertySettings):
    """How `__consumer_offsets` is made on first use."""

    offsets_topic_num_partitions: int = setting(50, "offsets.topic.num.partitions", at_least=1, at_most=INT_MAX)
    offsets_topic_replication_factor: int = setting(
        3, "offsets.topic.replication.factor", at_least=1, at_most=2**15 - 1
    )
    offsets_topic_segment_bytes: int = setting(100 * 2**20, "offsets.topic.segment.bytes", at_least=1, at_most=INT_MAX)
