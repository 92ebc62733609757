"""Throttled replication (SPEC R11) and notices of ISR changes (SPEC R4): small state machines over time."""

from __future__ import annotations

import pytest

from strandline.model.partitions import TopicPartition
from strandline.model.settings import BadSetting
from strandline.replication.isr_notices import IsrChangeNotices
from strandline.replication.settings import ReplicationQuotaSettings, ReplicationSettings
from strandline.replication.throttle import ReplicationThrottle, ThrottledReplicas

ORDERS, BILLS = TopicPartition("orders", 0), TopicPartition("bills", 3)


class TestThrottledReplicas:
    def test_pairs(self) -> None:
        throttled = ThrottledReplicas(("0:101", "0:102", "1:101"))
        assert [throttled.has(0, 102), throttled.has(1, 102), throttled.has(2, 101)] == [True, False, False]

    def test_all(self) -> None:
        assert ThrottledReplicas(("*",)).has(7, 7)
        assert not ThrottledReplicas(()).has(7, 7)

    @pytest.mark.parametrize("entry", ["0", "0:", ":1", "a:1", "0:-1", "0:1:2", "**"])
    def test_nonsense(self, entry: str) -> None:
        with pytest.raises(BadSetting, match="write partition:broker"):
            ThrottledReplicas((entry,))


class TestThrottle:
    def throttle(self, bytes_per_second: int | None = 1000) -> ReplicationThrottle:
        return ReplicationThrottle(
            ReplicationQuotaSettings(replication_quota_window_num=3, replication_quota_window_size_seconds=1),
            bytes_per_second,
        )

    def test_a_first_burst_counts_for_a_whole_window(self) -> None:
        throttle = self.throttle()
        throttle.record(1000, 0)
        assert not throttle.is_exceeded(0)
        throttle.record(1, 1)
        assert throttle.is_exceeded(1)

    def test_it_recovers_with_time(self) -> None:
        throttle = self.throttle()
        throttle.record(2500, 0)
        assert throttle.rate(2000) == 1250.0
        assert throttle.is_exceeded(2000)
        assert not throttle.is_exceeded(2500)

    def test_old_windows_are_forgotten(self) -> None:
        throttle = self.throttle()
        for second in range(100):
            throttle.record(900, second * 1000)
        assert 900 <= throttle.rate(99_000) <= 1350
        assert throttle.rate(99_000 + 2000) < 900
        assert throttle.rate(200_000) == 0.0

    def test_memory_is_bounded_by_windows(self) -> None:
        throttle = self.throttle()
        for ms in range(10_000):
            throttle.record(1, ms)
        assert len(throttle._windows) <= 4

    def test_without_a_rate_there_is_no_limit(self) -> None:
        throttle = self.throttle(None)
        throttle.record(2**40, 0)
        assert not throttle.is_exceeded(0)


class TestNotices:
    def test_a_single_change_is_told_after_five_quiet_seconds(self) -> None:
        notices = IsrChangeNotices(0)
        assert notices.due(100_000) == ()
        notices.changed(ORDERS, 10_000)
        assert notices.due(15_000) == ()
        assert notices.due(15_001) == (ORDERS,)

    def test_where_there_is_no_quiet_it_is_told_once_a_minute(self) -> None:
        notices = IsrChangeNotices(0)
        told = []
        for now_ms in range(0, 180_000, 2_500):
            notices.changed(ORDERS if now_ms % 5_000 else BILLS, now_ms)
            due = notices.due(now_ms)
            if due:
                told.append(now_ms)
                notices.told(due, now_ms)
        assert told == [62_500, 125_000]

    def test_what_could_not_be_written_is_due_again(self) -> None:
        notices = IsrChangeNotices(0)
        notices.changed(ORDERS, 0)
        notices.changed(BILLS, 0)
        assert notices.due(6_000) == notices.due(7_000) == (ORDERS, BILLS)
        notices.told((ORDERS, BILLS), 7_000)
        assert notices.due(20_000) == ()


class TestSettings:
    def test_defaults(self) -> None:
        settings = ReplicationSettings()
        assert (settings.min_insync_replicas, settings.replica_lag_time_max_ms) == (1, 10_000)
        assert settings.isr_check_interval_ms == 5_000

    def test_a_topic_may_want_more_replicas_than_the_broker(self) -> None:
        broker = {"min.insync.replicas": "2", "replica.lag.time.max.ms": "30000"}
        settings = ReplicationSettings.from_properties({"min.insync.replicas": "3"}, broker)
        assert (settings.min_insync_replicas, settings.replica_lag_time_max_ms) == (3, 30_000)

    @pytest.mark.parametrize(("name", "value"), [("min.insync.replicas", "0"), ("replica.lag.time.max.ms", "soon")])
    def test_bad_values(self, name: str, value: str) -> None:
        with pytest.raises(BadSetting, match=name):
            ReplicationSettings.from_properties({}, {name: value})
