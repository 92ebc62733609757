"""What a setting is now and where that comes from, as DescribeConfigs and CreateTopics tell it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import IntEnum
from typing import NamedTuple

from strandline.broker.configs.definitions import (
    BROKER_CONFIGS,
    TOPIC_CONFIGS,
    TOPIC_SETTINGS,
    ConfigDefinition,
    ConfigKind,
    text_of,
)
from strandline.broker.configuration import ALONE, Configuration
from strandline.model.lazy_dataclass import dataclass


class ConfigSource(IntEnum):
    DYNAMIC_TOPIC = 1
    DYNAMIC_BROKER = 2
    DYNAMIC_DEFAULT_BROKER = 3
    STATIC_BROKER = 4
    DEFAULT = 5


class Synonym(NamedTuple):
    name: str
    value: str | None
    source: ConfigSource


@dataclass(frozen=True, slots=True)
class DescribedConfig:
    name: str
    value: str | None
    source: ConfigSource
    is_read_only: bool
    kind: ConfigKind
    synonyms: tuple[Synonym, ...]  # the strongest first; it is the one that counts
    is_sensitive: bool = False


def describe_topic(configuration: Configuration, own: Mapping[str, str]) -> Iterator[DescribedConfig]:
    """A topic with these settings of its own."""
    broker = configuration.broker_properties()
    in_force = {settings: settings.from_properties(own, broker) for settings in TOPIC_SETTINGS}
    for name, definition in TOPIC_CONFIGS.items():
        value = text_of(getattr(in_force[definition.settings], definition.field))
        synonyms = list(_broker_synonyms(configuration, definition))
        if name in own:
            synonyms.insert(0, Synonym(name, own[name], ConfigSource.DYNAMIC_TOPIC))
        source = synonyms[0].source if synonyms else ConfigSource.DEFAULT
        yield DescribedConfig(name, value, source, False, definition.kind, tuple(synonyms))


def describe_broker(configuration: Configuration) -> Iterator[DescribedConfig]:
    for name, definition in BROKER_CONFIGS.items():
        synonyms = tuple(_broker_synonyms(configuration, definition))
        own = next((synonym for synonym in synonyms if synonym.name == name), None)
        value, source = (None, ConfigSource.DEFAULT) if own is None else (own.value, own.source)
        yield DescribedConfig(name, value, source, not definition.is_dynamic, definition.kind, synonyms)
    for name in sorted(configuration.static.keys() - BROKER_CONFIGS.keys()):
        # Nobody knows what it means, so it may be a password.
        hidden = Synonym(name, None, ConfigSource.STATIC_BROKER)
        yield DescribedConfig(
            name, None, ConfigSource.STATIC_BROKER, True, ConfigKind.UNKNOWN, (hidden,), is_sensitive=True
        )


def describe_default_broker(configuration: Configuration) -> Iterator[DescribedConfig]:
    """What was set for all brokers, and nothing else."""
    for name, value in sorted(configuration.dynamic_default.items()):
        kind = BROKER_CONFIGS[name].kind if name in BROKER_CONFIGS else ConfigKind.UNKNOWN
        source = ConfigSource.DYNAMIC_DEFAULT_BROKER
        yield DescribedConfig(name, value, source, False, kind, (Synonym(name, value, source),))


def _broker_synonyms(configuration: Configuration, definition: ConfigDefinition) -> Iterator[Synonym]:
    layers: tuple[tuple[Mapping[str, str], ConfigSource], ...] = (
        (configuration.dynamic_broker, ConfigSource.DYNAMIC_BROKER),
        (configuration.dynamic_default, ConfigSource.DYNAMIC_DEFAULT_BROKER),
        (configuration.static, ConfigSource.STATIC_BROKER),
        (ALONE, ConfigSource.DEFAULT),
    )
    # A name counts by its strongest layer, and a stronger name counts before a weaker one in any layer.
    for name in definition.names:
        for properties, source in layers:
            if name in properties:
                yield Synonym(name, properties[name], source)
        default = BROKER_CONFIGS[name].default
        if default is not None and name not in ALONE:
            yield Synonym(name, default, ConfigSource.DEFAULT)
