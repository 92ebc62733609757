"""The register of settings: each by the name under which a topic or a broker has it.

Everything is derived from the settings classes, whose fields know their names, defaults and limits. A field of a
topic's class is a topic property and has broker properties for its default; a field of any other class is there under
its broker properties only. Where one setting has several of these (`log.retention.ms`, `.minutes`, `.hours`), its
default belongs to the last.

What is not dynamic is read once, at the start. What is dynamic must take effect at once: `application` sees to it, or
whoever uses it reads it each time.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import fields
from enum import IntEnum
from typing import Any

from strandline.broker.broker_settings import BrokerSettings
from strandline.broker.configs.accepted import AcceptedTopicSettings
from strandline.broker.fetcher_settings import FetcherSettings
from strandline.broker.journal_settings import JournalSettings
from strandline.broker.network_settings import NetworkSettings
from strandline.broker.shutdown_settings import ShutdownSettings
from strandline.controller.settings import ControllerSettings
from strandline.groups.settings import GroupSettings, OffsetsTopicSettings
from strandline.metadata.zookeeper_settings import ZooKeeperSettings
from strandline.model.lazy_dataclass import dataclass
from strandline.model.settings import (
    INT_MAX,
    CleanerSettings,
    LogDirectorySettings,
    LogSettings,
    ProducerStateSettings,
    PropertySettings,
    ReplicationSettings,
    property_name,
)
from strandline.replication import settings as replication
from strandline.transactions.settings import TransactionSettings, TransactionStateTopicSettings

SHORT_MAX = 2**15 - 1
DOUBLE_MAX_TEXT = "1.7976931348623157E308"  # how Kafka writes "no limit"

TOPIC_SETTINGS: tuple[type[PropertySettings], ...] = (
    LogSettings,
    ReplicationSettings,
    replication.ThrottledReplicasSettings,
    AcceptedTopicSettings,
)
BROKER_SETTINGS: tuple[type[PropertySettings], ...] = (
    BrokerSettings,
    NetworkSettings,
    LogDirectorySettings,
    *TOPIC_SETTINGS,
    CleanerSettings,
    ProducerStateSettings,
    GroupSettings,
    OffsetsTopicSettings,
    replication.ReplicationSettings,
    replication.ReplicationQuotaSettings,
    replication.ReplicationRateSettings,
    ControllerSettings,
    FetcherSettings,
    JournalSettings,
    ShutdownSettings,
    TransactionSettings,
    TransactionStateTopicSettings,
    ZooKeeperSettings,
)
DYNAMIC_FIELDS: dict[type[PropertySettings], frozenset[str]] = {
    LogSettings: frozenset(entry.name for entry in fields(LogSettings)),
    ReplicationSettings: frozenset(("min_insync_replicas",)),
    replication.ReplicationRateSettings: frozenset(entry.name for entry in fields(replication.ReplicationRateSettings)),
    CleanerSettings: frozenset(entry.name for entry in fields(CleanerSettings)),
    ProducerStateSettings: frozenset(("producer_id_expiration_ms",)),
    GroupSettings: frozenset(entry.name for entry in fields(GroupSettings)) - {"offsets_retention_check_interval_ms"},
    NetworkSettings: frozenset(
        (
            "max_connection_creation_rate",
            "max_connections",
            "max_connections_per_ip",
            "max_connections_per_ip_overrides",
            "connections_max_idle_ms",
            "queued_max_request_bytes",
            "socket_request_stalled_ms",
        )
    ),
    BrokerSettings: frozenset(
        (
            "auto_create_topics_enable",
            "default_replication_factor",
            "delete_topic_enable",
            "max_partitions_per_request",
            "max_request_partition_size_limit",
            "num_partitions",
        )
    ),
    TransactionSettings: frozenset(("transaction_partition_verification_enable",)),
}


class ConfigKind(IntEnum):
    """As DescribeConfigs says it."""

    UNKNOWN = 0
    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7


@dataclass(frozen=True, slots=True)
class ConfigDefinition:
    name: str
    kind: ConfigKind
    default: str | None  # None where another name of the same setting has it
    names: tuple[str, ...]  # broker properties of the same setting, the strongest first
    is_dynamic: bool
    settings: type[PropertySettings]
    field: str


def text_of(value: Any) -> str:
    """As Kafka writes a value."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return ",".join(value)
    if isinstance(value, float) and value >= sys.float_info.max:
        return DOUBLE_MAX_TEXT
    return str(value)


def _kind(entry: Any) -> ConfigKind:
    plain = {"bool": ConfigKind.BOOLEAN, "str": ConfigKind.STRING, "float": ConfigKind.DOUBLE}
    if str(entry.type) in plain:
        return plain[str(entry.type)]
    if str(entry.type) != "int":
        return ConfigKind.LIST
    largest = entry.metadata["at_most"]
    if largest is None or largest > INT_MAX:
        return ConfigKind.LONG
    return ConfigKind.SHORT if largest == SHORT_MAX else ConfigKind.INT


def _topic_definitions() -> dict[str, ConfigDefinition]:
    return {
        property_name(entry.name): ConfigDefinition(
            property_name(entry.name),
            _kind(entry),
            text_of(entry.default),
            tuple(name for name, _ in entry.metadata["synonyms"]),
            True,
            settings,
            entry.name,
        )
        for settings in TOPIC_SETTINGS
        for entry in fields(settings)  # type: ignore[arg-type]
    }


def _broker_definitions() -> dict[str, ConfigDefinition]:
    found: dict[str, ConfigDefinition] = {}
    for settings in BROKER_SETTINGS:
        for entry in fields(settings):  # type: ignore[arg-type]
            for definition in _names_of(settings, entry):
                found.setdefault(definition.name, definition)
    return dict(sorted(found.items()))


def _names_of(settings: type[PropertySettings], entry: Any) -> list[ConfigDefinition]:
    synonyms: tuple[tuple[str, int], ...] = entry.metadata["synonyms"]
    names = tuple(name for name, _ in synonyms)
    dynamic = DYNAMIC_FIELDS.get(settings, frozenset())
    return [
        ConfigDefinition(
            name,
            _kind(entry),
            text_of(entry.default if factor == 1 else entry.default // factor) if name == names[-1] else None,
            names,
            entry.name in dynamic and name == names[0],
            settings,
            entry.name,
        )
        for name, factor in synonyms
    ]


TOPIC_CONFIGS: Mapping[str, ConfigDefinition] = _topic_definitions()
BROKER_CONFIGS: Mapping[str, ConfigDefinition] = _broker_definitions()
