"""Broker processes on a real ZooKeeper: replicas move under load, and settings reach every broker."""

from __future__ import annotations

import json
from threading import Thread

from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    ResourceType,
)
from tests.cli.commands import Commands
from tests.cluster.orders import TOPIC, WAIT_S, Acknowledged, admin_of, consumed, leader_and_isr, wait_until

from strandline.cluster.process_cluster import ProcessCluster


def test_replicas_move_while_clients_run_and_a_broker_is_retired(cluster: ProcessCluster) -> None:
    """With a throttle, all from the first two brokers; then one that has nothing any more is stopped for good."""
    admin = admin_of(cluster)
    commands = Commands(cluster.bootstrap)
    commands("topic", "create", TOPIC, "-p", "1", "-r", "2")
    each_broker = [Commands(address) for address in cluster.bootstrap.split(",")]
    wait_until(lambda: all(TOPIC in broker("topic", "list") for broker in each_broker))  # as `reassign` may ask any
    commands("reassign", "execute", f"{TOPIC}/0=1,2")
    producer = Acknowledged(cluster.bootstrap)
    producer.send(range(300))
    assert consumed(cluster.bootstrap, 10)  # while there are as many brokers as groups want replicas
    for number, target in enumerate(("3,1", "2,3", "3,2")):
        words = ("reassign", "execute", f"{TOPIC}/0={target}", "--throttle", "10M")
        moving = Thread(target=lambda words=words: commands(*words))
        moving.start()
        producer.send(range(300 + 300 * number, 600 + 300 * number))
        moving.join()
    wait_until(lambda: leader_and_isr(admin)[1] == [2, 3])
    cluster.stop(1)
    producer.send(range(1200, 1500))
    producer.flush()
    assert consumed(cluster.bootstrap, 1500) == list(range(1500)), "none lost, none doubled, order kept"
    assert not commands.rows("reassign", "status")


def config_at(address: str, kind: ResourceType, name: str, setting: str) -> str | None:
    """As this broker has it."""
    admin = AdminClient({"bootstrap.servers": address, "log_level": 0})
    (future,) = admin.describe_configs([ConfigResource(kind, name)]).values()
    value: str | None = future.result(WAIT_S)[setting].value
    return value


def alter(admin: AdminClient, kind: ResourceType, name: str, setting: str, value: str) -> None:
    entry = ConfigEntry(setting, value, incremental_operation=AlterConfigOpType.SET)
    (future,) = admin.incremental_alter_configs([ConfigResource(kind, name, incremental_configs=[entry])]).values()
    future.result(WAIT_S)


def test_settings_reach_every_broker_and_those_of_one_are_its_own(cluster: ProcessCluster) -> None:
    admin = admin_of(cluster)
    admin.create_topics([NewTopic(TOPIC, 1, 3)])[TOPIC].result(WAIT_S)
    alter(admin, ResourceType.TOPIC, TOPIC, "retention.ms", "12345")
    alter(admin, ResourceType.BROKER, "2", "log.retention.ms", "77777")
    for broker in cluster.brokers.values():
        wait_until(
            lambda address=broker.address: config_at(address, ResourceType.TOPIC, TOPIC, "retention.ms") == "12345"  # type: ignore[misc]
        )
    commands = Commands(cluster.bootstrap)
    of_each = [
        json.loads(commands("config", "get", each, "log.retention.ms", "--entity", "broker", "--format", "json"))
        for each in ("1", "2", "3")
    ]
    assert [each["value"] == "77777" for each in of_each] == [False, True, False]
