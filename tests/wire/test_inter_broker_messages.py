"""How a controller speaks with its brokers, byte for byte as Kafka 3.9 (MakeMessages.java) writes it.

kio has these no more, so Kafka's own bytes are the referee, with the same values as JSON beside them.
"""

from __future__ import annotations

import json
import re
from base64 import urlsafe_b64encode
from dataclasses import fields
from pathlib import Path
from random import Random
from struct import pack
from typing import Any

import pytest

from strandline.model.failures import ProtocolError
from strandline.wire.codec import decode, encode, request_class, response_class
from strandline.wire.header import decode_request_header, frame_response
from strandline.wire.layout import Message, WireType
from strandline.wire.versions import INTER_BROKER, SERVED, ApiKey, advertised

LINES = (Path(__file__).resolve().parent / "messages-3.9.txt").read_text(encoding="utf-8").splitlines()
WRITTEN = [
    (name, int(version), bytes.fromhex(body), json.loads(value))
    for name, version, body, value in (line.split("\t") for line in LINES)
]
CLASSES: dict[str, type[Message]] = {
    message.__name__: message for key in INTER_BROKER for message in (request_class(key), response_class(key))
}
MESSAGES = [line for line in WRITTEN if line[0] in CLASSES]
HEADERS = [(name.removesuffix("Header"), version, head) for name, version, head, _ in WRITTEN if "Header" in name]


def named(lines: list[Any]) -> list[str]:
    return [f"{line[0]} {line[1]}" for line in lines]


def test_every_version_is_here() -> None:
    versions = [(api.name, version) for api in INTER_BROKER.values() for version in range(api.last_version + 1)]
    assert [(name, version) for name, version, _ in HEADERS] == versions
    assert len(MESSAGES) == 2 * len(versions)


@pytest.mark.parametrize(("name", "version", "body", "value"), MESSAGES, ids=named(MESSAGES))
def test_bytes_are_kafkas(name: str, version: int, body: bytes, value: dict[str, Any]) -> None:
    message = decode(CLASSES[name], version, body + b"left alone")
    assert as_json(message, version) == value
    assert encode(message, version) == body


def as_json(structure: Any, version: int) -> dict[str, Any]:
    """A structure in the form that Kafka's JSON converters give it."""
    present = [entry for entry in fields(structure) if entry.metadata["wire"].is_in(version)]
    return {
        camel_case(entry.name): field_as_json(entry.metadata["wire"], getattr(structure, entry.name), version)
        for entry in present
    }


def field_as_json(wire: WireType, value: Any, version: int) -> Any:
    if wire.structure is not None:
        return [as_json(element, version) for element in value]
    return urlsafe_b64encode(value).decode().rstrip("=") if wire.name == "uuid" else value


def camel_case(name: str) -> str:
    words = re.sub(r"_(\w)", lambda match: match[1].upper(), name)
    return words.replace("Kraft", "KRaft")


@pytest.mark.parametrize(("name", "version", "head"), HEADERS, ids=named(HEADERS))
def test_headers_are_kafkas(name: str, version: int, head: bytes) -> None:
    """ControlledShutdown 0 alone names no client."""
    api = next(api for api in INTER_BROKER.values() if api.name == name)
    header = decode_request_header(memoryview(head + b"body"))
    client_id = None if (name, version) == ("ControlledShutdown", 0) else "controller"
    assert header == (api.key, version, 7, client_id, len(head))
    tags = b"\0" if version >= api.flexible_from else b""
    assert frame_response(api.key, version, 7, 100) == pack(">ii", 104 + len(tags), 7) + tags


def test_clients_do_not_hear_of_it() -> None:
    assert not INTER_BROKER.keys() & SERVED.keys()
    assert advertised([*INTER_BROKER, ApiKey.HEARTBEAT]) == [(12, 0, 4)]


@pytest.mark.parametrize("key", list(INTER_BROKER))
def test_defaults_can_be_sent_in_every_version(key: int) -> None:
    for version in range(INTER_BROKER[key].last_version + 1):
        for message in (request_class(key), response_class(key)):
            decode(message, version, encode(message(), version))


@pytest.mark.parametrize(("name", "version", "body", "value"), MESSAGES, ids=named(MESSAGES))
def test_mutated_messages_are_read_or_refused(name: str, version: int, body: bytes, value: dict[str, Any]) -> None:
    chance = Random(f"{name} {version} {len(value)}")
    for _ in range(40):
        changed = bytearray(body)
        changed[chance.randrange(len(changed))] = chance.choice([0, 1, 0x7F, 0x80, 0xFF])
        try:
            decode(CLASSES[name], version, bytes(changed[: len(changed) - chance.choice([0, 0, 1, 4])]))
        except ProtocolError:
            continue


def test_a_version_that_kafka_never_had_ends_the_connection() -> None:
    with pytest.raises(ProtocolError, match="LeaderAndIsr version 8 is not served: 0 to 7 are"):
        decode_request_header(pack(">hhih", 4, 8, 1, -1))
