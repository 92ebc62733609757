"""DescribeConfigs, AlterConfigs, IncrementalAlterConfigs: values, their sources, what is refused, what stays."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.broker.admin_peer import AdminPeer, Alteration
from tests.broker.running_broker import RunningBroker, batch_of

from strandline.broker.broker import Broker
from strandline.broker.configs import changes
from strandline.broker.configs.definitions import BROKER_CONFIGS, TOPIC_CONFIGS, ConfigKind
from strandline.broker.configs.description import ConfigSource
from strandline.broker.configs.operations import OperationKind
from strandline.broker.configs.resources import ResourceType
from strandline.metadata import paths
from strandline.metadata.config_values import decode_config, decode_config_change
from strandline.model.failures import ErrorCode
from strandline.model.settings import BadSetting
from strandline.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
)
from strandline.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)

TOPIC, BROKER = ResourceType.TOPIC, ResourceType.BROKER
SET, DELETE, APPEND, SUBTRACT = OperationKind


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[RunningBroker]:
    settings = {"log_retention_hours": "2", "log_segment_bytes": "1000000", "what_nobody_knows": "secret"}
    with RunningBroker(str(tmp_path), **settings) as running:
        yield running


@pytest.fixture
def peer(broker: RunningBroker) -> Iterator[AdminPeer]:
    with AdminPeer.of(broker) as peer:
        peer.create_one("orders", configs={"max.message.bytes": "5000"})
        yield peer


def synonyms(peer: AdminPeer, name: str, topic: str | None = None) -> list[tuple[str, str | None, int]]:
    return [(each.name, each.value, each.source) for each in peer.setting(name, topic).synonyms]


# Describing.


@pytest.mark.parametrize("version", range(1, 5))
def test_a_topic_in_every_version(peer: AdminPeer, version: int) -> None:
    found = peer.describe(TOPIC, "orders", version=version, documentation=True)
    assert found.error_code == 0
    configs = {config.name: config for config in found.configs}
    assert configs.keys() == TOPIC_CONFIGS.keys()
    own, inherited = configs["max.message.bytes"], configs["retention.ms"]
    assert (own.value, own.config_source, own.read_only) == ("5000", ConfigSource.DYNAMIC_TOPIC, False)
    assert (inherited.value, inherited.config_source) == ("7200000", ConfigSource.STATIC_BROKER)
    assert configs["cleanup.policy"].config_source == ConfigSource.DEFAULT
    if version >= 3:
        assert own.documentation == "The largest record batch that is taken, after compression."
        assert own.config_type == ConfigKind.INT


def test_a_value_has_its_sources_the_strongest_first(peer: AdminPeer) -> None:
    peer.set_broker("", message_max_bytes="3000")
    peer.set_broker("1", message_max_bytes="4000")
    assert synonyms(peer, "max.message.bytes", "orders") == [
        ("max.message.bytes", "5000", ConfigSource.DYNAMIC_TOPIC),
        ("message.max.bytes", "4000", ConfigSource.DYNAMIC_BROKER),
        ("message.max.bytes", "3000", ConfigSource.DYNAMIC_DEFAULT_BROKER),
        ("message.max.bytes", "1048588", ConfigSource.DEFAULT),
    ]
    assert synonyms(peer, "retention.ms", "orders") == [
        ("log.retention.hours", "2", ConfigSource.STATIC_BROKER),
        ("log.retention.hours", "168", ConfigSource.DEFAULT),
    ]


def test_a_broker(peer: AdminPeer) -> None:
    found = peer.describe(BROKER, "1", documentation=True)
    configs = {config.name: config for config in found.configs}
    assert configs.keys() == BROKER_CONFIGS.keys() | {"what.nobody.knows"}
    assert all(config.documentation for name, config in configs.items() if name in BROKER_CONFIGS)
    assert (configs["log.retention.hours"].value, configs["log.retention.ms"].value) == ("2", None)
    assert configs["log.retention.hours"].read_only
    assert not configs["log.retention.ms"].read_only
    assert configs["listeners"].config_source == ConfigSource.STATIC_BROKER
    assert configs["inter.broker.protocol.version"].value == "3.9-IV0", "kafbat concludes from it what it may offer"
    unknown = configs["what.nobody.knows"]
    assert (unknown.value, unknown.is_sensitive, unknown.read_only) == (None, True, True), "it may be a password"


def test_only_the_names_that_were_asked_for(peer: AdminPeer) -> None:
    found = peer.describe(TOPIC, "orders", ["retention.ms", "nothing"], synonyms=False)
    assert [(config.name, config.synonyms) for config in found.configs] == [("retention.ms", [])]
    assert len(peer.describe(TOPIC, "orders", []).configs) == len(TOPIC_CONFIGS), "an empty list is all, as in Kafka"


def test_what_is_set_for_all_brokers(peer: AdminPeer) -> None:
    assert peer.describe(BROKER, "").configs == []
    peer.set_broker("", log_retention_ms="60000")
    (config,) = peer.describe(BROKER, "").configs
    assert (config.name, config.value, config.config_source) == ("log.retention.ms", "60000", 3)


@pytest.mark.parametrize(
    ("resource_type", "name", "error_code"),
    [
        (TOPIC, "nobody", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (TOPIC, "../x", ErrorCode.INVALID_TOPIC_EXCEPTION),
        (TOPIC, "", ErrorCode.INVALID_TOPIC_EXCEPTION),
        (BROKER, "2", ErrorCode.INVALID_REQUEST),
        (BROKER, "one", ErrorCode.INVALID_REQUEST),
        (ResourceType.BROKER_LOGGER, "1", ErrorCode.INVALID_REQUEST),
        (ResourceType.GROUP, "readers", ErrorCode.INVALID_REQUEST),
        (ResourceType.CLIENT_METRICS, "all", ErrorCode.INVALID_REQUEST),
        (99, "x", ErrorCode.INVALID_REQUEST),
    ],
)
def test_what_has_no_settings_here(peer: AdminPeer, resource_type: int, name: str, error_code: int) -> None:
    found = peer.describe(resource_type, name)
    assert (found.error_code, found.configs) == (error_code, [])
    assert found.error_message
    altered = peer.alter(resource_type, name, Alteration("retention.ms", "1"))
    assert altered[0] == error_code


def test_resources_of_one_request_have_their_own_outcomes(peer: AdminPeer) -> None:
    resources = [DescribeConfigsResource(TOPIC, name, ["retention.ms"]) for name in ("orders", "nobody")]
    answer = peer.ask(DescribeConfigsRequest(resources), 4, DescribeConfigsResponse)
    assert [(each.resource_name, each.error_code) for each in answer.results] == [("orders", 0), ("nobody", 3)]


# Changing.


@pytest.mark.parametrize("version", range(2))
def test_settings_change_one_by_one(peer: AdminPeer, version: int) -> None:
    told = peer.alter(TOPIC, "orders", Alteration("retention.ms", "60000"), version=version)
    assert told == (0, None)
    assert (peer.setting("retention.ms", "orders").value, peer.setting("max.message.bytes", "orders").value) == (
        "60000",
        "5000",
    )
    assert peer.alter(TOPIC, "orders", Alteration("retention.ms", None, DELETE), version=version)[0] == 0
    assert peer.setting("retention.ms", "orders").value == "7200000", "the broker's again"


def test_lists_are_added_to_and_taken_from(peer: AdminPeer) -> None:
    policy = "cleanup.policy"
    peer.alter(TOPIC, "orders", Alteration(policy, "compact,delete", APPEND))
    assert peer.setting(policy, "orders").value == "delete,compact", "the default is what it was added to"
    peer.alter(TOPIC, "orders", Alteration(policy, "delete", SUBTRACT))
    assert peer.setting(policy, "orders").value == "compact"
    told = peer.alter(TOPIC, "orders", Alteration("retention.ms", "1", APPEND))
    assert told == (ErrorCode.INVALID_CONFIG, "'retention.ms' is not a list: nothing can be appended to it.")
    assert peer.alter(TOPIC, "orders", Alteration("retention.ms", "1", SUBTRACT))[0] == ErrorCode.INVALID_CONFIG


@pytest.mark.parametrize("version", range(3))
def test_the_old_request_replaces_everything(peer: AdminPeer, version: int) -> None:
    assert peer.replace(TOPIC, "orders", {"retention.ms": "1000"}, version=version) == (0, None)
    assert peer.setting("retention.ms", "orders").value == "1000"
    assert peer.setting("max.message.bytes", "orders").value == "1048588"


REFUSED = {
    "unknown": (Alteration("retention.seconds", "1"), ErrorCode.INVALID_CONFIG),
    "unknown to append to": (Alteration("retention.seconds", "1", APPEND), ErrorCode.INVALID_CONFIG),
    "not a number": (Alteration("retention.ms", "soon"), ErrorCode.INVALID_CONFIG),
    "a Python number": (Alteration("retention.ms", "1_000"), ErrorCode.INVALID_CONFIG),
    "too large": (Alteration("retention.ms", str(2**63)), ErrorCode.INVALID_CONFIG),
    "below its limit": (Alteration("min.insync.replicas", "0"), ErrorCode.INVALID_CONFIG),
    "not a choice": (Alteration("compression.type", "rar"), ErrorCode.INVALID_CONFIG),
    "not a policy": (Alteration("cleanup.policy", "delete,forget"), ErrorCode.INVALID_CONFIG),
    "not a boolean": (Alteration("preallocate", "yes"), ErrorCode.INVALID_CONFIG),
    "tiered storage": (Alteration("remote.storage.enable", "true"), ErrorCode.INVALID_CONFIG),
    "throttled replicas": (Alteration("leader.replication.throttled.replicas", "0-1"), ErrorCode.INVALID_CONFIG),
    "no value": (Alteration("retention.ms", None), ErrorCode.INVALID_REQUEST),
    "no operation": (Alteration("retention.ms", "1", 9), ErrorCode.INVALID_REQUEST),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_refused_changes_nothing(peer: AdminPeer, what: str) -> None:
    """reliability 7.2: unknown config 40. All of a resource's changes or none."""
    bad, error_code = REFUSED[what]
    code, sentence = peer.alter(TOPIC, "orders", Alteration("flush.ms", "77"), bad)
    assert code == error_code
    assert sentence is not None
    assert sentence.endswith((".", "?"))
    assert peer.setting("flush.ms", "orders").config_source == ConfigSource.DEFAULT


