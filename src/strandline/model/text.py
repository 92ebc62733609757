"""Every command, record, reply and timer prints as one line: its name, then the fields that say something.

Fields at their default are left out, and the rest read `name=value`. These lines are what the broker logs and
what the transcripts in the tests are made of.
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Iterator
from dataclasses import MISSING, fields
from enum import Enum
from typing import Any
from uuid import UUID


class OneLine:
    """For dataclasses."""

    __slots__ = ()

    def __str__(self) -> str:
        return " ".join([type(self).__name__, *_told(self)])


def _told(value: Any) -> Iterator[str]:
    for entry in fields(value):
        current = getattr(value, entry.name)
        if entry.default is MISSING or current != entry.default:
            yield f"{entry.name}={text_of(current)}"


def text_of(value: Any) -> str:
    match value:
        case Enum():
            return value.name
        case bytes():
            return text_of_bytes(value)
        case str():
            return value if value and value.isprintable() and " " not in value else repr(value)
        case UUID():
            return urlsafe_b64encode(value.bytes).decode().removesuffix("==")
        case OneLine():
            return "{" + " ".join(_told(value)) + "}"
        case tuple() if not hasattr(value, "_fields"):
            return "[" + " ".join(text_of(item) for item in value) + "]"
        case _:
            text = str(value)  # may hold what a client sent, such as the name of a topic
            return text if text.isprintable() else repr(text)


def text_of_bytes(data: bytes) -> str:
    """As they are where they can be read, else in hexadecimal; never more than a glimpse."""
    text = data.decode("ascii", "replace")
    glimpse = text if text.isprintable() and "\N{REPLACEMENT CHARACTER}" not in text else "0x" + data.hex()
    return (glimpse if len(glimpse) <= 40 else f"{glimpse[:40]}…({len(data)} bytes)") or "''"
