"""Throttled replication: what a broker sends as a leader, and fetches as a follower, for listed replicas (SPEC R11).

Which replicas are listed is a setting of each topic, how fast they may be one of the broker, both of which change while
it runs. A replica that is in sync is never held back, but what it moves is counted (`replication.throttle`).
"""

from __future__ import annotations

from strandline.broker.configuration import Configuration
from strandline.broker.host import Host
from strandline.broker.partition import Partition
from strandline.model.settings import LONG_MAX
from strandline.replication.settings import (
    ReplicationQuotaSettings,
    ReplicationRateSettings,
    ThrottledReplicasSettings,
)
from strandline.replication.throttle import ReplicationThrottle, ThrottledReplicas


class Side:
    """What this broker moves as a leader, or as a follower."""

    def __init__(self, broker_id: int, throttle: ReplicationThrottle, host: Host) -> None:
        self.throttle = throttle
        self.lists: dict[str, ThrottledReplicas] = {}  # topics that have one
        self._broker_id = broker_id
        self._host = host

    def is_throttled(self, partition: Partition) -> bool:
        listed = self.lists.get(partition.name.topic)
        return listed is not None and listed.has(partition.name.partition, self._broker_id)

    def count(self, partition: Partition, byte_count: int) -> None:
        if self.lists and self.is_throttled(partition):
            self.throttle.record(byte_count, self._host.elapsed_ms())

    def must_wait(self, partition: Partition) -> bool:
        """Of a replica that is not in sync."""
        return bool(self.lists) and self.is_throttled(partition) and self.throttle.is_exceeded(self._host.elapsed_ms())


class ReplicationQuotas:
    def __init__(self, broker_id: int, configuration: Configuration, host: Host) -> None:
        windows = configuration.of_broker(ReplicationQuotaSettings)
        self._configuration = configuration
        self.leader = Side(broker_id, ReplicationThrottle(windows), host)
        self.follower = Side(broker_id, ReplicationThrottle(windows), host)
        configuration.when_changed(self._rates_changed)
        configuration.when_topic_changed(self._topic_changed)
        self._rates_changed()
        for topic in configuration.topics:
            self._topic_changed(topic)

    @property
    def rates(self) -> ReplicationRateSettings:
        """In use now."""
        return ReplicationRateSettings(
            leader_replication_throttled_rate=_or_none_at_all(self.leader.throttle.bytes_per_second),
            follower_replication_throttled_rate=_or_none_at_all(self.follower.throttle.bytes_per_second),
        )

    def holds_back_follower(self, partition: Partition, replica_id: int) -> bool:
        """Whether we, who lead it, give this follower nothing for now."""
        leader = partition.leader
        return leader is not None and replica_id not in leader.isr and self.leader.must_wait(partition)

    def holds_us_back(self, partition: Partition) -> bool:
        """Whether we, who follow, ask for nothing for now."""
        follower = partition.follower
        if follower is None or follower.is_in_sync or follower.leader_high_watermark is None:
            return False  # in a new epoch nobody knows whether it is in sync before it has asked once
        return self.follower.must_wait(partition)

    def _rates_changed(self) -> None:
        rates = self._configuration.of_broker(ReplicationRateSettings)
        self.leader.throttle.bytes_per_second = rates.leader_replication_throttled_rate
        self.follower.throttle.bytes_per_second = rates.follower_replication_throttled_rate

    def _topic_changed(self, topic: str) -> None:
        settings = self._configuration.of_topic(ThrottledReplicasSettings, topic)
        for side, entries in (
            (self.leader, settings.leader_replication_throttled_replicas),
            (self.follower, settings.follower_replication_throttled_replicas),
        ):
            if entries:
                side.lists[topic] = ThrottledReplicas(entries)
            else:
                side.lists.pop(topic, None)


def _or_none_at_all(bytes_per_second: int | None) -> int:
    return LONG_MAX if bytes_per_second is None else bytes_per_second
