"""What others got wrong where brokers and their store meet, by the rows of docs/reliability-rows.md."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import pytest
from tests.broker.partition_alone import PartitionAlone
from tests.broker.running_broker import batch_of
from tests.broker.running_cluster import RunningCluster

from strandline.broker.configs.resources import ResourceType
from strandline.broker.controller_writes import ControllerWrites
from strandline.broker.current_session import CurrentSession
from strandline.broker.procedures import begin
from strandline.controller.changes import RequestDeletion
from strandline.controller.effects import Write
from strandline.controller.events import Outcome
from strandline.log.recovery import open_log
from strandline.metadata import paths
from strandline.metadata.answer import Answer
from strandline.metadata.config_values import decode_config
from strandline.metadata.errors import ConnectionLost
from strandline.metadata.operations import ANY_VERSION
from strandline.metadata.store import Stat
from strandline.metadata.values import decode_partition_state
from strandline.model.partitions import TopicPartition
from strandline.model.settings import LogSettings
from strandline.simulation.disk import SimulatedDisk
from strandline.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)

ORDERS = TopicPartition("orders", 0)
EXPIRATIONS = 5


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[RunningCluster]:
    with RunningCluster(tmp_path, min_insync_replicas="2") as running:
        running.create("orders", (1, 2, 3))
        running.produce(ORDERS, b"first")
        yield running


def partition_with_small_segments() -> PartitionAlone:
    settings = LogSettings(segment_bytes=200, segment_index_bytes=12_000)
    log = open_log(SimulatedDisk(), "/orders-0", ORDERS, settings, now_ms=0)
    partition = PartitionAlone(ORDERS, UUID(int=1).bytes, log)
    partition.lead(replicas=(1, 2))
    return partition


def test_11_kafka_9835_a_read_is_what_it_was_when_it_was_made() -> None:
    """The size of the file was asked for twice, and what had been appended in between was sent too."""
    partition = partition_with_small_segments()
    partition.append([batch_of(b"a")], 0)
    partition.replicate()
    found = partition.read(0, 10_000)
    before = found.read()
    partition.append([batch_of(b"b")], 0)
    assert found.read() == before


def test_11_kafka_9196_nothing_above_the_high_watermark_is_read_whatever_rolls() -> None:
    """Where it lay in the files was remembered, and was wrong once another segment had begun."""
    partition = partition_with_small_segments()
    for number in range(12):
        partition.append([batch_of(b"%d" % number)], 0)
        if number == 6:
            partition.replicate()
    assert partition.high_watermark == 7
    offset = 0
    while offset < partition.high_watermark:
        found = partition.read(offset, 10_000)
        assert found.length, "a reader below the high watermark gets on"
        batches = found.length // len(batch_of(b"0"))
        offset += batches
    assert offset == partition.high_watermark
    assert partition.read(offset, 10_000).length == 0


def test_17_kafka_6082_a_controller_that_was_replaced_writes_nothing(cluster: RunningCluster) -> None:
    """Its write carries the version of `/controller_epoch` that it knows, and the store compares."""
    node = cluster.ask_store(lambda session: session.get(paths.CONTROLLER_EPOCH))
    outcomes: list[Outcome] = []

    async def write(version: int) -> None:
        writes = ControllerWrites(cluster.brokers[2].session)
        outcomes.append(await writes.write(Write(1, version, (RequestDeletion("nobody"),))))

    cluster.call(lambda: begin(write(node.stat.version - 1)))
    cluster.wait_until(lambda: outcomes == [Outcome.FENCED])
    assert cluster.ask_store(lambda session: session.children(paths.DELETE_TOPICS)).names == ()


class DeafSession(CurrentSession):
    """What it writes is written, and the answer is lost."""

    def set(self, path: str, data: bytes, version: int = ANY_VERSION) -> Answer[Stat]:
        lost: Answer[Stat] = Answer()
        super().set(path, data, version).then(lambda _: lost.deliver(ConnectionLost("as if")))
        return lost


def test_19_kafka_14144_an_isr_that_was_written_without_our_hearing_of_it(cluster: RunningCluster) -> None:
    """The leader would be fenced by its own write for ever. It reads, finds what it wanted, and goes on."""
    broker = cluster.brokers[1]
    cluster.call(lambda: setattr(broker.membership.isr_changes, "_session", DeafSession(broker.session.now)))
    cluster.call(cluster.brokers[3].membership.fetchers.close)

    def isr() -> tuple[int, ...]:
        leader = broker.partitions.by_name["orders"][0].leader
        assert leader is not None
        return () if leader.pending is not None else leader.isr

    cluster.produce(ORDERS, b"3 does not fetch this, and leaves the ISR")
    cluster.wait_until(lambda: cluster.call(isr) == (1, 2))
    state = cluster.ask_store(lambda session: session.get(paths.partition_state_path(ORDERS)))
    assert decode_partition_state(ORDERS, state.data).isr == (1, 2)
    cluster.produce(ORDERS, b"and on it goes")


@pytest.mark.parametrize("broker_id", [1, 2])
def test_20_kafka_7165_and_21_kafka_14887_a_session_expires_again_and_again(
    cluster: RunningCluster, broker_id: int
) -> None:
    """That of the controller, which leads, and that of a follower: they register anew, and nobody stops."""
    broker = cluster.brokers[broker_id]
    for number in range(EXPIRATIONS):
        before = cluster.call(lambda: broker.membership.registration.broker_epoch)
        cluster.call(lambda: cluster.expire(broker_id))
        cluster.wait_until(
            lambda before=before: cluster.call(lambda: broker.membership.registration.broker_epoch) > before  # type: ignore[misc]
        )
        cluster.wait_until(lambda: cluster.has_controller() and cluster.leader_of(ORDERS) > 0)
        cluster.produce_when_possible(ORDERS, b"%d" % number)
    ids = cluster.ask_store(lambda session: session.children(paths.BROKER_IDS)).names
    assert ids == ("1", "2", "3")


def test_20_our_own_registration_of_a_moment_ago_is_not_in_the_way(cluster: RunningCluster) -> None:
    """KAFKA-7165: after a lost answer the node is there, and it is ours."""
    membership = cluster.brokers[3].membership
    before = cluster.call(lambda: membership.registration.broker_epoch)
    cluster.call(lambda: begin(membership._register(None)))
    cluster.wait_until(lambda: cluster.call(lambda: membership.registration.broker_epoch) > before)


def test_24_kafka_3328_changes_at_two_brokers_at_once_are_both_kept(cluster: RunningCluster) -> None:
    names = ["flush.ms", "flush.messages", "retention.bytes", "segment.ms", "delete.retention.ms", "max.message.bytes"]
    with cluster.peer(1) as first, cluster.peer(2) as second:
        peers = [second if number % 2 else first for number in range(len(names))]
        for peer, name in zip(peers, names, strict=True):
            resource = AlterConfigsResource(ResourceType.TOPIC, "orders", [AlterableConfig(name, 0, "20000")])
            peer.tell(IncrementalAlterConfigsRequest([resource]), 1)
        for peer in peers:
            assert peer.hear(1, IncrementalAlterConfigsResponse).responses[0].error_code == 0
    path = paths.config_path(paths.entity_path(paths.TOPIC_CONFIGS, "orders"))
    stored = cluster.ask_store(lambda session: session.get(path))
    assert decode_config(path, stored.data) == dict.fromkeys(names, "20000")
