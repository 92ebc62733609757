"""Settings that are changed at one broker are in force at all of them, by `/config/changes` (SPEC M1)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.broker.running_cluster import RunningCluster

from strandline.broker.broker import Broker
from strandline.metadata import paths
from strandline.metadata.config_values import encode_config, encode_config_change
from strandline.model.settings import CleanerSettings


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[RunningCluster]:
    with RunningCluster(tmp_path) as running:
        running.create("orders", (1, 2, 3))
        yield running


def retention_of(broker: Broker) -> int:
    return broker.partitions.by_name["orders"][0].log.settings.retention_ms


def wait_for(cluster: RunningCluster, *expected: int) -> None:
    def found() -> tuple[int, ...]:
        return tuple(retention_of(broker) for broker in cluster.brokers.values())

    cluster.wait_until(lambda: cluster.call(found) == expected)


@pytest.mark.parametrize("asked_at", [1, 2, 3])
def test_a_topics_settings_reach_every_replica(cluster: RunningCluster, asked_at: int) -> None:
    with cluster.peer(asked_at) as peer:
        peer.set_topic("orders", retention_ms="12345")
    wait_for(cluster, 12345, 12345, 12345)


def test_the_defaults_of_all_brokers_reach_all(cluster: RunningCluster) -> None:
    with cluster.peer(2) as peer:
        peer.set_broker("", log_retention_ms="23456")
    wait_for(cluster, 23456, 23456, 23456)


def test_a_brokers_own_settings_are_its_own(cluster: RunningCluster) -> None:
    with cluster.peer(3) as peer:
        peer.set_broker("3", log_retention_ms="34567")
        before = cluster.call(lambda: retention_of(cluster.brokers[1]))
        peer.set_broker("", log_cleaner_threads="2")  # seen everywhere, and with it everything before it
    cluster.wait_until(
        lambda: cluster.call(
            lambda: all(each.configuration.of_broker(CleanerSettings).threads == 2 for each in cluster.brokers.values())
        )
    )
    wait_for(cluster, before, before, 34567)


def test_a_default_does_not_take_a_topics_own_away(cluster: RunningCluster) -> None:
    """KAFKA-9254: a change of a dynamic default wiped what topics had set; compact became delete."""
    with cluster.peer(1) as peer:
        peer.set_topic("orders", cleanup_policy="compact", retention_ms="777")
        peer.set_broker("", log_cleanup_policy="delete", log_retention_ms="888")
    wait_for(cluster, 777, 777, 777)
    assert all(
        broker.partitions.by_name["orders"][0].log.settings.cleanup_policy == ("compact",)
        for broker in cluster.brokers.values()
    )


def test_what_a_tool_writes_into_the_store_is_in_force_too(cluster: RunningCluster) -> None:
    """As `kafka-configs.sh --zookeeper` did."""
    entity = paths.entity_path(paths.TOPIC_CONFIGS, "orders")
    config = encode_config({"retention.ms": "4567"})
    cluster.ask_store(lambda session: session.set(paths.config_path(entity), config))
    notice = encode_config_change(entity)
    cluster.ask_store(lambda session: session.create(paths.CONFIG_CHANGE_PREFIX, notice, sequential=True))
    wait_for(cluster, 4567, 4567, 4567)


def test_a_notice_that_cannot_be_read_stops_nobody(cluster: RunningCluster) -> None:
    cluster.ask_store(lambda session: session.create(paths.CONFIG_CHANGE_PREFIX, b"{nonsense", sequential=True))
    with cluster.peer(1) as peer:
        peer.set_topic("orders", retention_ms="12345")
    wait_for(cluster, 12345, 12345, 12345)


def test_a_broker_that_was_away_has_them_when_it_is_back(cluster: RunningCluster) -> None:
    cluster.stop(3)
    with cluster.peer(1) as peer:
        peer.set_topic("orders", retention_ms="12345")
    cluster.start(3)
    wait_for(cluster, 12345, 12345, 12345)
