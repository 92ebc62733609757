"""What the controller says twice, or in two ways at once, is done in turn (Kafka has replicaStateChangeLock for it)."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import pytest
from tests.broker.running_cluster import RunningCluster

from strandline.broker.procedures import begin
from strandline.log.log_directory import LogDirectory
from strandline.model.failures import ErrorCode
from strandline.model.partitions import TopicPartition
from strandline.wire.messages.leader_and_isr import (
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    LeaderAndIsrTopicState,
)
from strandline.wire.messages.stop_replica import (
    StopReplicaPartitionState,
    StopReplicaRequest,
    StopReplicaTopicState,
)

NAME = TopicPartition("orders", 0)
INCREMENTAL, FULL = 1, 2


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[RunningCluster]:
    with RunningCluster(tmp_path, brokers=1) as running:
        running.create("other", (1,))  # from then on it knows its controller
        yield running


def lead(cluster: RunningCluster, leader_epoch: int) -> LeaderAndIsrRequest:
    membership = cluster.brokers[1].membership
    state = LeaderAndIsrPartitionState(
        "", 0, membership.fence.controller_epoch, 1, leader_epoch, [1], leader_epoch, [1], is_new=True
    )
    topic = LeaderAndIsrTopicState("orders", UUID(int=7).bytes, [state])
    return LeaderAndIsrRequest(
        membership.fence.controller_id,
        False,
        membership.fence.controller_epoch,
        membership.registration.broker_epoch,
        INCREMENTAL,
        topic_states=[topic],
    )


def stop(cluster: RunningCluster, leader_epoch: int) -> StopReplicaRequest:
    membership = cluster.brokers[1].membership
    state = StopReplicaPartitionState(0, leader_epoch, True)
    return StopReplicaRequest(
        membership.fence.controller_id,
        False,
        membership.fence.controller_epoch,
        membership.registration.broker_epoch,
        topic_states=[StopReplicaTopicState("orders", [state])],
    )


def carry_out(cluster: RunningCluster, *requests: LeaderAndIsrRequest | StopReplicaRequest) -> list[object]:
    """As over several connections: none waits for the one before."""
    replicas = cluster.brokers[1].membership.replicas
    done: list[object] = []

    async def one(request: LeaderAndIsrRequest | StopReplicaRequest) -> None:
        if isinstance(request, LeaderAndIsrRequest):
            done.append(await replicas.apply_leader_and_isr(request))
        else:
            done.append(await replicas.stop_replicas(request))

    def begin_all() -> None:
        for request in requests:
            begin(one(request))

    cluster.call(begin_all)
    cluster.wait_until(lambda: len(done) == len(requests))
    return done


def test_a_replica_that_is_announced_twice_has_one_log(cluster: RunningCluster) -> None:
    """A controller that lost patience says it again while the log is still being made: the second was another log over
    the same files, and the directory's checkpoints were about that one."""
    carry_out(cluster, lead(cluster, 0), lead(cluster, 1))
    broker = cluster.brokers[1]
    partition = broker.partitions.find(NAME)
    assert partition is not None
    assert partition.log is broker.directories.log_of(NAME)
    assert partition.leader_epoch == 1


def test_a_replica_that_is_stopped_while_its_log_is_made_is_gone(cluster: RunningCluster) -> None:
    carry_out(cluster, lead(cluster, 0), stop(cluster, 1))
    broker = cluster.brokers[1]
    assert broker.partitions.find(NAME) is None
    assert broker.directories.log_of(NAME) is None


def test_a_stray_that_cannot_be_set_aside_is_no_reason_to_say_nothing(
    cluster: RunningCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its directory goes offline with all that it has, and the controller hears of that in its own way (SPEC L10)."""

    def fail(directory: LogDirectory, *_: object, **__: object) -> None:
        raise directory.failed(OSError(errno.EIO, "as if"))

    monkeypatch.setattr(LogDirectory, "set_aside", fail)
    nothing = lead(cluster, 0)
    nothing.type, nothing.topic_states = FULL, []
    (response,) = carry_out(cluster, nothing)
    assert isinstance(response, LeaderAndIsrResponse)
    assert response.error_code == ErrorCode.NONE
