"""Settings as a test writes them, in the form that a broker reads.

{"num.partitions": 3, "auto.create.topics.enable": False}      by Kafka's names
num_partitions=3                                               as a keyword: dots become underscores
"""

from __future__ import annotations

from collections.abc import Mapping

# What makes a test quicker and changes nothing that a test can see. Given settings win.
FOR_TESTS = {"offsets.topic.num.partitions": "1", "transaction.state.log.num.partitions": "1"}


def gather_properties(settings: Mapping[str, object], keywords: Mapping[str, object]) -> dict[str, str]:
    """For a broker."""
    by_keyword = {_kafka_name(name): value for name, value in keywords.items()}
    return FOR_TESTS | text_properties(settings) | text_properties(by_keyword)


def text_properties(settings: Mapping[str, object]) -> dict[str, str]:
    return {name: _text(name, value) for name, value in settings.items()}


def _kafka_name(keyword: str) -> str:
    name = keyword.replace("_", ".")
    if "." not in name:
        raise TypeError(f"Broker() has no argument {keyword!r}, and no setting of Kafka has that name")
    return name


def _text(name: str, value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int | float):
        return str(value)
    if isinstance(value, list | tuple):
        return ",".join(_text(name, item) for item in value)
    raise TypeError(f"{name}={value!r}: a setting is text, a number, a boolean or a list of these")
