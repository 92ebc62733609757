"""CreateTopics, DeleteTopics and CreatePartitions against a whole broker: what they do, and what they refuse."""

from __future__ import annotations

import select
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.broker.admin_peer import AdminPeer, topic
from tests.broker.running_broker import RunningBroker, batch_of

from strandline.broker.configs.description import ConfigSource
from strandline.model.failures import ErrorCode
from strandline.wire.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
)
from strandline.wire.messages.create_topics import (
    CreatableTopic,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from strandline.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse, DeleteTopicState
from strandline.wire.primitives import NO_UUID


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[RunningBroker]:
    with RunningBroker(str(tmp_path)) as running:
        yield running


@pytest.fixture
def peer(broker: RunningBroker) -> Iterator[AdminPeer]:
    with AdminPeer.of(broker) as peer:
        yield peer


def folders(path: Path) -> set[str]:
    return {each.name for each in path.iterdir() if each.is_dir()}


# Creating.


@pytest.mark.parametrize("version", range(2, 8))
def test_topics_are_created_in_every_version(peer: AdminPeer, tmp_path: Path, version: int) -> None:
    orders, views = peer.create(topic("orders", 3, 1), topic("views", 1, 1), version=version)
    assert (orders.name, orders.error_code, views.error_code) == ("orders", 0, 0)
    assert peer.partition_count("orders") == 3
    assert {"orders-0", "orders-1", "orders-2", "views-0"} <= folders(tmp_path)
    if version >= 5:
        assert (orders.num_partitions, orders.replication_factor) == (3, 1)
        assert orders.configs is not None
        assert {config.name: config.value for config in orders.configs}["retention.ms"] == "604800000"
    if version >= 7:
        assert orders.topic_id == peer.metadata("orders").topics[0].topic_id != NO_UUID


def test_defaults_are_the_brokers(tmp_path: Path) -> None:
    with RunningBroker(str(tmp_path), num_partitions="4") as broker, AdminPeer.of(broker) as peer:
        (result,) = peer.create(topic("orders", -1, -1, configs={"cleanup.policy": "compact"}))
        assert (result.num_partitions, result.replication_factor) == (4, 1)
        sources = {config.name: config.config_source for config in result.configs or ()}
        assert sources["cleanup.policy"] == ConfigSource.DYNAMIC_TOPIC
        assert sources["retention.ms"] == ConfigSource.DEFAULT


def test_each_topic_of_a_request_is_described_with_its_own_settings(peer: AdminPeer) -> None:
    short, plain, shorter, again = peer.create(
        topic("short", 1, 1, configs={"retention.ms": "5"}),
        topic("plain", 1, 1),
        topic("shorter", 1, 1, configs={"retention.ms": "4"}),
        topic("again", 1, 1, configs={"retention.ms": "5"}),
    )
    described = [
        next((config.value, config.config_source) for config in result.configs or () if config.name == "retention.ms")
        for result in (short, plain, shorter, again)
    ]
    own, default = ConfigSource.DYNAMIC_TOPIC, ConfigSource.DEFAULT
    assert described == [("5", own), ("604800000", default), ("4", own), ("5", own)]


def test_replicas_may_be_assigned_by_hand(peer: AdminPeer) -> None:
    (result,) = peer.create(topic("orders", assignments={0: [1], 1: [1]}))
    assert (result.error_code, result.num_partitions) == (0, 2)


def test_a_dry_run_says_what_would_be_and_creates_nothing(peer: AdminPeer, tmp_path: Path) -> None:
    (result,) = peer.create(topic("orders", 2, 1), validate_only=True)
    assert (result.error_code, result.num_partitions, result.topic_id) == (0, 2, NO_UUID)
    assert peer.metadata("orders").topics[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert folders(tmp_path) == set()
    (refused,) = peer.create(topic("orders", 0, 1), validate_only=True)
    assert refused.error_code == ErrorCode.INVALID_PARTITIONS


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "a" * 250, "a/b", "a\0b", "ä", "__cluster_metadata"])
def test_a_name_that_cannot_be_a_topics_touches_no_file(peer: AdminPeer, tmp_path: Path, name: str) -> None:
    """reliability 7.2: 17; never touches the file system."""
    before = sorted(path.name for path in tmp_path.parent.rglob("*"))
    (result,) = peer.create(topic(name, 1, 1))
    assert result.error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
    assert result.error_message
    assert sorted(path.name for path in tmp_path.parent.rglob("*")) == before


