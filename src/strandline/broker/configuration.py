"""All settings of a broker and of topics, from where they come (SPEC M1).

The first of these that has a property wins: the topic's own, the broker's dynamic ones, the dynamic ones for all
brokers, the file and `--set`, the default. The dynamic ones lie in the metadata store and change while we run; who
depends on one registers with `when_changed`, or with `when_topic_changed` for those of topics.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from strandline.broker.configs.checks import names_without_effect, parse_broker, usable_broker, usable_topic
from strandline.metadata import paths
from strandline.metadata.config_values import decode_config
from strandline.metadata.errors import NoNode
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
        """Raises `BadSetting` for a property that cannot be used. One that nobody knows is no error."""
        self.static = dict(static)
        self.dynamic_default: dict[str, str] = {}
        self.dynamic_broker: dict[str, str] = {}
        self.topics: dict[str, dict[str, str]] = {}
        self._listeners: list[Callable[[], object]] = []
        self._topic_listeners: list[Callable[[str], object]] = []
        self._merged: dict[str, str] | None = None
        self._parsed: dict[type[PropertySettings], PropertySettings] = {}  # of the broker, as they are now
        parse_broker(self.broker_properties())

    def broker_properties(self) -> Mapping[str, str]:
        if self._merged is None:
            self._parsed = {}
            self._merged = merged(self.static, self.dynamic_default, self.dynamic_broker)
        return self._merged

    def of_broker(self, settings: type[Settings]) -> Settings:
        """Some requests ask each time: they are parsed again only when one has changed."""
        properties = self.broker_properties()
        found = self._parsed.get(settings)
        if not isinstance(found, settings):
            found = self._parsed[settings] = settings.from_properties({}, properties)
        return found

    def log_settings(self, topic: str) -> LogSettings:
        return self.of_topic(LogSettings, topic)

    def replication_settings(self, topic: str) -> ReplicationSettings:
        return self.of_topic(ReplicationSettings, topic)

    def names_without_effect(self) -> list[str]:
        """Of what the file and `--set` say."""
        return names_without_effect(self.static)

    async def load(self, session: Session, broker_id: int) -> None:
        """Everything dynamic there is, before a log is opened with it."""
        default = await _stored(session, paths.BROKER_CONFIGS, paths.DEFAULT_ENTITY)
        self.dynamic_default = usable_broker("all brokers", default, merged(self.static))
        own = await _stored(session, paths.BROKER_CONFIGS, str(broker_id))
        self.dynamic_broker = usable_broker(f"broker {broker_id}", own, merged(self.static, self.dynamic_default))
        self._merged = None
        for topic in (await session.children(f"{paths.CONFIG}/{paths.TOPIC_CONFIGS}")).names:
            self.topics[topic] = self._usable(topic, await _stored(session, paths.TOPIC_CONFIGS, topic))

    def of_topic(self, settings: type[Settings], topic: str) -> Settings:
        """Most topics set nothing of their own: they share what the broker's settings make."""
        own = self.topics.get(topic)
        return settings.from_properties(own, self.broker_properties()) if own else self.of_broker(settings)

    async def load_topic(self, session: Session, topic: str) -> None:
        """A topic that has just come."""
        self.set_topic(topic, await _stored(session, paths.TOPIC_CONFIGS, topic))

    async def reload(self, session: Session, entity_path: str, broker_id: int) -> None:
        """What the store has now for a topic or for brokers, after somebody changed it."""
        config_type, _, entity = entity_path.partition("/")
        if config_type == paths.TOPIC_CONFIGS and entity in self.topics:
            await self.load_topic(session, entity)
        elif config_type == paths.BROKER_CONFIGS and entity in (paths.DEFAULT_ENTITY, str(broker_id)):
            default = await _stored(session, paths.BROKER_CONFIGS, paths.DEFAULT_ENTITY)
            own = await _stored(session, paths.BROKER_CONFIGS, str(broker_id))
            default = usable_broker("all brokers", default, merged(self.static))
            self.set_dynamic(
                default=default, broker=usable_broker(f"broker {broker_id}", own, merged(self.static, default))
            )

    # Changes.

    def when_changed(self, listener: Callable[[], object]) -> None:
        """Called after any setting of the broker changed, which may be the default of a topic's."""
        self._listeners.append(listener)

    def when_topic_changed(self, listener: Callable[[str], object]) -> None:
        """Called with the topic after one of its own settings changed."""
        self._topic_listeners.append(listener)

    def set_static(self, name: str, value: str) -> None:
        """What a file could have said, found elsewhere before anybody reads it."""
        self.static[name] = value
        self._merged = None

    def set_dynamic(self, *, default: Mapping[str, str], broker: Mapping[str, str]) -> None:
        """They have been checked."""
        self.dynamic_default, self.dynamic_broker = dict(default), dict(broker)
        self._merged = None
        for listener in self._listeners:
            listener()

    def set_topic(self, topic: str, properties: Mapping[str, str] | None) -> None:
        if properties is None:
            self.topics.pop(topic, None)
            return
        self.topics[topic] = self._usable(topic, properties)
        for listener in self._topic_listeners:
            listener(topic)

    def _usable(self, topic: str, properties: Mapping[str, str]) -> dict[str, str]:
        return usable_topic(topic, properties, self.broker_properties())


def merged(*layers: Mapping[str, str]) -> dict[str, str]:
    """Broker properties, the weakest layer first."""
    properties = dict(ALONE)
    for layer in layers:
        properties |= layer
    return properties


async def _stored(session: Session, config_type: str, entity: str) -> dict[str, str]:
    path = paths.entity_path(config_type, entity)
    try:
        node = await session.get(paths.config_path(path))
    except NoNode:
        return {}
    return decode_config(path, node.data)
