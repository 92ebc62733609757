"""A data directory that fails takes only its partitions: others lead them, the broker has the rest (SPEC L10)."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.broker.running_broker import batch_of
from tests.broker.running_cluster import RunningCluster

from strandline.log.log_directory import LogDirectory
from strandline.metadata import paths
from strandline.metadata.values import decode_partition_state
from strandline.model.failures import ErrorCode
from strandline.model.partitions import TopicPartition

FIRST, SECOND = TopicPartition("orders", 0), TopicPartition("bills", 0)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[RunningCluster]:
    """Broker 1 leads two partitions, one in each of its directories; 2 and 3 follow."""
    with RunningCluster(tmp_path, log_dirs=2) as running:
        for topic in ("orders", "bills"):
            running.create(topic, (1, 2, 3))
        for partition in (FIRST, SECOND):
            running.produce(partition, b"before")
        yield running


def fail(cluster: RunningCluster, partition: TopicPartition, number: int = errno.EIO) -> None:
    def run() -> None:
        directory = cluster.brokers[1].directories.directory_of(partition)
        assert isinstance(directory, LogDirectory)
        directory.failed(OSError(number, "as if"))

    cluster.call(run)


@pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC])
def test_others_lead_what_was_in_it_and_the_rest_stays(cluster: RunningCluster, number: int) -> None:
    fail(cluster, FIRST, number)
    cluster.wait_until(lambda: cluster.leader_of(FIRST) in (2, 3))
    shown = cluster.shown(FIRST)
    assert (sorted(shown.isr_nodes), shown.offline_replicas) == ([2, 3], [1])
    assert cluster.leader_of(SECOND) == 1
    assert sorted(cluster.shown(SECOND).isr_nodes) == [1, 2, 3]
    for partition in (FIRST, SECOND):
        cluster.produce(partition, b"after")
    assert cluster.log_end(2, FIRST) == 2


def test_the_notice_is_taken_away_when_it_is_read(cluster: RunningCluster) -> None:
    fail(cluster, FIRST)
    cluster.wait_until(lambda: cluster.leader_of(FIRST) != 1)
    path = paths.LOG_DIR_EVENT_NOTIFICATION
    cluster.wait_until(lambda: cluster.ask_store(lambda session: session.children(path)).names == ())


def test_who_still_writes_to_the_old_leader_is_told_to_look_elsewhere(cluster: RunningCluster) -> None:
    fail(cluster, FIRST)
    with cluster.peer(1) as peer:
        (answer,) = peer.produce("orders", batch_of(b"late"), acks=-1)
    assert answer.error_code == ErrorCode.KAFKA_STORAGE_ERROR


def test_a_leader_whose_log_has_failed_turns_nobody_out_of_the_isr(cluster: RunningCluster) -> None:
    """Its followers get nothing from it, and would look as if they lagged: nobody would be left to lead."""
    partition = cluster.brokers[1].partitions.by_name["orders"][0]

    def fail_and_look_later() -> None:
        partition.log.failed(OSError(errno.EIO, "as if"))
        partition._elapsed_ms = lambda: cluster.brokers[1].host.elapsed_ms() + 60_000
        partition.check_followers()

    cluster.call(fail_and_look_later)
    for _ in range(3):  # a proposal would read first, and then write
        state = cluster.ask_store(lambda session: session.get(paths.partition_state_path(FIRST)))
    assert {2, 3} <= set(decode_partition_state(FIRST, state.data).isr)


def test_a_follower_in_it_leaves_the_isr(cluster: RunningCluster) -> None:
    followed = TopicPartition("orders-of-2", 0)
    cluster.create(followed.topic, (2, 1))
    fail(cluster, followed)
    cluster.wait_until(lambda: cluster.shown(followed).isr_nodes == [2])
    cluster.produce(followed, b"after")
