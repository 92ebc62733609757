"""Reader and writer of each primitive type by its name, for the versions before and since the flexible ones."""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import Any

from strandline.wire import primitives
from strandline.wire.primitives import Buffer

Reader = Callable[[Buffer, int], tuple[Any, int]]
Writer = Callable[[Any], bytes]

NUMBERS = {
    "boolean": Struct(">?"),
    "int8": Struct(">b"),
    "int16": Struct(">h"),
    "int32": Struct(">i"),
    "int64": Struct(">q"),
    "uint16": Struct(">H"),
}


def number_reader(number: Struct) -> Reader:
    unpack_from, size = number.unpack_from, number.size

    def read_number(buffer: Buffer, position: int) -> tuple[Any, int]:
        return unpack_from(buffer, position)[0], position + size

    return read_number


def copied(read: Reader) -> Reader:
    def read_bytes(buffer: Buffer, position: int) -> tuple[bytes | None, int]:
        view, position = read(buffer, position)
        return None if view is None else bytes(view), position

    return read_bytes


NUMBER_READERS = {name: number_reader(number) for name, number in NUMBERS.items()}

# by (type, flexible, nullable)
READERS: dict[tuple[str, bool, bool], Reader] = {
    ("string", False, False): primitives.read_string,
    ("string", False, True): primitives.read_nullable_string,
    ("string", True, False): primitives.read_compact_string,
    ("string", True, True): primitives.read_compact_nullable_string,
    ("records", False, False): primitives.read_view,
    ("records", False, True): primitives.read_nullable_view,
    ("records", True, False): primitives.read_compact_view,
    ("records", True, True): primitives.read_compact_nullable_view,
    ("bytes", False, False): copied(primitives.read_view),
    ("bytes", False, True): copied(primitives.read_nullable_view),
    ("bytes", True, False): copied(primitives.read_compact_view),
    ("bytes", True, True): copied(primitives.read_compact_nullable_view),
}

WRITERS: dict[tuple[str, bool, bool], Writer] = {
    ("string", False, False): primitives.encode_string,
    ("string", False, True): primitives.encode_nullable_string,
    ("string", True, False): primitives.encode_compact_string,
    ("string", True, True): primitives.encode_compact_nullable_string,
    ("bytes", False, False): primitives.encode_bytes,
    ("bytes", False, True): primitives.encode_nullable_bytes,
    ("bytes", True, False): primitives.encode_compact_bytes,
    ("bytes", True, True): primitives.encode_compact_nullable_bytes,
}


def reader_of(name: str, flexible: bool, nullable: bool) -> Reader:
    if name == "uuid":
        return primitives.read_uuid
    return NUMBER_READERS.get(name) or READERS[name, flexible, nullable]


def writer_of(name: str, flexible: bool, nullable: bool) -> Writer:
    if name == "uuid":
        return primitives.encode_uuid
    if name in NUMBERS:
        return NUMBERS[name].pack
    return WRITERS["bytes" if name == "records" else name, flexible, nullable]
