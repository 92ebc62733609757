"""What the controller says twice, or in two ways at once, is done in turn (Kafka has replicaStateChangeLock for it)."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import pytest
from tests.broker.running_cluster import RunningCluster

from strandline.broker import replicas
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


def lead(cluster: RunningCluster, leader_epoch: int, partitions: int = 1) -> LeaderAndIsrRequest:
    membership = cluster.brokers[1].membership
    states = [
        LeaderAndIsrPartitionState(
            "", index, membership.fence.controller_epoch, 1, leader_epoch, [1], leader_epoch, [1], is_new=True
        )
        for index in range(partitions)
    ]
    topic = LeaderAndIsrTopicState("orders", UUID(int=7).bytes, states)
    return LeaderAndIsrRequest(
        membership.fence.controller_id,
        False,
        membership.fence.controller_epoch,
        membership.registration.broker_epoch,
        INCREMENTAL,
        topic_states=[topic],
    )


def stop(cluster: RunningCluster, leader_epoch: int, partitions: int = 1) -> StopReplicaRequest:
    membership = cluster.brokers[1].membership
    states = [StopReplicaPartitionState(index, leader_epoch, True) for index in range(partitions)]
    return StopReplicaRequest(
        membership.fence.controller_id,
        False,
        membership.fence.controller_epoch,
        membership.registration.broker_epoch,
        topic_states=[StopReplicaTopicState("orders", states)],
    )


def carry_out(cluster: RunningCluster, *requests: LeaderAndIsrRequest | StopReplicaRequest) -> list[object]:
    """As over several connections: none waits for the one before."""
    own = cluster.brokers[1].membership.replicas
    done: list[object] = []

    async def one(request: LeaderAndIsrRequest | StopReplicaRequest) -> None:
        if isinstance(request, LeaderAndIsrRequest):
            done.append(await own.apply_leader_and_isr(request))
        else:
            done.append(await own.stop_replicas(request))

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


def test_many_replicas_are_deleted_in_turns(cluster: RunningCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """Or everybody would wait for a topic of very many partitions: each is a folder to rename."""
    monkeypatch.setattr(replicas, "LOGS_PER_TURN", 3)
    deleted: list[int] = []
    remove_many = LogDirectory.remove_many

    def counted(self: LogDirectory, tokens: dict[TopicPartition, str], *, now_ms: int) -> None:
        deleted.append(len(tokens))
        remove_many(self, tokens, now_ms=now_ms)

    monkeypatch.setattr(LogDirectory, "remove_many", counted)
    carry_out(cluster, lead(cluster, 0, partitions=7))
    broker = cluster.brokers[1]
    assert len(broker.partitions.by_name["orders"]) == 7
    carry_out(cluster, stop(cluster, 1, partitions=7))
    assert deleted == [3, 3, 1]
    assert "orders" not in {partition.name.topic for partition in broker.partitions}
    assert not any(broker.directories.log_of(TopicPartition("orders", index)) for index in range(7))


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
