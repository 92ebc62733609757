"""kafka-python in groups: join, rebalance, static members, commit and resume, seek, restarts, admin."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import KafkaAdminClient
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from kafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
from kafka.errors import KafkaConnectionError
from tests.compat import group_stories
from tests.compat.group_members import (
    HEARTBEAT_MS,
    PARTITIONS,
    SESSION_MS,
    WAIT_S,
    Member,
    read_of,
    share_fairly,
    wait_until,
)
from tests.compat.group_stories import OpenClient, Produce, values

from strandline.testing import Broker

POLL_MS = 1_000  # long enough to join in: version 3.0.12 may lose a join that ends between two polls, and hang
ASSIGNORS = [
    pytest.param(assignor, id=assignor.name)
    for assignor in (RangePartitionAssignor, RoundRobinPartitionAssignor, StickyPartitionAssignor)
]


class KafkaPythonClient:
    def __init__(self, bootstrap: str, topic: str, group: str, settings: dict[str, Any]) -> None:
        self._topic = topic
        self.consumer = KafkaConsumer(
            topic,
            bootstrap_servers=bootstrap,
            group_id=group,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            session_timeout_ms=SESSION_MS,
            heartbeat_interval_ms=HEARTBEAT_MS,
            **settings,
        )

    def poll(self) -> Iterable[tuple[int, bytes]]:
        try:
            polled = self.consumer.poll(timeout_ms=POLL_MS)
        except KafkaConnectionError:  # the broker is gone for a while
            return
        for partition, records in polled.items():
            yield from ((partition.partition, record.value) for record in records)

    def assigned(self) -> Iterable[int]:
        return [place.partition for place in self.consumer.assignment()]

    def commit(self) -> object:
        return self.consumer.commit()

    def seek(self, partition: int, offset: int) -> object:
        return self.consumer.seek(TopicPartition(self._topic, partition), offset)

    def close(self) -> object:
        return self.consumer.close()


def opening(broker: Broker, **settings: Any) -> OpenClient:
    def open_client(topic: str, group: str) -> Callable[[], KafkaPythonClient]:
        return lambda: KafkaPythonClient(broker.bootstrap, topic, group, settings)

    return open_client


def producing(broker: Broker) -> Produce:
    def produce(topic: str, values: list[bytes]) -> None:
        producer = KafkaProducer(bootstrap_servers=broker.bootstrap)
        try:
            sent = [producer.send(topic, value, partition=number % PARTITIONS) for number, value in enumerate(values)]
            for future in sent:
                future.get(WAIT_S)
        finally:
            producer.close()

    return produce


@pytest.mark.parametrize("assignor", ASSIGNORS)
def test_three_members_share_and_one_goes(group_broker: Broker, topic: str, assignor: type) -> None:
    opens = opening(group_broker, partition_assignment_strategy=[assignor])
    group_stories.three_members_share_and_one_goes(opens, producing(group_broker), topic)


def test_commit_and_resume(group_broker: Broker, topic: str) -> None:
    group_stories.what_was_committed_is_not_read_again(opening(group_broker), producing(group_broker), topic)


def test_seek(group_broker: Broker, topic: str) -> None:
    group_stories.a_member_seeks(opening(group_broker), producing(group_broker), topic)


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("how", ["stop", "kill"])
def test_a_restart(mortal_broker: Broker, topic: str, how: str) -> None:
    group_stories.members_go_on_after_a_restart(
        opening(mortal_broker), producing(mortal_broker), topic, mortal_broker, how
    )
    gc.collect()  # sockets that could not connect, which the client has not closed: here, and not in another test


def test_a_static_member_has_its_partitions_back(group_broker: Broker, topic: str) -> None:
    """KIP-345."""
    producing(group_broker)(topic, values(0, 60))
    group = f"{topic}-group"
    kitchen = opening(group_broker, group_instance_id="kitchen")(topic, group)
    cellar = opening(group_broker, group_instance_id="cellar")(topic, group)
    with Member(cellar) as other:
        wait_until(lambda: share_fairly(other), other)
        with Member(kitchen) as first:
            wait_until(lambda: share_fairly(first, other), first, other)
            had = first.assigned
        with Member(kitchen) as again:
            wait_until(lambda: again.assigned == had and share_fairly(again, other), again, other)


def test_groups_are_looked_at_and_deleted(group_broker: Broker, topic: str) -> None:
    group = f"{topic}-group"
    producing(group_broker)(topic, values(0, 60))
    admin = KafkaAdminClient(bootstrap_servers=group_broker.bootstrap)
    try:
        with Member(opening(group_broker, client_id="anna")(topic, group)) as member:
            wait_until(lambda: read_of(member) == values(0, 60), member)
            member.do(lambda client: client.commit())
            assert group in {listed["group_id"] for listed in admin.list_groups()}
            described = admin.describe_groups([group])[group]
            assert described["group_state"] == "Stable"
            (one,) = described["members"]
            assert (one["client_id"], one["client_host"]) == ("anna", "/127.0.0.1")
        offsets = admin.list_group_offsets(group)[group]
        found = {place.partition: committed.offset for place, committed in offsets.items()}
        assert found == dict.fromkeys(range(PARTITIONS), 10)
        admin.delete_groups([group])
        assert group not in {listed["group_id"] for listed in admin.list_groups()}
    finally:
        admin.close()