def test_a_setting_or_a_resource_named_twice(peer: AdminPeer) -> None:
    twice = peer.alter(TOPIC, "orders", Alteration("flush.ms", "1"), Alteration("flush.ms", "2"))
    assert twice[0] == ErrorCode.INVALID_REQUEST
    resource = AlterConfigsResource(TOPIC, "orders", [AlterableConfig("flush.ms", SET, "1")])
    answer = peer.ask(IncrementalAlterConfigsRequest([resource, resource]), 1, IncrementalAlterConfigsResponse)
    assert [each.error_code for each in answer.responses] == [ErrorCode.INVALID_REQUEST] * 2
    assert peer.replace(TOPIC, "orders", {"flush.ms": None})[0] == ErrorCode.INVALID_REQUEST
    assert peer.setting("flush.ms", "orders").config_source == ConfigSource.DEFAULT


def test_a_dry_run_changes_nothing(peer: AdminPeer) -> None:
    assert peer.alter(TOPIC, "orders", Alteration("flush.ms", "1"), validate_only=True) == (0, None)
    assert peer.alter(TOPIC, "orders", Alteration("flush.ms", "x"), validate_only=True)[0] == ErrorCode.INVALID_CONFIG
    assert peer.setting("flush.ms", "orders").config_source == ConfigSource.DEFAULT


