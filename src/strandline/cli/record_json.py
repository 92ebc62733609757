"""Records as lines of JSON, such that what `consume -J` prints `produce -J` reads back to the byte.

    {"topic":"orders","partition":0,"offset":12,"timestamp":1700000000000,"timestamp_type":"create",
     "key":"a","value":{"total":3},"headers":[{"key":"source","value":"web"}]}

    text              a string
    a JSON document   itself, spliced in as it is: `jq .value.total` works, and no blank or digit of it is lost
    other bytes       base 64, under another name: `value_base64`
    null              null: no key, a tombstone

Only objects and arrays on one line are spliced in, for a value `7` or `"x"` could not be told from text. Reading also
takes kcat's names (`payload`, `ts`, headers as a flat list), and numbers as values, for lines written by hand. Topic,
partition and offset say where a record was, not where it shall go.
"""

from __future__ import annotations

import json
from base64 import b64decode
from binascii import Error as BadBase64
from typing import Any, NamedTuple

from strandline.cli.output import with_bytes
from strandline.client.fetched import ConsumedRecord
from strandline.records.record import Headers

DECODER = json.JSONDecoder()
STRICT = json.JSONDecoder(parse_constant=lambda constant: _refuse(constant))  # no NaN, which jq does not know
BLANK = " \t\r"
VALUE_NAMES = {"value", "value_base64", "payload", "payload_base64"}


class BadRecordLine(ValueError):
    """One sentence about what is wrong with a line."""


class RecordLine(NamedTuple):
    key: bytes | None
    value: bytes | None
    headers: Headers
    timestamp_ms: int | None
    partition: int | None


def format_record(record: ConsumedRecord) -> bytes:
    head = {
        "topic": record.partition.topic,
        "partition": record.partition.partition,
        "offset": record.offset,
        "timestamp": record.timestamp,
        "timestamp_type": "append" if record.is_log_append_time else "create",
    }
    headers = [{**with_bytes("key", _header_key(key)), **with_bytes("value", value)} for key, value in record.headers]
    parts = [
        _dump(head)[:-1],
        _member("key", record.key),
        _member("value", record.value),
        f'"headers":{_dump(headers)}}}',
    ]
    return ",".join(parts).encode()


def _member(name: str, data: bytes | None) -> str:
    embedded = _embeddable(data)
    return f'"{name}":{embedded}' if embedded is not None else _dump(with_bytes(name, data))[1:-1]


def _embeddable(data: bytes | None) -> str | None:
    """The text of a JSON object or array that can stand in a line as it is."""
    if not data or data[:1] not in (b"{", b"[") or data[-1:] not in (b"}", b"]") or b"\n" in data:
        return None
    try:
        text = data.decode()
        _, end = STRICT.raw_decode(text)
    except (ValueError, RecursionError):
        return None
    return text if end == len(text) else None


def _header_key(key: str) -> bytes:
    return key.encode("utf-8", "surrogateescape")


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def parse_record(line: bytes) -> RecordLine:
    try:
        members = _members(line.decode())
    except (ValueError, RecursionError) as error:
        raise BadRecordLine(f"not a JSON object: {error}") from None
    timestamp = _number(members, "timestamp", "ts")
    record = RecordLine(
        _bytes_of(members, "key"),
        _bytes_of(members, "value", "payload"),
        _headers_of(members),
        None if timestamp is None or timestamp < 0 else timestamp,
        None,
    )
    if not members.keys() & VALUE_NAMES:
        raise BadRecordLine("it has no value: a line is what `consume -J` prints. Where lines are values, leave out -J")
    return record


def _members(text: str) -> dict[str, tuple[Any, str]]:
    """Each member of an object by its name: its value, and the very text that said so."""
    members: dict[str, tuple[Any, str]] = {}
    position = _skip(text, 0)
    if text[position : position + 1] != "{":
        raise ValueError("it does not begin with {")
    position = _skip(text, position + 1)
    while text[position : position + 1] != "}":
        if text[position : position + 1] != '"':
            raise ValueError(f"a name was expected at character {position}")
        name, position = DECODER.raw_decode(text, position)
        position = _skip(text, position)
        if text[position : position + 1] != ":":
            raise ValueError(f"a colon was expected at character {position}")
        start = _skip(text, position + 1)
        value, position = DECODER.raw_decode(text, start)
        members[name] = value, text[start:position]
        position = _skip(text, position)
        if text[position : position + 1] == ",":
            position = _skip(text, position + 1)
        elif text[position : position + 1] != "}":
            raise ValueError(f"a comma or }} was expected at character {position}")
    if _skip(text, position + 1) != len(text):
        raise ValueError(f"there is more after the object, at character {position + 1}")
    return members


def _skip(text: str, position: int) -> int:
    while text[position : position + 1] in BLANK and position < len(text):
        position += 1
    return position


def _bytes_of(members: dict[str, tuple[Any, str]], *names: str) -> bytes | None:
    for name in names:
        if f"{name}_base64" in members:
            return _decoded(name, members[f"{name}_base64"][0])
        if name in members:
            value, text = members[name]
            if value is None:
                return None
            return _encoded(name, value if isinstance(value, str) else text)
    return None


def _encoded(name: str, text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise BadRecordLine(f"{name} has half of a surrogate pair, which is not text") from None


def _decoded(name: str, text: Any) -> bytes:
    if not isinstance(text, str):
        raise BadRecordLine(f"{name}_base64 is not a string")
    try:
        return b64decode(text, validate=True)
    except BadBase64:
        raise BadRecordLine(f"{name}_base64 is not base 64") from None


def _headers_of(members: dict[str, tuple[Any, str]]) -> Headers:
    given = members.get("headers", ([], ""))[0] or []
    if not isinstance(given, list):
        raise BadRecordLine("headers is not a list")
    if all(isinstance(each, str | None) for each in given):  # kcat's: name, value, name, value …
        if len(given) % 2 or None in given[::2]:
            raise BadRecordLine("headers is not a list of names and values")
        pairs = zip(given[::2], given[1::2], strict=True)
        return tuple((key, None if value is None else _encoded("headers", value)) for key, value in pairs)
    return tuple(_header(each) for each in given)


def _header(each: Any) -> tuple[str, bytes | None]:
    if not isinstance(each, dict):
        raise BadRecordLine("a header is not an object with key and value")
    members = {name: (value, _dump(value)) for name, value in each.items()}
    key = _bytes_of(members, "key")
    if key is None:
        raise BadRecordLine("a header has no key")
    return key.decode("utf-8", "surrogateescape"), _bytes_of(members, "value")


def _number(members: dict[str, tuple[Any, str]], *names: str) -> int | None:
    for name in names:
        if name in members:
            value = members[name][0]
            if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
                raise BadRecordLine(f"{name} is not a whole number")
            return value
    return None


def _refuse(constant: str) -> None:
    raise ValueError(constant)
