"""The second opinion: the same message as kio has it, from ours, and messages of any version, made by chance.

kio (an independent implementation, tested against Kafka's own) has a class for each version; durations and
timestamps are timedelta and datetime there, a missing uuid is None.
"""

from __future__ import annotations

import datetime
import io
import uuid
from dataclasses import fields
from random import Random
from typing import Any

from kio.index import load_request_schema, load_response_schema
from kio.schema.errors import ErrorCode as KioErrorCode
from kio.serial import entity_writer
from kio.serial._introspect import EntityField, EntityTupleField, classify_field, is_optional

from strandline.wire.codec import request_class, response_class
from strandline.wire.layout import Message, WireType
from strandline.wire.versions import SERVED

EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
BITS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}
LAST_DATETIME_MS = 253402300799000
SAMPLES: dict[str, list[Any]] = {
    "boolean": [False, True],
    "uint16": [0, 1, 9092, 2**16 - 1],
    "string": ["", "t", "topic", "größe", "\U0001f30a", "x" * 126, "x" * 127, "x" * 300],
    "bytes": [b"", b"\0", b"bytes", b"b" * 127, b"b" * 20_000],
    "records": [b"", b"\0" * 61, b"r" * 127, b"r" * 20_000],
    "uuid": [bytes(16), bytes(range(16)), b"\xff" * 16],
}

EVERY_MESSAGE = [
    (key, kind, version)
    for key, api in SERVED.items()
    for kind in ("request", "response")
    for version in range(api.first_version, api.last_version + 1)
]
EVERY_REQUEST = [(key, version) for key, kind, version in EVERY_MESSAGE if kind == "request"]


def our_class(key: int, kind: str) -> type[Message]:
    return request_class(key) if kind == "request" else response_class(key)


def kio_class(key: int, kind: str, version: int) -> Any:
    return load_request_schema(key, version) if kind == "request" else load_response_schema(key, version)


def kio_bytes(value: Message, kind: str, version: int) -> bytes:
    """What kio writes for this message."""
    schema = kio_class(value.api_key, kind, version)
    target = io.BytesIO()
    entity_writer(schema)(target, to_kio(value, schema))
    return target.getvalue()


def to_kio(value: Any, schema: Any) -> Any:
    return schema(**{entry.name: field_to_kio(value, entry) for entry in fields(schema)})


def field_to_kio(value: Any, entry: Any) -> Any:
    kafka_type, shape = entry.metadata.get("kafka_type"), classify_field(entry)
    ours = getattr(value, entry.name if hasattr(value, entry.name) else entry.name + "_ms")
    if ours is None:
        return None
    if isinstance(shape, EntityTupleField):
        return tuple(to_kio(element, shape.type_) for element in ours)
    if isinstance(shape, EntityField):
        return to_kio(ours, shape.type_)
    if shape.is_array:
        return tuple(scalar_to_kio(element, kafka_type) for element in ours)
    if kafka_type == "datetime_i64" and ours == -1 and is_optional(entry):
        return None
    return scalar_to_kio(ours, kafka_type)


def scalar_to_kio(value: Any, kafka_type: str) -> Any:
    if kafka_type == "error_code":
        return KioErrorCode(value)
    if kafka_type in ("timedelta_i32", "timedelta_i64"):
        return datetime.timedelta(milliseconds=value)
    if kafka_type == "datetime_i64":
        return EPOCH + datetime.timedelta(milliseconds=value)
    if kafka_type == "uuid":
        return None if value == bytes(16) else uuid.UUID(bytes=value)
    return bytes(value) if kafka_type == "records" else value


def messages(key: int, kind: str, version: int, count: int) -> list[Any]:
    """Messages of that version that both of us can write: the same ones in each run."""
    chance = Random(f"{key} {kind} {version}")
    return [structure(our_class(key, kind), kio_class(key, kind, version), version, chance) for _ in range(count)]


def structure(ours: Any, schema: Any, version: int, chance: Random) -> Any:
    by_name = {entry.name: entry for entry in fields(schema)}
    assert len(by_name) == sum(entry.metadata["wire"].is_in(version) for entry in fields(ours)), (ours, version)
    values = {}
    for entry in fields(ours):
        kio_field = by_name.get(entry.name) or by_name.get(entry.name.removesuffix("_ms"))
        assert (kio_field is not None) == entry.metadata["wire"].is_in(version), (ours, entry.name, version)
        left_at_default = entry.metadata["wire"].tag is not None and chance.random() < 0.4
        if kio_field is not None and not left_at_default:
            values[entry.name] = field_value(entry.metadata["wire"], kio_field, version, chance)
    return ours(**values)


def field_value(wire: WireType, kio_field: Any, version: int, chance: Random) -> Any:
    if version >= wire.nullable_since and wire.tag is None and chance.random() < 0.2:
        return None
    shape = classify_field(kio_field)

    def one() -> Any:
        if wire.structure is not None:
            return structure(wire.structure, shape.type_, version, chance)
        return scalar(wire.name, kio_field.metadata["kafka_type"], chance)

    return [one() for _ in range(chance.choice([0, 1, 1, 2, 3]))] if wire.is_array else one()


def scalar(name: str, kafka_type: str, chance: Random) -> Any:
    if kafka_type == "error_code":
        return chance.randint(-1, 133)
    if kafka_type == "datetime_i64":
        return chance.choice([-1, 0, chance.randint(0, LAST_DATETIME_MS)])
    if kafka_type == "timedelta_i64":
        return chance.randint(-(2**40), 2**40)
    if name in BITS:
        limit = 2 ** (BITS[name] - 1)
        return chance.choice([-1, 0, 1, limit - 1, -limit, chance.randint(-limit, limit - 1)])
    return chance.choice(SAMPLES[name])