@pytest.mark.parametrize(
    ("name", "value"),
    [("listeners", "PLAINTEXT://:1"), ("log.retention.hours", "1"), ("retention.ms", "1"), ("what.nobody.knows", "1")],
)
def test_what_a_running_broker_cannot_change(peer: AdminPeer, name: str, value: str) -> None:
    for whose in ("", "1"):
        code, sentence = peer.alter(BROKER, whose, Alteration(name, value))
        assert code == ErrorCode.INVALID_CONFIG
        assert sentence is not None
        assert name in sentence


def test_a_default_may_not_contradict_what_a_topic_says(peer: AdminPeer) -> None:
    peer.set_topic("orders", max_compaction_lag_ms="100")
    code, sentence = peer.alter(BROKER, "", Alteration("log.cleaner.min.compaction.lag.ms", "200"))
    assert code == ErrorCode.INVALID_CONFIG
    assert sentence is not None
    assert "topic 'orders'" in sentence


def test_two_changes_at_a_time_are_both_made(broker: RunningBroker, peer: AdminPeer) -> None:
    """KAFKA-3328: without a version check one of them would be lost."""
    names = ["flush.ms", "flush.messages", "retention.bytes", "segment.ms", "delete.retention.ms"]
    with AdminPeer.of(broker) as second:
        for number, name in enumerate(names):
            resource = AlterConfigsResource(TOPIC, "orders", [AlterableConfig(name, SET, str(1000 + number))])
            request = IncrementalAlterConfigsRequest([resource])
            (peer if number % 2 else second).tell(request, 1)
        for number in range(len(names)):
            answer = (peer if number % 2 else second).hear(1, IncrementalAlterConfigsResponse)
            assert answer.responses[0].error_code == 0
    assert [peer.setting(name, "orders").value for name in names] == ["1000", "1001", "1002", "1003", "1004"]


