"""Kafka's JSON in znodes: compact, in Kafka's order of keys, and read with the types Kafka insists on (KAFKA-4914).

Bad JSON, a missing key or a value of another type is `CorruptData` that names the znode; keys nobody knows are passed
over. An integer is 32 bits, `true` is none, and 1.0 is none either, as in Kafka's own decoder.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NoReturn, TypeVar

from strandline.model.failures import CorruptData

INT32_MIN, INT32_MAX = -(2**31), 2**31 - 1
INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1
SHOWN_LENGTH = 200
Value = TypeVar("Value")


def encode_json(members: Mapping[str, object]) -> bytes:
    return json.dumps(members, separators=(",", ":"), ensure_ascii=False).encode()


class JsonObject:
    """An object found at `where`, a path or the name of a part of it, for the sentence when something is wrong."""

    __slots__ = ("_members", "_where")

    def __init__(self, where: str, members: Mapping[str, Any]) -> None:
        self._where = where
        self._members = members

    @classmethod
    def parse(cls, where: str, data: bytes) -> JsonObject:
        try:
            members = json.loads(data.decode(), parse_constant=_refuse_constant)
        except (ValueError, RecursionError) as error:
            shown = data[:SHOWN_LENGTH].decode(errors="replace")
            raise CorruptData(f"{where} is not JSON ({error}): {shown}") from None
        if not isinstance(members, dict):
            raise CorruptData(f"{where} is JSON, and not an object: {str(members)[:SHOWN_LENGTH]}")
        return cls(where, members)

    def __iter__(self) -> Iterator[str]:
        return iter(self._members)

    def integer(self, key: str) -> int:
        value = self._required(key)
        if type(value) is not int or not INT32_MIN <= value <= INT32_MAX:
            self._wrong(key, value, "a 32-bit integer")
        return value

    def integers(self, key: str) -> tuple[int, ...]:
        values = self._required(key)
        if not isinstance(values, list):
            self._wrong(key, values, "a list")
        return tuple(JsonObject(f"{self._where} {key}", {"entry": value}).integer("entry") for value in values)

    def text(self, key: str) -> str:
        value = self._required(key)
        if not isinstance(value, str) or not _is_unicode(value):
            self._wrong(key, value, "a text")
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        values = self._required(key)
        if not isinstance(values, list):
            self._wrong(key, values, "a list")
        return tuple(JsonObject(f"{self._where} {key}", {"entry": value}).text("entry") for value in values)

    def number_in_text(self, key: str) -> int:
        """A 64-bit number as Kafka keeps times and producer ids: in quotes."""
        return parse_integer(f"{self._where} {key}", self.text(key))

    def nested(self, key: str) -> JsonObject:
        value = self._required(key)
        if not isinstance(value, dict):
            self._wrong(key, value, "an object")
        return JsonObject(f"{self._where} {key}", value)

    def nested_list(self, key: str) -> tuple[JsonObject, ...]:
        values = self._required(key)
        if not isinstance(values, list):
            self._wrong(key, values, "a list")
        return tuple(JsonObject(f"{self._where} {key}", {"entry": value}).nested("entry") for value in values)

    def optional(self, read: Callable[[str], Value], key: str) -> Value | None:
        """`read(key)`, or None where the key is missing or null."""
        return None if self._members.get(key) is None else read(key)

    def _required(self, key: str) -> Any:
        if key not in self._members:
            raise CorruptData(f"{self._where} has no {key!r}")
        return self._members[key]

    def _wrong(self, key: str, value: object, expected: str) -> NoReturn:
        raise CorruptData(f"{self._where} has {str(value)[:SHOWN_LENGTH]!r} for {key!r}, which must be {expected}")


def parse_integer(where: str, text: str) -> int:
    digits = text.removeprefix("-")
    if digits.isascii() and digits.isdigit() and len(digits) <= 19 and INT64_MIN <= int(text) <= INT64_MAX:
        return int(text)
    raise CorruptData(f"{where} has {text[:SHOWN_LENGTH]!r} where a number belongs")


def _is_unicode(text: str) -> bool:
    return text.isascii() or not any("\ud800" <= character <= "\udfff" for character in text)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")
