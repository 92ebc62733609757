"""Options as text into values, and those that nobody knows refused: an option that is not heeded misleads."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from strandline.client.settings import ClientSettings
from strandline.model.settings import parse_boolean, parse_integer
from strandline.spark.failures import BadOption

KAFKA = "kafka."
BOOTSTRAP = "bootstrap.servers"
DURATION = re.compile(r"(?P<number>[0-9]{1,12})(?P<unit>[a-z]*)")
UNIT_MS = {"": 1, "ms": 1, "s": 1000, "m": 60_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}


def boolean_option(options: Mapping[str, str], name: str, default: bool) -> bool:
    text = options.get(name.lower())
    if text is None:
        return default
    try:
        return parse_boolean(text.strip())
    except ValueError as error:
        raise BadOption(f"option {name}={text!r}: {error}") from None


def whole_option(options: Mapping[str, str], name: str, default: int | None = None) -> int | None:
    text = options.get(name.lower())
    if text is None:
        return default
    try:
        return parse_integer(text.strip())
    except ValueError as error:
        raise BadOption(f"option {name}={text!r}: {error}") from None


def bounded_option(options: Mapping[str, str], name: str, default: int, *, at_least: int) -> int:
    number = whole_option(options, name, default)
    if number is None or number < at_least:
        raise BadOption(f"{name} must be at least {at_least}")
    return number


def positive_option(options: Mapping[str, str], name: str) -> int | None:
    number = whole_option(options, name)
    if number is not None and number <= 0:
        raise BadOption(f"{name} must be positive")
    return number


def duration_option_ms(options: Mapping[str, str], name: str, default: str) -> int:
    """As Spark writes lengths of time: 15m, 10s, 250ms; a bare number is milliseconds."""
    text = options.get(name.lower(), default).strip().lower()
    match = DURATION.fullmatch(text)
    if match is None or match["unit"] not in UNIT_MS:
        raise BadOption(f"option {name}={text!r}: expected a length of time, as in 15m, 10s or 250ms")
    return int(match["number"]) * UNIT_MS[match["unit"]]


def client_properties(options: Mapping[str, str], protected: Mapping[str, str], role: str) -> dict[str, str]:
    """What is said after `kafka.`, by Kafka's names; `protected` has those that Spark keeps to itself, and why."""
    properties = {name.removeprefix(KAFKA): text for name, text in options.items() if name.startswith(KAFKA)}
    for name, reason in protected.items():
        if name in properties:
            raise BadOption(f"Kafka option '{name}' is not supported{reason}")
    if BOOTSTRAP not in properties:
        raise BadOption(f"Option 'kafka.{BOOTSTRAP}' must be specified for configuring Kafka {role}")
    return properties


def check_settings(properties: Mapping[str, str]) -> None:
    """Whether our client knows them all and can use them."""
    ClientSettings.of(properties)


def refuse_unknown(options: Mapping[str, str], known: Collection[str], role: str) -> None:
    """Spark gives option names in lower case; `known` has them as people write them."""
    names = {name.lower(): name for name in known}
    for option in options:
        if option in names or option.startswith(KAFKA):
            continue
        raise BadOption(_describe_unknown(option, names, role))


def _describe_unknown(option: str, names: Mapping[str, str], role: str) -> str:
    if option == "path":
        instead = "topic" if role == "sink" else "subscribe"
        return f'format("strandline") has no path: name topics with the option {instead}'
    if option in (BOOTSTRAP, "group.id"):
        return f"option {option} is not known to the {role}; did you mean kafka.{option}?"
    from difflib import get_close_matches  # only for those who mistype

    close = get_close_matches(option, names, n=1)
    return f"option {option} is not known to the {role}" + (f"; did you mean {names[close[0]]}?" if close else "")