BAD_TOPICS = {
    "no partitions": (topic("bad", 0, 1), ErrorCode.INVALID_PARTITIONS),
    "fewer than none": (topic("bad", -2, 1), ErrorCode.INVALID_PARTITIONS),
    "no replicas": (topic("bad", 1, 0), ErrorCode.INVALID_REPLICATION_FACTOR),
    "more replicas than brokers": (topic("bad", 1, 2), ErrorCode.INVALID_REPLICATION_FACTOR),
    "an unknown broker": (topic("bad", assignments={0: [7]}), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
    "no broker": (topic("bad", assignments={0: []}), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
    "a broker twice": (topic("bad", assignments={0: [1, 1]}), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
    "a gap": (topic("bad", assignments={0: [1], 2: [1]}), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
    "below zero": (topic("bad", assignments={-1: [1]}), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
    "a partition twice": (topic("bad", assignments=[(0, [1]), (0, [1])]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
    "counted and assigned": (topic("bad", 1, -1, assignments={0: [1]}), ErrorCode.INVALID_REQUEST),
    "an unknown setting": (topic("bad", 1, 1, configs={"retention.seconds": "1"}), ErrorCode.INVALID_CONFIG),
    "a bad value": (topic("bad", 1, 1, configs={"retention.ms": "a week"}), ErrorCode.INVALID_CONFIG),
    "a value out of bounds": (topic("bad", 1, 1, configs={"segment.bytes": "1"}), ErrorCode.INVALID_CONFIG),
    "no value": (topic("bad", 1, 1, configs={"retention.ms": None}), ErrorCode.INVALID_CONFIG),
    "a contradiction": (
        topic("bad", 1, 1, configs={"min.compaction.lag.ms": "2", "max.compaction.lag.ms": "1"}),
        ErrorCode.INVALID_CONFIG,
    ),
    "tiered storage": (topic("bad", 1, 1, configs={"remote.storage.enable": "true"}), ErrorCode.INVALID_CONFIG),
}


@pytest.mark.parametrize("what", BAD_TOPICS)
def test_what_cannot_be_created_is_refused_with_a_sentence(peer: AdminPeer, tmp_path: Path, what: str) -> None:
    """reliability 7.2: 37 / 38 / 39 / 40. The others of the request are created all the same."""
    asked, error_code = BAD_TOPICS[what]
    bad, good = peer.create(asked, topic("good", 1, 1))
    assert bad.error_code == error_code
    assert bad.error_message is not None
    assert bad.error_message.endswith((".", "?"))
    assert (bad.num_partitions, bad.replication_factor, bad.topic_id, bad.configs) == (-1, -1, NO_UUID, [])
    assert good.error_code == 0
    assert folders(tmp_path) == {"good-0"}


def test_a_topic_is_there_once(peer: AdminPeer) -> None:
    peer.create_one("orders")
    (again,) = peer.create(topic("orders", 1, 1))
    assert again.error_code == ErrorCode.TOPIC_ALREADY_EXISTS
    twice = peer.create(topic("views", 1, 1), topic("views", 2, 1))
    assert [each.error_code for each in twice] == [ErrorCode.INVALID_REQUEST] * 2
    assert peer.metadata("views").topics[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_two_that_ask_at_a_time_get_one_topic(broker: RunningBroker) -> None:
    with AdminPeer.of(broker) as first, AdminPeer.of(broker) as second:
        for number in range(20):
            asked = topic(f"orders-{number}", 1, 1)
            codes = sorted(each.error_code for each in _at_once(first, second, asked))
            assert codes == [0, ErrorCode.TOPIC_ALREADY_EXISTS]


def _at_once(first: AdminPeer, second: AdminPeer, asked: CreatableTopic) -> list[CreatableTopicResult]:
    for peer in (first, second):
        peer.tell(CreateTopicsRequest([asked], 5_000), 7)
    return [peer.hear(7, CreateTopicsResponse).topics[0] for peer in (first, second)]


def test_dots_and_underscores_do_not_tell_topics_apart(peer: AdminPeer) -> None:
    peer.create_one("my.topic")
    codes = [each.error_code for each in peer.create(topic("my_topic", 1, 1), topic("a.b", 1, 1), topic("a_b", 1, 1))]
    assert codes == [ErrorCode.INVALID_TOPIC_EXCEPTION, 0, ErrorCode.INVALID_TOPIC_EXCEPTION]


def test_one_request_creates_so_many_partitions_and_no_more(tmp_path: Path) -> None:
    with RunningBroker(str(tmp_path), max_partitions_per_request="5") as broker, AdminPeer.of(broker) as peer:
        codes = [each.error_code for each in peer.create(topic("a", 3, 1), topic("b", 3, 1), topic("", 1, 1))]
        assert codes == [ErrorCode.POLICY_VIOLATION, ErrorCode.POLICY_VIOLATION, ErrorCode.INVALID_TOPIC_EXCEPTION]
        assert [each.error_code for each in peer.create(topic("a", 3, 1), topic("b", 2, 1))] == [0, 0]
        assert peer.grow(("a", 9)) == [("a", ErrorCode.POLICY_VIOLATION)]
        assert peer.grow(("a", 8)) == [("a", 0)]


# Deleting.


@pytest.mark.parametrize("version", range(1, 7))
def test_topics_go_in_every_version(peer: AdminPeer, tmp_path: Path, version: int) -> None:
    peer.create_one("orders", 2)
    peer.fill("orders", b"gone")
    (result,) = peer.delete("orders", version=version)
    assert (result.name, result.error_code) == ("orders", 0)
    assert peer.metadata("orders").topics[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert all(name.endswith("-delete") for name in folders(tmp_path))
    peer.create_one("orders", 1)
    (appended,) = peer.produce("orders", batch_of(b"new"))
    assert (appended.error_code, appended.base_offset) == (0, 0), "nothing is left of the first"


def test_a_topic_may_be_named_by_its_id(peer: AdminPeer) -> None:
    topic_id = peer.create_one("orders")
    (result,) = peer.delete(topic_id)
    assert (result.name, result.topic_id, result.error_code) == ("orders", topic_id, 0)
    (unknown,) = peer.delete(topic_id)
    assert (unknown.name, unknown.topic_id, unknown.error_code) == (None, topic_id, ErrorCode.UNKNOWN_TOPIC_ID)


def test_what_cannot_be_deleted(peer: AdminPeer) -> None:
    topic_id = peer.create_one("orders")
    codes = [
        each.error_code
        for each in peer.delete("nobody", "../x", DeleteTopicState("orders", topic_id), DeleteTopicState(None, NO_UUID))
    ]
    unknown, both, neither = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.INVALID_REQUEST, ErrorCode.INVALID_REQUEST
    assert codes == [unknown, unknown, both, neither]
    twice = peer.delete("orders", topic_id)
    assert [each.error_code for each in twice] == [ErrorCode.INVALID_REQUEST] * 2
    assert peer.partition_count("orders") == 1


def test_internal_topics_stay(peer: AdminPeer) -> None:
    peer.create_one("__consumer_offsets", 2, {"cleanup.policy": "compact"})
    (result,) = peer.delete("__consumer_offsets")
    assert result.error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
    assert peer.grow(("__consumer_offsets", 3)) == [("__consumer_offsets", ErrorCode.INVALID_TOPIC_EXCEPTION)]
    assert peer.partition_count("__consumer_offsets") == 2


@pytest.mark.parametrize(("version", "error_code"), [(1, 42), (2, 42), (3, 73), (6, 73)])
def test_deletion_may_be_forbidden(tmp_path: Path, version: int, error_code: int) -> None:
    with RunningBroker(str(tmp_path), delete_topic_enable="false") as broker, AdminPeer.of(broker) as peer:
        peer.create_one("orders")
        assert peer.delete("orders", version=version)[0].error_code == error_code
        assert peer.partition_count("orders") == 1


def test_a_request_of_many_names_lets_others_have_their_turn(broker: RunningBroker, peer: AdminPeer) -> None:
    """reliability 7.2, our own rule: large arrays within the size limit cost other clients little."""
    names = [f"nobody-{number}" for number in range(50_000)]
    peer.tell(DeleteTopicsRequest(names, timeout_ms=5_000), 5)
    with AdminPeer.of(broker) as other:
        for _ in range(3):
            assert other.metadata().error_code == 0
        assert select.select([peer.socket], [], [], 0)[0] == [], "the large one is still at work"
    answer = peer.hear(5, DeleteTopicsResponse)
    assert {each.error_code for each in answer.responses} == {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    assert len(answer.responses) == len(names)


def test_a_request_of_too_many_topics_is_not_looked_at(peer: AdminPeer) -> None:
    results = peer.create(*(topic(f"t-{number}", 1, 1) for number in range(10_001)), validate_only=True)
    assert {each.error_code for each in results} == {ErrorCode.POLICY_VIOLATION}


# Growing.


@pytest.mark.parametrize("version", range(4))
def test_topics_grow_in_every_version(peer: AdminPeer, tmp_path: Path, version: int) -> None:
    topic_id = peer.create_one("orders", 1)
    peer.fill("orders", b"kept")
    assert peer.grow(("orders", 3), version=version) == [("orders", 0)]
    assert peer.partition_count("orders") == 3
    assert {"orders-1", "orders-2"} <= folders(tmp_path)
    assert peer.metadata("orders").topics[0].topic_id == topic_id
    (appended,) = peer.produce("orders", batch_of(b"behind it"))
    assert (appended.error_code, appended.base_offset) == (0, 1)


def test_what_cannot_grow(peer: AdminPeer) -> None:
    peer.create_one("orders", 2)
    assert peer.grow(("orders", 2)) == [("orders", ErrorCode.INVALID_PARTITIONS)]
    assert peer.grow(("orders", 1)) == [("orders", ErrorCode.INVALID_PARTITIONS)]
    assert peer.grow(("orders", -3)) == [("orders", ErrorCode.INVALID_PARTITIONS)]
    assert peer.grow(("nobody", 3)) == [("nobody", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)]
    assert peer.grow(("orders", 3), ("orders", 4)) == [("orders", ErrorCode.INVALID_REQUEST)]
    bad: list[list[list[int]]] = [[[1], [1]], [[7]], [[]], [[1, 1]]]
    for assignments in bad:
        assert peer.grow(("orders", 3), assignments=assignments) == [("orders", ErrorCode.INVALID_REPLICA_ASSIGNMENT)]
    assert peer.partition_count("orders") == 2


def test_a_topic_that_grows_and_goes_at_a_time_is_gone(broker: RunningBroker, peer: AdminPeer, tmp_path: Path) -> None:
    """One after the other, whatever comes first: nothing of it may come back."""
    with AdminPeer.of(broker) as other:
        for number in range(10):
            name = f"orders-{number}"
            peer.create_one(name)
            peer.tell(CreatePartitionsRequest([CreatePartitionsTopic(name, 5)], 5_000), 3)
            (deleted,) = other.delete(name)
            (grown,) = peer.hear(3, CreatePartitionsResponse).results
            assert (deleted.error_code, grown.error_code) in ((0, 0), (0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
            assert peer.metadata(name).topics[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert {name for name in folders(tmp_path) if not name.endswith("-delete")} == set()


def test_a_dry_run_does_not_grow(peer: AdminPeer) -> None:
    peer.create_one("orders", 2)
    assert peer.grow(("orders", 5), validate_only=True) == [("orders", 0)]
    assert peer.partition_count("orders") == 2
    assert peer.grow(("orders", 4), assignments=[[1], [1]]) == [("orders", 0)]
    assert peer.partition_count("orders") == 4