def test_topics_keep_their_own_when_a_default_changes(broker: RunningBroker, peer: AdminPeer) -> None:
    """KAFKA-9254: a dynamic default must not wipe what topics say."""
    peer.set_topic("orders", cleanup_policy="compact")
    peer.create_one("views")
    peer.set_broker("", log_cleanup_policy="delete", log_retention_ms="99")
    by_name = broker.broker.partitions.by_name
    orders, views = broker.call(lambda: [by_name[topic][0].log.settings for topic in ("orders", "views")])
    assert (orders.cleanup_policy, orders.max_message_bytes) == (("compact",), 5000)
    assert orders.retention_ms == views.retention_ms == 99


def test_a_change_takes_effect_on_the_open_log(peer: AdminPeer) -> None:
    big = batch_of(b"x" * 6000)
    assert peer.produce("orders", big)[0].error_code == ErrorCode.MESSAGE_TOO_LARGE
    peer.set_topic("orders", max_message_bytes="10000")
    assert peer.produce("orders", big)[0].error_code == 0
    peer.alter(TOPIC, "orders", Alteration("max.message.bytes", None, DELETE))
    assert peer.produce("orders", big, acks=-1)[0].error_code == 0, "the default allows it"


# What stays.


def test_settings_are_stored_as_kafka_stores_them(broker: RunningBroker, peer: AdminPeer) -> None:
    peer.set_topic("orders", retention_ms="1")
    peer.set_broker("", log_retention_ms="2")
    peer.set_broker("1", log_retention_ms="3")
    tree = broker.call(lambda: broker.store.tree)
    stored = {
        entity: decode_config(entity, tree.find(paths.config_path(entity)).data)
        for entity in ("topics/orders", "brokers/<default>", "brokers/1")
    }
    assert stored == {
        "topics/orders": {"max.message.bytes": "5000", "retention.ms": "1"},
        "brokers/<default>": {"log.retention.ms": "2"},
        "brokers/1": {"log.retention.ms": "3"},
    }
    notices = [f"{paths.CONFIG_CHANGES}/{name}" for name in sorted(tree.find(paths.CONFIG_CHANGES).children)]
    assert [decode_config_change(tree.find(notice).data) for notice in notices] == list(stored)


def test_notices_do_not_pile_up(broker: RunningBroker, peer: AdminPeer, monkeypatch: pytest.MonkeyPatch) -> None:
    def notices() -> int:
        return broker.call(lambda: len(broker.store.tree.find(paths.CONFIG_CHANGES).children))

    for number in range(3):
        peer.set_topic("orders", retention_ms=str(number))
    assert notices() == 3
    monkeypatch.setattr(changes, "NOTICE_EXPIRATION_MS", -1000)
    peer.set_topic("orders", retention_ms="3")
    assert notices() == 0, "every broker has seen them by now"


