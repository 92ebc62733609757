"""The register of settings is complete, and says of each what it is."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable, Iterator

import pytest

import strandline
from strandline.broker.broker_settings import BrokerSettings
from strandline.broker.configs.checks import parse_broker, parse_topic
from strandline.broker.configs.definitions import (
    BROKER_CONFIGS,
    BROKER_SETTINGS,
    DYNAMIC_FIELDS,
    TOPIC_CONFIGS,
    ConfigDefinition,
    ConfigKind,
    text_of,
)
from strandline.broker.configs.documentation import BROKER_DOCUMENTATION, TOPIC_DOCUMENTATION
from strandline.client.settings import ClientSettings
from strandline.model.settings import LogSettings, PropertySettings

NOT_A_BROKERS = {f"{ClientSettings.__module__}.{ClientSettings.__name__}"}


def settings_classes() -> Iterator[type[PropertySettings]]:
    for module in pkgutil.walk_packages(strandline.__path__, "strandline."):
        if not module.name.endswith(("__main__", "_native", "pytest_plugin")):
            importlib.import_module(module.name)
    yield from PropertySettings.__subclasses__()


def test_every_settings_class_is_in_the_register() -> None:
    def names(classes: Iterable[type[PropertySettings]]) -> set[str]:
        return {f"{each.__module__}.{each.__name__}" for each in classes}

    assert names(settings_classes()) - NOT_A_BROKERS == names(BROKER_SETTINGS)


def test_every_setting_is_documented_and_nothing_else() -> None:
    assert TOPIC_DOCUMENTATION.keys() == TOPIC_CONFIGS.keys()
    assert BROKER_DOCUMENTATION.keys() == BROKER_CONFIGS.keys()
    for sentence in (*TOPIC_DOCUMENTATION.values(), *BROKER_DOCUMENTATION.values()):
        assert sentence[0].isupper(), sentence
        assert sentence.endswith("."), sentence
        assert "  " not in sentence, sentence


@pytest.mark.parametrize("definition", BROKER_CONFIGS.values(), ids=lambda definition: definition.name)
def test_a_default_can_be_read_back(definition: ConfigDefinition) -> None:
    if definition.default is not None:
        found = definition.settings.from_properties({}, {definition.name: definition.default})
        assert text_of(getattr(found, definition.field)) == text_of(getattr(definition.settings(), definition.field))


def test_all_defaults_together_contradict_nothing() -> None:
    defaults = {name: each.default for name, each in BROKER_CONFIGS.items() if each.default is not None}
    parse_broker({**defaults, "offsets.topic.replication.factor": "1"})
    parse_topic({name: each.default or "" for name, each in TOPIC_CONFIGS.items() if each.default is not None}, {})


def test_the_default_of_several_names_belongs_to_the_last() -> None:
    """As in Kafka, where log.retention.hours is 168 and the other two are not set."""
    defaults = {name: BROKER_CONFIGS[name].default for name in BROKER_CONFIGS["log.retention.ms"].names}
    assert defaults == {"log.retention.ms": None, "log.retention.minutes": None, "log.retention.hours": "168"}
    assert BROKER_CONFIGS["log.retention.ms"].is_dynamic
    assert not BROKER_CONFIGS["log.retention.hours"].is_dynamic


def test_kinds() -> None:
    kinds = {name: TOPIC_CONFIGS[name].kind for name in ("segment.bytes", "retention.ms", "cleanup.policy")}
    assert list(kinds.values()) == [ConfigKind.INT, ConfigKind.LONG, ConfigKind.LIST]
    assert TOPIC_CONFIGS["min.cleanable.dirty.ratio"].kind is ConfigKind.DOUBLE
    assert TOPIC_CONFIGS["compression.type"].kind is ConfigKind.STRING
    assert TOPIC_CONFIGS["preallocate"].kind is ConfigKind.BOOLEAN
    assert BROKER_CONFIGS["default.replication.factor"].kind is ConfigKind.SHORT


def test_what_is_marked_dynamic_is_there() -> None:
    for settings, names in DYNAMIC_FIELDS.items():
        assert names <= settings.__dataclass_fields__.keys()  # type: ignore[attr-defined]
    assert DYNAMIC_FIELDS[LogSettings], "retention may be changed while a broker runs"
    assert "listeners" not in DYNAMIC_FIELDS[BrokerSettings]
