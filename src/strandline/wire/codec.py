"""Messages of any version to bytes and back, by the layout that their classes declare.

For each class and version a plan is made at first use: the readers or writers of the fields that the version has,
in order. `decode` and `encode` run it. This is the plain way, for every API; the messages that are sent all the
time have a quick twin in a module of their own (`wire.produce`, `wire.fetch_request` …), tested equal to this.

Requests come from strangers. Lengths are checked before anything is made of them, so that decoding takes memory
in proportion to the request; whatever is wrong ends in ProtocolError.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, Field, fields
from functools import cache
from importlib import import_module
from typing import Any, TypeVar

from strandline.model.failures import ProtocolError
from strandline.wire.layout import Message, WireType
from strandline.wire.primitives import (
    BAD_BYTES,
    Buffer,
    encode_compact_count,
    encode_count,
    encode_tags,
    malformed,
    read_compact_count,
    read_compact_present_count,
    read_count,
    read_present_count,
    read_tags,
)
from strandline.wire.scalars import reader_of, writer_of
from strandline.wire.versions import SPOKEN, is_flexible

M = TypeVar("M", bound=Message)
Reader = Callable[[Buffer, int], tuple[Any, int]]
Writer = Callable[[Any], bytes]

# by (flexible, nullable)
COUNT_READERS = {
    (False, False): read_present_count,
    (False, True): read_count,
    (True, False): read_compact_present_count,
    (True, True): read_compact_count,
}

# Plans are kept for ever: there is one for each class and version of the protocol. (mypy believes that the class of
# an unhashable value is unhashable itself.)
NO_TAGS = b"\x00"
NULL_STRUCTURE, STRUCTURE = b"\xff", b"\x01"  # before a structure that may be null (KIP-893)


def decode(message: type[M], version: int, body: Buffer) -> M:
    """The message in these bytes; bytes after it are left alone."""
    read = structure_reader(message, version, is_flexible(message.api_key, version))  # type: ignore[arg-type]
    try:
        value, _ = read(memoryview(body), 0)
    except (*BAD_BYTES, ProtocolError) as cause:
        raise malformed(message.__name__, version, cause) from None
    return value  # type: ignore[no-any-return]


def encode(value: Message, version: int) -> bytes:
    write = structure_writer(type(value), version, is_flexible(value.api_key, version))  # type: ignore[arg-type]
    return write(value)


@cache
def request_class(api_key: int) -> type[Message]:
    return _message_class(api_key, "Request")


@cache
def response_class(api_key: int) -> type[Message]:
    return _message_class(api_key, "Response")


def decode_request(api_key: int, version: int, body: Buffer) -> Message:
    return decode(request_class(api_key), version, body)


def decode_response(api_key: int, version: int, body: Buffer) -> Message:
    return decode(response_class(api_key), version, body)


def _message_class(api_key: int, kind: str) -> type[Message]:
    """Imported at first use: a command speaks a few of the APIs, not all."""
    api = SPOKEN[api_key]
    module = import_module(f"strandline.wire.messages.{api.module}")
    return getattr(module, api.name + kind)  # type: ignore[no-any-return]


@cache
def structure_reader(structure: type[Any], version: int, flexible: bool) -> Reader:
    """Reads the fields of one structure, and its tagged fields where the version is flexible."""
    plain, tagged = fields_in(structure, version)
    readers = [(entry.name, _field_reader(wire_type(entry), version, flexible)) for entry in plain]
    names_by_tag = {tag: entry.name for tag, entry in tagged}
    tag_readers = {tag: _field_reader(wire_type(entry), version, flexible) for tag, entry in tagged}

    def read_structure(buffer: Buffer, position: int) -> tuple[Any, int]:
        values = {}
        for name, read in readers:
            values[name], position = read(buffer, position)
        if flexible:
            if buffer[position] == 0:
                return structure(**values), position + 1  # no tags, as nearly always
            tags, position = read_tags(buffer, position, tag_readers)
            values.update((names_by_tag[tag], value) for tag, value in tags.items())
        return structure(**values), position

    return read_structure


@cache
def structure_writer(structure: type[Any], version: int, flexible: bool) -> Writer:
    plain, _ = fields_in(structure, version)
    writers = [(entry.name, _field_writer(wire_type(entry), version, flexible)) for entry in plain]
    write_tags = tags_writer(structure, version) if flexible else None  # type: ignore[arg-type]

    def write_structure(value: Any) -> bytes:
        parts = [write(getattr(value, name)) for name, write in writers]
        if write_tags is not None:
            parts.append(write_tags(value))
        return b"".join(parts)

    return write_structure


@cache
def tags_writer(structure: type[Any], version: int) -> Writer:
    """Writes the end of a structure of a flexible version: its tagged fields."""
    _, tagged = fields_in(structure, version)
    writers = [
        (tag, entry.name, _default(entry), _field_writer(wire_type(entry), version, True)) for tag, entry in tagged
    ]

    if not writers:
        return lambda _: NO_TAGS

    def write_tags(value: Any) -> bytes:
        present = [(tag, write, getattr(value, name), default) for tag, name, default, write in writers]
        return encode_tags([(tag, write(field)) for tag, write, field, default in present if field != default])

    return write_tags


def wire_type(entry: Field[Any]) -> WireType:
    return entry.metadata["wire"]  # type: ignore[no-any-return]


def _default(entry: Field[Any]) -> Any:
    return entry.default if entry.default_factory is MISSING else entry.default_factory()


def fields_in(structure: type[Any], version: int) -> tuple[list[Field[Any]], list[tuple[int, Field[Any]]]]:
    """Fields of a version in order, and the tagged ones by number."""
    present = [entry for entry in fields(structure) if wire_type(entry).is_in(version)]
    tagged = [(tag, entry) for entry in present if (tag := wire_type(entry).tag) is not None]
    return [entry for entry in present if wire_type(entry).tag is None], sorted(tagged, key=lambda pair: pair[0])


def _field_reader(wire: WireType, version: int, flexible: bool) -> Reader:
    nullable = version >= wire.nullable_since
    if wire.structure is None:
        read = reader_of(wire.name, flexible, nullable and not wire.is_array)
    else:
        read = structure_reader(wire.structure, version, flexible)  # type: ignore[arg-type]
    if wire.is_array:
        return _array_reader(read, COUNT_READERS[flexible, nullable])
    return _nullable_reader(read) if wire.structure is not None and nullable else read


def _array_reader(read: Reader, read_length: Callable[[Buffer, int], tuple[int, int]]) -> Reader:
    def read_array(buffer: Buffer, position: int) -> tuple[list[Any] | None, int]:
        count, position = read_length(buffer, position)
        if count < 0:
            return None, position
        values = []
        for _ in range(count):
            value, position = read(buffer, position)
            values.append(value)
        return values, position

    return read_array


def _nullable_reader(read: Reader) -> Reader:
    def read_nullable(buffer: Buffer, position: int) -> tuple[Any, int]:
        if buffer[position] == NULL_STRUCTURE[0]:
            return None, position + 1
        return read(buffer, position + 1)

    return read_nullable


def _field_writer(wire: WireType, version: int, flexible: bool) -> Writer:
    nullable = version >= wire.nullable_since
    if wire.structure is None:
        write = writer_of(wire.name, flexible, nullable and not wire.is_array)
        if wire.becomes_nullable and not nullable and not wire.is_array:
            return _writer_of_none_as_empty(write, "" if wire.name == "string" else b"")
    else:
        write = structure_writer(wire.structure, version, flexible)  # type: ignore[arg-type]
    if wire.is_array:
        return _array_writer(write, encode_compact_count if flexible else encode_count, nullable)
    return _nullable_writer(write) if wire.structure is not None and nullable else write


def _array_writer(write: Writer, encode_length: Callable[[int], bytes], nullable: bool) -> Writer:
    def write_array(values: list[Any] | None) -> bytes:
        if values is None:
            return encode_length(-1 if nullable else 0)
        return encode_length(len(values)) + b"".join([write(value) for value in values])

    return write_array


def _writer_of_none_as_empty(write: Writer, empty: str | bytes) -> Writer:
    """For the versions in which a field could not be null yet."""

    def write_or_empty(value: Any) -> bytes:
        return write(empty if value is None else value)

    return write_or_empty


def _nullable_writer(write: Writer) -> Writer:
    def write_nullable(value: Any) -> bytes:
        return NULL_STRUCTURE if value is None else STRUCTURE + write(value)

    return write_nullable