def test_settings_survive_restarts(tmp_path: Path) -> None:
    with RunningBroker(str(tmp_path)) as broker, AdminPeer.of(broker) as peer:
        peer.create_one("orders", configs={"segment.bytes": "2000"})
        peer.set_topic("orders", retention_ms="1")
        peer.set_broker("", log_flush_interval_ms="2", max_connections="50")
        peer.set_broker("1", num_partitions="3")
    with RunningBroker(str(tmp_path)) as broker, AdminPeer.of(broker) as peer:
        values = {name: peer.setting(name, "orders").value for name in ("segment.bytes", "retention.ms", "flush.ms")}
        assert list(values.values()) == ["2000", "1", "2"]
        assert peer.setting("max.connections").config_source == ConfigSource.DYNAMIC_DEFAULT_BROKER
        assert broker.call(lambda: broker.broker.server.settings.max_connections) == 50
        peer.create_topic("asked-for")
        assert peer.partition_count("asked-for") == 3


def test_a_new_topic_has_nothing_of_a_deleted_one(peer: AdminPeer) -> None:
    peer.set_topic("orders", retention_ms="1")
    peer.delete("orders")
    peer.create_one("orders")
    assert peer.setting("retention.ms", "orders").config_source == ConfigSource.STATIC_BROKER


# At the start.


def test_a_setting_that_nobody_knows_is_named_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING), RunningBroker(str(tmp_path), process_roles="broker", a_b="c"):
        pass
    warnings = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert warnings == ["settings that have no effect here: a.b, process.roles"]


def test_a_bad_setting_stops_the_start_with_a_sentence(tmp_path: Path) -> None:
    """Whoever uses it: a value that nobody could use is no value to start with."""
    with pytest.raises(BadSetting, match=r"log\.cleaner\.threads='many': expected a whole number"):
        Broker({"log.dirs": str(tmp_path), "log.cleaner.threads": "many"})


def test_what_another_program_stored_and_nobody_can_use_is_left_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with RunningBroker(str(tmp_path)) as broker, AdminPeer.of(broker) as peer:
        peer.create_one("orders", configs={"retention.ms": "5"})
        peer.set_broker("", log_segment_bytes="4000")
        data = b'{"version":1,"config":{"retention.ms":"5","flush.ms":"never","future.setting":"x"}}'
        broker.call(lambda: broker.broker.session.set("/config/topics/orders", data))
        data = b'{"version":1,"config":{"log.segment.bytes":"4000","max.connections":"-9"}}'
        broker.call(lambda: broker.broker.session.set("/config/brokers/<default>", data))
    with caplog.at_level(logging.WARNING), RunningBroker(str(tmp_path)) as broker, AdminPeer.of(broker) as peer:
        assert peer.setting("retention.ms", "orders").value == "5"
        assert peer.setting("segment.bytes", "orders").value == "4000"
        assert peer.setting("flush.ms", "orders").config_source == ConfigSource.DEFAULT
    left_out = "cannot be used and is left out"
    assert sorted({record.getMessage() for record in caplog.records}) == [
        f"a stored setting of all brokers {left_out}: max.connections='-9': must be at least 0",
        f"a stored setting of topic orders {left_out}: flush.ms='never': expected a whole number of at most 64 bits",
    ]


ACCEPTED = {
    "preallocate": "true",
    "message.downconversion.enable": "false",
    "message.format.version": "2.8",
    "compression.gzip.level": "5",
    "remote.storage.enable": "false",
    "remote.log.copy.disable": "true",
    "local.retention.ms": "1000",
    "leader.replication.throttled.replicas": "*",
    "follower.replication.throttled.replicas": "0:1,1:1",
    "unclean.leader.election.enable": "true",
}


def test_kafkas_settings_that_have_no_effect_are_kept_and_shown(peer: AdminPeer) -> None:
    """Kafka Streams and UIs set them, and read them back."""
    peer.create_one("streams", configs=ACCEPTED)
    assert {name: peer.setting(name, "streams").value for name in ACCEPTED} == ACCEPTED
