"""What is marked dynamic takes effect at once: every such setting, on a running broker.

The settings of logs are looked up on an open log, those of the listener in the listener, and so on: wherever the code
that uses them finds them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.broker.admin_peer import AdminPeer, Alteration, topic
from tests.broker.kafka_peer import KafkaPeer
from tests.broker.running_broker import RunningBroker, batch_of

from strandline.broker.broker import Broker
from strandline.broker.broker_settings import BrokerSettings
from strandline.broker.configs.definitions import BROKER_CONFIGS, ConfigDefinition, ConfigKind, text_of
from strandline.broker.configs.operations import OperationKind
from strandline.broker.configs.resources import ResourceType
from strandline.broker.network_settings import NetworkSettings
from strandline.groups.settings import GroupSettings
from strandline.model.failures import ErrorCode
from strandline.model.settings import (
    CleanerSettings,
    LogSettings,
    ProducerStateSettings,
    PropertySettings,
    ReplicationSettings,
)
from strandline.replication.settings import ReplicationRateSettings
from strandline.transactions.settings import TransactionSettings
from strandline.wire.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse

DYNAMIC = [definition for definition in BROKER_CONFIGS.values() if definition.is_dynamic]

# Values that differ from the default and contradict no other setting, where adding 1 would.
VALUES = {
    "compression.type": "zstd",
    "group.consumer.assignors": "range",
    "group.consumer.heartbeat.interval.ms": "6000",
    "group.consumer.min.heartbeat.interval.ms": "4000",
    "group.consumer.min.session.timeout.ms": "44000",
    "log.cleaner.io.buffer.load.factor": "0.5",
    "log.cleaner.io.max.bytes.per.second": "1000000.0",
    "log.cleaner.max.compaction.lag.ms": "1000",
    "log.cleaner.min.cleanable.ratio": "0.25",
    "log.cleanup.policy": "compact",
    "log.flush.interval.messages": "10",
    "log.flush.interval.ms": "10000",
    "log.message.timestamp.before.max.ms": "1000",
    "log.message.timestamp.type": "LogAppendTime",
    "log.retention.ms": "123456",
    "log.roll.jitter.ms": "77",
    "log.roll.ms": "1234567",
    "group.max.size": "100",
    "group.consumer.max.size": "100",
    "max.connections.per.ip.overrides": "127.0.0.9:3",
    "leader.replication.throttled.rate": "1000000",
    "follower.replication.throttled.rate": "1000000",
}


class InUse(NamedTuple):
    """How the code that uses settings of a class finds them now."""

    settings: type[PropertySettings]
    find: Callable[[Broker, str], Any]


def of_log(broker: Broker, field: str) -> Any:
    return getattr(broker.partitions.by_name["orders"][0].log.settings, field)


def of_partition(broker: Broker, field: str) -> Any:
    return getattr(broker.partitions.by_name["orders"][0].settings, field)


def of_groups(broker: Broker, field: str) -> Any:
    (led,) = broker.groups.led.all()
    return getattr(led.shard._state.settings, field)


IN_USE = {
    entry.settings: entry.find
    for entry in (
        InUse(LogSettings, of_log),
        InUse(ReplicationSettings, of_partition),
        InUse(NetworkSettings, lambda broker, field: getattr(broker.server.settings, field)),
        InUse(BrokerSettings, lambda broker, field: getattr(broker.controller.settings, field)),
        InUse(CleanerSettings, lambda broker, field: getattr(broker.housekeeping.cleaner.settings, field)),
        InUse(ProducerStateSettings, lambda broker, field: getattr(broker.partitions.by_name["orders"][0].log, field)),
        InUse(GroupSettings, of_groups),
        InUse(ReplicationRateSettings, lambda broker, field: getattr(broker.membership.quotas.rates, field)),
        InUse(TransactionSettings, lambda broker, field: getattr(broker.transactions.coordinator.settings, field)),
    )
}


def other_value(definition: ConfigDefinition) -> str:
    if definition.name in VALUES:
        return VALUES[definition.name]
    assert definition.default is not None
    if definition.kind is ConfigKind.BOOLEAN:
        return "false" if definition.default == "true" else "true"
    return str(int(definition.default) + 1)


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningBroker]:
    data = str(tmp_path_factory.mktemp("data"))
    with RunningBroker(data, offsets_topic_num_partitions="1") as running, AdminPeer.of(running) as peer:
        peer.create_one("orders")
        peer.ask(FindCoordinatorRequest("readers"), 1, FindCoordinatorResponse)
        yield running


@pytest.fixture
def peer(broker: RunningBroker) -> Iterator[AdminPeer]:
    with AdminPeer.of(broker) as peer:
        yield peer
        for whose in ("", "1"):
            assert peer.replace(ResourceType.BROKER, whose, {}) == (0, None)


@pytest.mark.parametrize("definition", DYNAMIC, ids=lambda definition: definition.name)
def test_every_dynamic_setting_is_in_use_at_once(
    broker: RunningBroker, peer: AdminPeer, definition: ConfigDefinition
) -> None:
    def in_use() -> str:
        return text_of(broker.call(lambda: IN_USE[definition.settings](broker.broker, definition.field)))

    before, value = in_use(), other_value(definition)
    expected = text_of(getattr(definition.settings.from_properties({}, {definition.name: value}), definition.field))
    assert before != expected
    for whose in ("", "1"):
        assert peer.alter(ResourceType.BROKER, whose, Alteration(definition.name, value)) == (0, None)
        assert in_use() == expected
        deletion = Alteration(definition.name, None, OperationKind.DELETE)
        assert peer.alter(ResourceType.BROKER, whose, deletion) == (0, None)
        assert in_use() == before


# What some of them do.


def test_connections_are_limited_from_now_on(broker: RunningBroker, peer: AdminPeer) -> None:
    with AdminPeer.of(broker) as other:
        peer.set_broker("1", max_connections="2")
        with KafkaPeer(broker.address) as third:
            assert third.is_closed_by_broker()
        assert other.partition_count("orders") == 1, "those who are in stay"
        peer.set_broker("1", max_connections="1000")
        with AdminPeer.of(broker) as third_again:
            assert third_again.partition_count("orders") == 1


def test_larger_batches_are_taken_from_now_on(peer: AdminPeer) -> None:
    peer.create_one("large")
    batch = batch_of(b"x" * 2_000_000)
    assert peer.produce("large", batch)[0].error_code == ErrorCode.MESSAGE_TOO_LARGE
    peer.set_broker("", message_max_bytes="3000000")
    assert peer.produce("large", batch)[0].error_code == 0


def test_topics_are_no_longer_created_by_asking(peer: AdminPeer) -> None:
    peer.set_broker("1", auto_create_topics_enable="false")
    with pytest.raises(AssertionError):
        peer.create_topic("wanted")
    peer.set_broker("1", auto_create_topics_enable="true", num_partitions="3")
    peer.create_topic("wanted")
    assert peer.partition_count("wanted") == 3
    (result,) = peer.create(topic("by-default"))
    assert result.num_partitions == 3


def test_deletion_is_forbidden_from_now_on(peer: AdminPeer) -> None:
    peer.create_one("kept")
    peer.set_broker("", delete_topic_enable="false")
    assert peer.delete("kept")[0].error_code == ErrorCode.TOPIC_DELETION_DISABLED
    peer.set_broker("", delete_topic_enable="true")
    assert peer.delete("kept")[0].error_code == 0


def test_more_replicas_than_brokers_by_default(tmp_path: Path) -> None:
    """As in Kafka: what cannot be kept is not promised."""
    with RunningBroker(str(tmp_path), default_replication_factor="3") as broker, AdminPeer.of(broker) as peer:
        assert peer.create(topic("orders"))[0].error_code == ErrorCode.INVALID_REPLICATION_FACTOR
        assert peer.create(topic("orders", 1, 1))[0].error_code == 0
