"""Kafka's values in znodes (SPEC M1): the same bytes as Kafka's, older versions read, anything else `CorruptData`."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.metadata.kafka_znodes import DECODERS, OF_A_BROKER, WRITTEN

from strandline.metadata.broker_values import (
    BrokerRegistration,
    Endpoint,
    VersionRange,
    decode_broker,
    encode_broker,
)
from strandline.metadata.config_values import (
    decode_config,
    decode_config_change,
    encode_config,
    encode_config_change,
)
from strandline.metadata.values import (
    ControllerRegistration,
    FinalizedFeatures,
    PartitionState,
    ProducerIdBlock,
    ReplicaAssignment,
    TopicAssignment,
    decode_controller,
    decode_features,
    decode_partition_state,
    decode_topic,
    encode_cluster_id,
    encode_controller,
    encode_controller_epoch,
    encode_features,
    encode_log_dir_event,
    encode_partition_state,
    encode_partitions,
    encode_producer_id_block,
    encode_reassignment,
    encode_topic,
)
from strandline.model.failures import CorruptData
from strandline.model.partitions import TopicPartition

ORDERS = [TopicPartition("orders", 0), TopicPartition("orders", 1)]
MOVING = {0: ReplicaAssignment((1, 2, 3), adding=(3,), removing=(2,))}
TOPIC_ID = UUID(int=(1 << 64) + 2)
ENDPOINTS = (Endpoint("CLIENT", "PLAINTEXT", "h1", 9092), Endpoint("REPLICATION", "SASL_SSL", "::1", 9093))
TLS = (Endpoint("SSL", "SSL", "h1", 9093),)


def _timestamp_ms(name: str) -> int:
    return int(json.loads(WRITTEN[name])["timestamp"])


def test_we_write_what_kafka_writes() -> None:
    broker = BrokerRegistration(
        1, ENDPOINTS, "rack-a", {"metadata.version": VersionRange(1, 21)}, 9999, _timestamp_ms("broker 5")
    )
    bare = BrokerRegistration(1, TLS, timestamp_ms=_timestamp_ms("broker bare"))
    written = {
        "isr_change": encode_partitions(reversed(ORDERS)),
        "preferred": encode_partitions(ORDERS),
        "reassign": encode_reassignment({ORDERS[0]: (1, 2, 3)}),
        "controller": encode_controller(ControllerRegistration(1, 1700000000123)),
        "controller_epoch": encode_controller_epoch(7),
        "log_dir_event": encode_log_dir_event(3),
        "config_change": encode_config_change("users/alice%20b/clients/c"),
        "config": encode_config({"retention.ms": "1000", "cleanup.policy": "compact"}),
        "cluster_id": encode_cluster_id("c3RyYW5kbGluZS1nb2xkZQ"),
        "producer_ids": encode_producer_id_block(ProducerIdBlock(1, 2000, 2999)),
        "topic": encode_topic(TopicAssignment(TOPIC_ID, MOVING)),
        "topic without id": encode_topic(TopicAssignment(None, MOVING)),
        "state RECOVERED": encode_partition_state(PartitionState(1, 7, (1, 3), 5)),
        "state RECOVERING": encode_partition_state(PartitionState(1, 7, (1, 3), 5, is_recovering=True)),
        "broker 5": encode_broker(broker),
        "broker bare": encode_broker(bare),
        "feature 2": encode_features(FinalizedFeatures(True, {"group.version": 1})),
    }
    assert written == {name: WRITTEN[name] for name in written}


def test_we_read_what_kafka_writes() -> None:
    assert {name: decode(WRITTEN[name]) for name, decode in DECODERS.items()} == {
        "isr_change": frozenset(ORDERS),
        "preferred": frozenset(ORDERS),
        "reassign": {ORDERS[0]: (1, 2, 3)},
        "controller": ControllerRegistration(1, 1700000000123, -1),
        "controller_epoch": 7,
        "log_dir_event": 3,
        "config_change": "users/alice%20b/clients/c",
        "config": {"retention.ms": "1000", "cleanup.policy": "compact"},
        "cluster_id": "c3RyYW5kbGluZS1nb2xkZQ",
        "producer_ids": ProducerIdBlock(1, 2000, 2999),
        "topic": TopicAssignment(TOPIC_ID, MOVING),
        "state RECOVERING": PartitionState(1, 7, (1, 3), 5, is_recovering=True),
        "broker 5": BrokerRegistration(
            1, ENDPOINTS, "rack-a", {"metadata.version": VersionRange(1, 21)}, 9999, _timestamp_ms("broker 5")
        ),
        "feature 2": FinalizedFeatures(True, {"group.version": 1}),
    }


def test_what_a_running_kafka_wrote_comes_out_again_as_it_was() -> None:
    found = OF_A_BROKER
    again = {
        "/brokers/ids/1": encode_broker(decode_broker(1, found["/brokers/ids/1"])),
        "/brokers/topics/orders": encode_topic(decode_topic("orders", found["/brokers/topics/orders"])),
        "/brokers/topics/orders/partitions/0/state": encode_partition_state(
            decode_partition_state(ORDERS[0], found["/brokers/topics/orders/partitions/0/state"])
        ),
        "/controller": encode_controller(decode_controller(found["/controller"])),
        "/config/topics/orders": encode_config(decode_config("topics/orders", found["/config/topics/orders"])),
        "/feature": encode_features(decode_features(found["/feature"])),
    }
    assert again == {path: found[path] for path in again}


def test_brokers_of_every_age_are_understood() -> None:
    oldest = b'{"jmx_port":-1,"timestamp":"1416974968782","host":"h0","version":1,"port":9092}'
    assert decode_broker(4, oldest).endpoints == (Endpoint("PLAINTEXT", "PLAINTEXT", "h0", 9092),)
    for version in (2, 3):
        broker = decode_broker(1, WRITTEN[f"broker {version}"])
        assert (broker.endpoints, broker.rack) == (TLS, "rack-a" if version == 3 else None)
    broker = decode_broker(1, WRITTEN["broker 4"])
    assert (broker.endpoints, broker.rack, broker.features) == (ENDPOINTS, "rack-a", {})


def test_the_first_supported_range_had_a_third_number() -> None:
    """2.7 wrote `first_active_version` too."""
    text = WRITTEN["broker 5"].replace(b'"max_version":21', b'"first_active_version":2,"max_version":21')
    assert decode_broker(1, text).features == {"metadata.version": VersionRange(1, 21)}


def test_topics_of_every_age_are_understood() -> None:
    assert decode_topic("t", b'{"version":1,"partitions":{"1":[2],"0":[1,2]}}') == TopicAssignment(
        None, {0: ReplicaAssignment((1, 2)), 1: ReplicaAssignment((2,))}
    )
    second = b'{"version":2,"partitions":{"0":[1,2]},"adding_replicas":{"0":[2]},"removing_replicas":{}}'
    assert decode_topic("t", second) == TopicAssignment(None, {0: ReplicaAssignment((1, 2), adding=(2,))})


def test_other_old_versions_are_understood() -> None:
    assert decode_controller(b'{"version":1,"brokerid":3,"timestamp":"17"}') == ControllerRegistration(3, 17)
    assert decode_features(WRITTEN["feature 1"]) == FinalizedFeatures(True, {"group.version": 1})
    notice = b'{"version":1,"entity_type":"topics","entity_name":"orders"}'
    assert decode_config_change(notice) == "topics/orders"


def test_an_entity_may_have_no_settings() -> None:
    assert decode_config("users/alice", b"") == {}
    assert decode_config("topics/orders", b'{"version":1}') == {}


@pytest.mark.parametrize("name", [name for name in DECODERS if name != "controller_epoch"])
def test_keys_nobody_knows_are_passed_over(name: str) -> None:
    members = json.loads(WRITTEN[name])
    assert DECODERS[name](json.dumps(members | {"new": [{"in": 9.9}], "ö": None}).encode()) == DECODERS[name](
        WRITTEN[name]
    )


WRONG: list[Any] = [True, 1.0, 2**31, -(2**31) - 1, [[]], ["x", 1], {"x": None}, {"1": ["1"]}, [None], "\ud800"]
NOT_READ = {"version", "event", "host", "port"}  # by us, or not in every value


@pytest.mark.parametrize("name", [name for name in DECODERS if name != "controller_epoch"])
def test_values_of_another_type_are_corrupt_data(name: str) -> None:
    """KAFKA-4914: what has the wrong type is found when it is read, by its path, not later and elsewhere."""
    members = json.loads(WRITTEN[name])
    for key in sorted(members.keys() - NOT_READ):
        for wrong in WRONG:
            with pytest.raises(CorruptData, match=key):
                DECODERS[name](json.dumps(members | {key: wrong}).encode())


@pytest.mark.parametrize("name", DECODERS)
@pytest.mark.parametrize(
    "data",
    [b"", b"null", b"[]", b"\xff", b'{"a":', b"[" * 100_000, b'{"brokerid":NaN}', b"1" * 5_000, b'"text"', b"{} {}"],
)
def test_what_is_not_kafkas_json_is_corrupt_data(name: str, data: bytes) -> None:
    if name == "config" and not data:
        return
    with pytest.raises(CorruptData):
        DECODERS[name](data)


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("topic", b'"AAAAAAAAAAEAAAAAAAAAAg"', b'"AAAAAAAAAAEAAAAAAAAA*g"'),
        ("topic", b'"AAAAAAAAAAEAAAAAAAAAAg"', b'"AAAAAAAAAAEAAAAAAAAAA"'),
        ("topic", b'{"0":[1,2,3]}', b'{"-1":[1]}'),
        ("topic", b'{"0":[1,2,3]}', b'{"2147483648":[1]}'),
        ("topic", b'{"0":[1,2,3]}', b'{"zero":[1]}'),
        ("state RECOVERING", b'"leader_recovery_state":1', b'"leader_recovery_state":2'),
        ("broker 5", b"CLIENT://h1:9092", b"CLIENT:h1:9092"),
        ("broker 5", b"CLIENT://h1:9092", b"OTHER://h1:9092"),
        ("broker 5", b"SASL_SSL", b"TELNET"),
        ("broker 5", b'"version":5', b'"version":0'),
        ("config_change", b"users/", b"tables/"),
        ("config_change", b"users/alice%20b/clients/c", b"users"),
        ("config_change", b'"version":2', b'"version":3'),
        ("producer_ids", b'"2000"', b'"3000"'),
        ("producer_ids", b'"2999"', b'"9223372036854775808"'),
        ("feature 2", b'"version":2', b'"version":3'),
        ("feature 2", b'"status":1', b'"status":2'),
        ("feature 2", b'"max_version_level":1', b'"max_version_level":0'),
        ("controller_epoch", b"7", b"7.0"),
        ("controller_epoch", b"7", b" 7"),
    ],
)
def test_values_that_mean_nothing_are_corrupt_data(name: str, old: bytes, new: bytes) -> None:
    assert old in WRITTEN[name]
    with pytest.raises(CorruptData):
        DECODERS[name](WRITTEN[name].replace(old, new))


@settings(max_examples=200)
@given(st.sampled_from(sorted(DECODERS)), st.data())
def test_bytes_changed_anywhere_are_read_or_refused(name: str, data: st.DataObject) -> None:
    written = bytearray(WRITTEN[name])
    for _ in range(data.draw(st.integers(1, 3))):
        position = data.draw(st.integers(0, len(written) - 1))
        written[position : position + data.draw(st.integers(0, 4))] = data.draw(st.binary(max_size=3))
        written += b"" if written else b"x"
    with suppress(CorruptData):
        DECODERS[name](bytes(written))


broker_ids = st.lists(st.integers(0, 2**31 - 1), max_size=4).map(tuple)


@given(
    st.none() | st.uuids(),
    st.dictionaries(st.integers(0, 1000), st.builds(ReplicaAssignment, broker_ids, broker_ids, broker_ids), max_size=5),
)
def test_topics_come_back(topic_id: UUID | None, partitions: dict[int, ReplicaAssignment]) -> None:
    topic = TopicAssignment(topic_id, partitions)
    assert decode_topic("t", encode_topic(topic)) == topic


@given(st.dictionaries(st.text(st.characters(codec="utf-8")), st.text(st.characters(codec="utf-8")), max_size=5))
def test_settings_come_back(config: dict[str, str]) -> None:
    assert decode_config("topics/t", encode_config(config)) == config
