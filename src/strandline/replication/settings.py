"""Settings of replication, by Kafka's names. The lag is the documents' 10 s; everything else is Kafka's default."""

from __future__ import annotations

import re

from strandline.model.lazy_dataclass import dataclass
from strandline.model.settings import INT_MAX, LONG_MAX, BadSetting, PropertySettings, setting


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicationSettings(PropertySettings):
    """How the replicas of a partition keep together. `min.insync.replicas` may be a topic's own."""

    min_insync_replicas: int = setting(1, "min.insync.replicas", at_least=1, at_most=INT_MAX)
    replica_lag_time_max_ms: int = setting(10_000, "replica.lag.time.max.ms", at_least=1)
    replica_fetch_backoff_ms: int = setting(1_000, "replica.fetch.backoff.ms", at_least=0, at_most=INT_MAX)

    @property
    def isr_check_interval_ms(self) -> int:
        """How often to look for replicas that have fallen behind (SPEC R3)."""
        return max(1, self.replica_lag_time_max_ms // 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicationQuotaSettings(PropertySettings):
    """Over which time the rate of throttled replication is measured (SPEC R11)."""

    replication_quota_window_num: int = setting(11, "replication.quota.window.num", at_least=1, at_most=INT_MAX)
    replication_quota_window_size_seconds: int = setting(
        1, "replication.quota.window.size.seconds", at_least=1, at_most=INT_MAX
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicationRateSettings(PropertySettings):
    """How many bytes in a second a broker moves for throttled replicas, on either side (SPEC R11)."""

    leader_replication_throttled_rate: int = setting(LONG_MAX, "leader.replication.throttled.rate", at_least=0)
    follower_replication_throttled_rate: int = setting(LONG_MAX, "follower.replication.throttled.rate", at_least=0)


THROTTLED_REPLICA = re.compile(r"[0-9]+:[0-9]+")
THROTTLED = ("leader_replication_throttled_replicas", "follower_replication_throttled_replicas")


@dataclass(frozen=True, slots=True, kw_only=True)
class ThrottledReplicasSettings(PropertySettings):
    """Which replicas of a topic these rates are about: `partition:broker`, or * for all."""

    leader_replication_throttled_replicas: tuple[str, ...] = setting(())
    follower_replication_throttled_replicas: tuple[str, ...] = setting(())

    def __post_init__(self) -> None:
        for field_name in THROTTLED:
            _check_throttled(field_name.replace("_", "."), getattr(self, field_name))


def _check_throttled(name: str, replicas: tuple[str, ...]) -> None:
    if replicas not in ((), ("*",)) and not all(map(THROTTLED_REPLICA.fullmatch, replicas)):
        raise BadSetting(f"{name}={','.join(replicas)!r}: expected * or a list of partition:broker")
