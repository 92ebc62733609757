"""Whether properties can be used, all together: unknown names, values out of bounds, values that contradict each other.

A check is made before anything is stored. What is found in the store at the start and cannot be used, because another
program wrote it there, is left out with a warning: a broker that does not start helps nobody.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping

from strandline.broker.configs.definitions import (
    BROKER_CONFIGS,
    BROKER_SETTINGS,
    TOPIC_CONFIGS,
    TOPIC_SETTINGS,
)
from strandline.broker.configs.unknown_names import did_you_mean
from strandline.model.failures import ErrorCode, Refused
from strandline.model.settings import BadSetting

logger = logging.getLogger(__name__)

Properties = Mapping[str, str]


def check_topic(properties: Properties, broker: Properties, *, changed: Iterable[str]) -> None:
    """Refuses, with a sentence. `changed` are the names that the request brings."""
    for name in changed:
        if name not in TOPIC_CONFIGS:
            end = did_you_mean(name, TOPIC_CONFIGS) or "."
            raise Refused(ErrorCode.INVALID_CONFIG, f"Topics have no setting {name!r}{end}")
    try:
        parse_topic(properties, broker)
    except BadSetting as bad:
        raise Refused(ErrorCode.INVALID_CONFIG, f"{bad}.") from None


def check_dynamic(changed: Iterable[str]) -> None:
    for name in changed:
        if name not in BROKER_CONFIGS:
            end = did_you_mean(name, BROKER_CONFIGS) or "."
            raise Refused(ErrorCode.INVALID_CONFIG, f"Brokers have no setting {name!r}{end}")
        if not BROKER_CONFIGS[name].is_dynamic:
            raise Refused(
                ErrorCode.INVALID_CONFIG,
                f"{name!r} cannot be changed while a broker runs: set it in its file, and start it again.",
            )


def check_broker(properties: Properties, topics: Mapping[str, Properties]) -> None:
    """Also with the settings of every topic, which may contradict a new default."""
    try:
        parse_broker(properties)
    except BadSetting as bad:
        raise Refused(ErrorCode.INVALID_CONFIG, f"{bad}.") from None
    for topic, own in topics.items():
        if own:
            try:
                parse_topic(own, properties)
            except BadSetting as bad:
                raise Refused(ErrorCode.INVALID_CONFIG, f"With the settings of topic {topic!r}: {bad}.") from None


def parse_topic(properties: Properties, broker: Properties) -> None:
    for settings in TOPIC_SETTINGS:
        settings.from_properties(properties, broker)


def parse_broker(properties: Properties) -> None:
    """Raises `BadSetting` for the first that cannot be used."""
    for settings in BROKER_SETTINGS:
        settings.from_properties({}, properties)


def names_without_effect(properties: Properties) -> list[str]:
    """What nobody knows."""
    return sorted(properties.keys() - BROKER_CONFIGS.keys())


def usable_topic(topic: str, properties: Properties, broker: Properties) -> dict[str, str]:
    return _usable(f"topic {topic}", properties, lambda candidate: parse_topic(candidate, broker))


def usable_broker(whose: str, properties: Properties, weaker: Properties) -> dict[str, str]:
    return _usable(whose, properties, lambda candidate: parse_broker({**weaker, **candidate}))


def _usable(whose: str, properties: Properties, parse: Callable[[Properties], None]) -> dict[str, str]:
    if not properties:
        return {}
    try:
        parse(properties)
        return dict(properties)
    except BadSetting:
        kept: dict[str, str] = {}
    for name, value in properties.items():
        try:
            parse({**kept, name: value})
            kept[name] = value
        except BadSetting as bad:
            logger.warning("a stored setting of %s cannot be used and is left out: %s", whose, bad)
    return kept
