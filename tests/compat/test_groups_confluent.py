"""confluent-kafka (librdkafka) in groups: both protocols, static members, cooperative rebalances, admin."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest
from confluent_kafka import (
    Consumer,
    ConsumerGroupTopicPartitions,
    ConsumerGroupType,
    KafkaException,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient
from tests.compat import group_stories
from tests.compat.group_members import (
    HEARTBEAT_MS,
    PARTITIONS,
    SESSION_MS,
    WAIT_S,
    Client,
    Member,
    read_of,
    share_fairly,
    wait_until,
)
from tests.compat.group_stories import OpenClient, Produce, values

from strandline.testing import Broker

CLASSIC = {"session.timeout.ms": SESSION_MS, "heartbeat.interval.ms": HEARTBEAT_MS}
RANGE = {**CLASSIC, "partition.assignment.strategy": "range"}
ROUND_ROBIN = {**CLASSIC, "partition.assignment.strategy": "roundrobin"}
COOPERATIVE = {**CLASSIC, "partition.assignment.strategy": "cooperative-sticky"}
KIP_848 = {"group.protocol": "consumer"}
KIP_848_RANGE = {**KIP_848, "group.remote.assignor": "range"}
PROTOCOLS = [
    pytest.param(RANGE, id="range"),
    pytest.param(ROUND_ROBIN, id="roundrobin"),
    pytest.param(COOPERATIVE, id="cooperative-sticky"),
    pytest.param(KIP_848, id="kip-848"),
    pytest.param(KIP_848_RANGE, id="kip-848-range"),
]


class ConfluentClient:
    def __init__(self, bootstrap: str, topic: str, group: str, settings: dict[str, Any]) -> None:
        self.assignments = 0
        self.revoked: list[int] = []
        self._topic = topic
        self.consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": group,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                **settings,
            }
        )
        self.consumer.subscribe([topic], on_assign=self._on_assign, on_revoke=self._on_revoke)

    def _on_assign(self, _consumer: Consumer, _partitions: list[TopicPartition]) -> None:
        self.assignments += 1

    def _on_revoke(self, _consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self.revoked += [partition.partition for partition in partitions]

    def poll(self) -> Iterable[tuple[int, bytes]]:
        for message in self.consumer.consume(100, 0.05):
            failure = message.error()
            if failure is not None:
                raise KafkaException(failure)
            partition, value = message.partition(), message.value()
            assert partition is not None
            assert value is not None
            yield partition, value

    def assigned(self) -> Iterable[int]:
        return [partition.partition for partition in self.consumer.assignment()]

    def commit(self) -> object:
        return self.consumer.commit(asynchronous=False)

    def seek(self, partition: int, offset: int) -> None:
        self.consumer.seek(TopicPartition(self._topic, partition, offset))

    def close(self) -> None:
        self.consumer.close()


def opening(broker: Broker, settings: dict[str, Any]) -> OpenClient:
    def open_client(topic: str, group: str) -> Callable[[], ConfluentClient]:
        return lambda: ConfluentClient(broker.bootstrap, topic, group, settings)

    return open_client


def producing(broker: Broker) -> Produce:
    def produce(topic: str, values: list[bytes]) -> None:
        producer = Producer({"bootstrap.servers": broker.bootstrap})
        for number, value in enumerate(values):
            producer.produce(topic, value, partition=number % PARTITIONS)
        assert producer.flush(WAIT_S) == 0

    return produce


def confluent(member: Member) -> Callable[[Callable[[ConfluentClient], Any]], Any]:
    """Orders for what only this client has."""

    def do(order: Callable[[ConfluentClient], Any]) -> Any:
        def obey(client: Client) -> Any:
            assert isinstance(client, ConfluentClient)
            return order(client)

        return member.do(obey)

    return do


@pytest.mark.parametrize("settings", PROTOCOLS)
def test_three_members_share_and_one_goes(group_broker: Broker, topic: str, settings: dict[str, Any]) -> None:
    group_stories.three_members_share_and_one_goes(opening(group_broker, settings), producing(group_broker), topic)


@pytest.mark.parametrize("settings", PROTOCOLS)
def test_commit_and_resume(group_broker: Broker, topic: str, settings: dict[str, Any]) -> None:
    group_stories.what_was_committed_is_not_read_again(opening(group_broker, settings), producing(group_broker), topic)


@pytest.mark.parametrize("settings", [PROTOCOLS[0], PROTOCOLS[3]])
def test_seek(group_broker: Broker, topic: str, settings: dict[str, Any]) -> None:
    group_stories.a_member_seeks(opening(group_broker, settings), producing(group_broker), topic)


@pytest.mark.parametrize("how", ["stop", "kill"])
@pytest.mark.parametrize("settings", [PROTOCOLS[2], PROTOCOLS[3]])
def test_a_restart(mortal_broker: Broker, topic: str, settings: dict[str, Any], how: str) -> None:
    group_stories.members_go_on_after_a_restart(
        opening(mortal_broker, settings), producing(mortal_broker), topic, mortal_broker, how
    )


@pytest.mark.parametrize("settings", [PROTOCOLS[2], PROTOCOLS[3]])
def test_members_keep_what_need_not_move(group_broker: Broker, topic: str, settings: dict[str, Any]) -> None:
    """Cooperative: who has six partitions gives up three when another comes, and goes on with the others."""
    producing(group_broker)(topic, values(0, 60))
    opens = opening(group_broker, settings)(topic, f"{topic}-group")
    with Member(opens) as anna:
        wait_until(lambda: share_fairly(anna), anna)
        with Member(opens) as bert:
            wait_until(lambda: share_fairly(anna, bert), anna, bert)
            assert len(confluent(anna)(lambda client: client.revoked)) == 3
            assert confluent(bert)(lambda client: client.revoked) == []


@pytest.mark.parametrize("settings", [PROTOCOLS[0], PROTOCOLS[2]])
def test_a_static_member_comes_back_and_nobody_notices(
    group_broker: Broker, topic: str, settings: dict[str, Any]
) -> None:
    """KIP-345."""
    producing(group_broker)(topic, values(0, 60))
    group = f"{topic}-group"
    kitchen = opening(group_broker, {**settings, "group.instance.id": "kitchen"})(topic, group)
    cellar = opening(group_broker, {**settings, "group.instance.id": "cellar"})(topic, group)
    with Member(cellar) as other:
        wait_until(lambda: share_fairly(other), other)
        with Member(kitchen) as first:
            wait_until(lambda: share_fairly(first, other), first, other)
            had = first.assigned
            before = confluent(other)(lambda client: client.assignments)
        with Member(kitchen) as again:
            wait_until(lambda: again.assigned == had, again, other)
            producing(group_broker)(topic, values(60, 60))
            wait_until(lambda: len(set(read_of(first, again, other))) == 120, again, other)
            assert confluent(other)(lambda client: client.assignments) == before


def test_a_group_may_change_its_protocol_while_it_is_empty(group_broker: Broker, topic: str) -> None:
    produce, group = producing(group_broker), f"{topic}-group"
    produce(topic, values(0, 60))
    protocols: list[dict[str, Any]] = [RANGE, KIP_848, RANGE]
    for number, settings in enumerate(protocols):
        with Member(opening(group_broker, settings)(topic, group)) as member:
            expected = values(0, 60) if number == 0 else values(60 * number, 60)
            wait_until(lambda expected=expected, member=member: read_of(member) == expected, member)  # type: ignore[misc]
            member.do(lambda client: client.commit())
        produce(topic, values(60 * (number + 1), 60))


def test_a_pattern_with_the_new_protocol_is_refused(group_broker: Broker, topic: str) -> None:
    """The broker would have to match it (docs/gaps.md). The member is told, and does not wait for ever."""
    with (
        pytest.raises(KafkaException, match="The regular expression is not valid"),
        Member(opening(group_broker, KIP_848)("^topic-.*", f"{topic}-group")) as member,
    ):
        wait_until(lambda: False, member)


def test_a_pattern_with_the_classic_protocol(group_broker: Broker, topic: str) -> None:
    """The client matches it."""
    producing(group_broker)(topic, values(0, 60))
    with Member(opening(group_broker, RANGE)(f"^{topic}$", f"{topic}-group")) as member:
        wait_until(lambda: read_of(member) == values(0, 60), member)


# Admin.


@pytest.mark.parametrize(("settings", "kind"), [(RANGE, "CLASSIC"), (KIP_848, "CONSUMER")], ids=["classic", "kip-848"])
def test_groups_are_listed_and_described(group_broker: Broker, topic: str, settings: dict[str, Any], kind: str) -> None:
    admin, group = AdminClient({"bootstrap.servers": group_broker.bootstrap}), f"{topic}-group"
    producing(group_broker)(topic, values(0, 6))
    with Member(opening(group_broker, {**settings, "client.id": "anna"})(topic, group)) as member:
        wait_until(lambda: share_fairly(member), member)
        listed = admin.list_consumer_groups(types={ConsumerGroupType[kind]}).result(WAIT_S)
        assert listed.errors == []
        (found,) = [each for each in listed.valid if each.group_id == group]
        assert (found.state.name, found.type.name) == ("STABLE", kind)
        (described,) = [future.result(WAIT_S) for future in admin.describe_consumer_groups([group]).values()]
        assert (described.state.name, described.coordinator.port) == ("STABLE", group_broker.port)
        (one,) = described.members
        assert (one.client_id, one.host) == ("anna", "/127.0.0.1")
        assert sorted(place.partition for place in one.assignment.topic_partitions) == list(range(PARTITIONS))


def test_offsets_are_reset_and_groups_deleted(group_broker: Broker, topic: str) -> None:
    admin, group = AdminClient({"bootstrap.servers": group_broker.bootstrap}), f"{topic}-group"
    produce, opens = producing(group_broker), opening(group_broker, RANGE)(topic, group)
    produce(topic, values(0, 60))
    with Member(opens) as member:
        wait_until(lambda: read_of(member) == values(0, 60), member)
        member.do(lambda client: client.commit())
    places = [TopicPartition(topic, index, 8) for index in range(PARTITIONS)]
    (altered,) = admin.alter_consumer_group_offsets([ConsumerGroupTopicPartitions(group, places)]).values()
    assert [place.error for place in altered.result(WAIT_S).topic_partitions] == [None] * PARTITIONS
    (listed,) = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)]).values()
    assert {place.offset for place in listed.result(WAIT_S).topic_partitions} == {8}
    with Member(opens) as member:
        wait_until(lambda: len(member.values) >= 12, member)
        assert read_of(member) == values(48, 12)
        (refused,) = admin.delete_consumer_groups([group]).values()
        with pytest.raises(KafkaException, match="NON_EMPTY_GROUP"):
            refused.result(WAIT_S)
    (deleted,) = admin.delete_consumer_groups([group]).values()
    deleted.result(WAIT_S)
    with Member(opens) as member:
        wait_until(lambda: read_of(member) == values(0, 60), member)
