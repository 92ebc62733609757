"""All settings of a broker and of topics, from where they come (SPEC M1).

The first of these that has a property wins: the topic's own, the broker's dynamic ones, the dynamic ones for all
brokers, the file and `--set`, the default. The dynamic ones lie in the metadata store and change while we run; who
depends on one registers with `when_changed`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from strandline.metadata import paths
from strandline.metadata.config_values import decode_config
from strandline.metadata.store import Session
from strandline.model.settings import LogSettings, PropertySettings, ReplicationSettings

Settings = TypeVar("Settings", bound=PropertySettings)

# What Kafka's own sample of server.properties sets for a machine on its own.
ALONE = {
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "group.initial.rebalance.delay.ms": "0",
}


class Configuration:
    def __init__(self, static: Mapping[str, str]) -> None:
        self.static = dict(static)
        self.dynamic_default: dict[str, str] = {}
        self.dynamic_broker: dict[str, str] = {}
        self.topics: dict[str, dict[str, str]] = {}
        self._listeners: list[Callable[[], object]] = []
        self._merged: dict[str, str] | None = None

    def broker_properties(self) -> Mapping[str, str]:
        if self._merged is None:
            self._merged = ALONE | self.static | self.dynamic_default | self.dynamic_broker
        return self._merged

    def of_broker(self, settings: type[Settings]) -> Settings:
        return settings.from_properties({}, self.broker_properties())

    def log_settings(self, topic: str) -> LogSettings:
        return LogSettings.from_properties(self.topics.get(topic, {}), self.broker_properties())

    def replication_settings(self, topic: str) -> ReplicationSettings:
        return ReplicationSettings.from_properties(self.topics.get(topic, {}), self.broker_properties())

    async def load(self, session: Session, broker_id: int) -> None:
        """Everything dynamic there is, before a log is opened with it."""
        self.dynamic_default = await _stored(session, paths.BROKER_CONFIGS, paths.DEFAULT_ENTITY)
        self.dynamic_broker = await _stored(session, paths.BROKER_CONFIGS, str(broker_id))
        for topic in (await session.children(f"{paths.CONFIG}/{paths.TOPIC_CONFIGS}")).names:
            self.topics[topic] = await _stored(session, paths.TOPIC_CONFIGS, topic)
        self._merged = None

    # Changes.

    def when_changed(self, listener: Callable[[], object]) -> None:
        self._listeners.append(listener)

    def set_dynamic(self, *, default: Mapping[str, str], broker: Mapping[str, str]) -> None:
        self.dynamic_default, self.dynamic_broker = dict(default), dict(broker)
        self.changed()

    def set_topic(self, topic: str, properties: Mapping[str, str] | None) -> None:
        if properties is None:
            self.topics.pop(topic, None)
        else:
            self.topics[topic] = dict(properties)
        self.changed()

    def changed(self) -> None:
        self._merged = None
        for listener in self._listeners:
            listener()


async def _stored(session: Session, config_type: str, entity: str) -> dict[str, str]:
    path = paths.entity_path(config_type, entity)
    if await session.exists(paths.config_path(path)) is None:
        return {}
    return decode_config(path, (await session.get(paths.config_path(path))).data)
