"""How Kafka writes a structure as bytes: fields in order, each in the versions that have it.

All numbers are big-endian and signed. Plain versions write a string as an int16 length (-1: null) and UTF-8, bytes
and arrays with an int32 length. Flexible versions (KIP-482) write those lengths plus one as an unsigned varint (0:
null) and end every structure with its tagged fields: a count, then for each its tag, its size and its bytes. A tag
that is not known is skipped, which is how older software reads newer records.

A layout is a table of fields, so that it can be held beside Kafka's schema and compared line by line.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct, error
from typing import Any, NamedTuple, Protocol
from uuid import UUID

from strandline.model.failures import CorruptData, check
from strandline.model.lazy_dataclass import dataclass

LAST_VERSION = 2**15 - 1
UNSIGNED_VARINT_BYTES_MAX = 5
NULL, PRESENT = b"\xff", b"\x01"
INT16 = Struct(">h")
INT32 = Struct(">i")


class Source:
    """Bytes being read from the front."""

    __slots__ = ("data", "position")

    def __init__(self, data: bytes, position: int = 0) -> None:
        self.data = data
        self.position = position

    def take(self, size: int) -> bytes:
        start = self.position
        if not 0 <= size <= len(self.data) - start:
            raise CorruptData(f"{size} bytes at position {start} do not fit in {len(self.data)} bytes")
        self.position = start + size
        return self.data[start : self.position]

    def take_unsigned_varint(self) -> int:
        value = 0
        for index in range(UNSIGNED_VARINT_BYTES_MAX):
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << (7 * index)
            if byte < 0x80:
                return value
        raise CorruptData(f"unsigned varint before position {self.position} is too long")

    @property
    def is_exhausted(self) -> bool:
        return self.position == len(self.data)


def append_unsigned_varint(target: bytearray, value: int) -> None:
    while value > 0x7F:
        target.append(value & 0x7F | 0x80)
        value >>= 7
    target.append(value)


def _append_length(target: bytearray, length: int, plain: Struct, flexible: bool) -> None:
    if flexible:
        append_unsigned_varint(target, length + 1)
        return
    try:
        target += plain.pack(length)
    except error:
        check(False, f"a length of {length} does not fit its field")


def _take_length(source: Source, plain: Struct, flexible: bool) -> int:
    if flexible:
        return source.take_unsigned_varint() - 1
    return int(plain.unpack(source.take(plain.size))[0])


class Dialect(NamedTuple):
    """In which way a whole record is written."""

    version: int
    flexible: bool


class Kind(Protocol):
    """How one field is written."""

    def append(self, target: bytearray, value: Any, dialect: Dialect, /) -> None: ...

    def take(self, source: Source, dialect: Dialect, /) -> Any: ...


@dataclass(frozen=True, slots=True)
class Number:
    layout: Struct

    def append(self, target: bytearray, value: int, _dialect: Dialect) -> None:
        target += self.layout.pack(value)

    def take(self, source: Source, _dialect: Dialect) -> int:
        return int(self.layout.unpack(source.take(self.layout.size))[0])


@dataclass(frozen=True, slots=True)
class Identity:
    """16 bytes, most significant first."""

    def append(self, target: bytearray, value: UUID, _dialect: Dialect) -> None:
        target += value.bytes

    def take(self, source: Source, _dialect: Dialect) -> UUID:
        return UUID(bytes=source.take(16))


@dataclass(frozen=True, slots=True)
class Text:
    nullable: bool = False

    def append(self, target: bytearray, value: str | None, dialect: Dialect) -> None:
        check(value is not None or self.nullable, "null where a string must be")
        encoded = value.encode() if value is not None else b""
        _append_length(target, len(encoded) if value is not None else -1, INT16, dialect.flexible)
        target += encoded

    def take(self, source: Source, dialect: Dialect) -> str | None:
        length = _take_length(source, INT16, dialect.flexible)
        if length < 0 and self.nullable:
            return None
        try:
            return source.take(length).decode()
        except UnicodeDecodeError:
            raise CorruptData(f"string before position {source.position} is not UTF-8") from None


@dataclass(frozen=True, slots=True)
class Blob:
    def append(self, target: bytearray, value: bytes, dialect: Dialect) -> None:
        _append_length(target, len(value), INT32, dialect.flexible)
        target += value

    def take(self, source: Source, dialect: Dialect) -> bytes:
        return source.take(_take_length(source, INT32, dialect.flexible))


@dataclass(frozen=True, slots=True)
class Array:
    item: Kind
    nullable: bool = False

    def append(self, target: bytearray, value: tuple[Any, ...] | None, dialect: Dialect) -> None:
        check(value is not None or self.nullable, "null where an array must be")
        _append_length(target, len(value) if value is not None else -1, INT32, dialect.flexible)
        for item in value or ():
            self.item.append(target, item, dialect)

    def take(self, source: Source, dialect: Dialect) -> tuple[Any, ...] | None:
        count = _take_length(source, INT32, dialect.flexible)
        if count < 0 and self.nullable:
            return None
        # Every item takes a byte at least, so a damaged count cannot ask for more memory than there are bytes.
        if not 0 <= count <= len(source.data) - source.position:
            raise CorruptData(f"an array of {count} items before position {source.position} cannot be")
        return tuple(self.item.take(source, dialect) for _ in range(count))


@dataclass(frozen=True, slots=True)
class Field:
    """A field with a `tag` is in flexible versions only, and is written only where it is not `default`."""

    name: str
    kind: Kind
    since: int = 0
    until: int = LAST_VERSION
    tag: int | None = None
    default: Any = None


@dataclass(frozen=True, slots=True)
class Layout:
    """`make` takes the fields by name; those a version lacks keep the value that `make` gives them."""

    make: Callable[..., Any]
    fields: tuple[Field, ...]

    def append(self, target: bytearray, value: Any, dialect: Dialect) -> None:
        for field in self._present(dialect):
            field.kind.append(target, getattr(value, field.name), dialect)
        if dialect.flexible:
            self._append_tagged(target, value, dialect)

    def take(self, source: Source, dialect: Dialect) -> Any:
        values = {field.name: field.kind.take(source, dialect) for field in self._present(dialect)}
        if dialect.flexible:
            values |= self._take_tagged(source, dialect)
        return self.make(**values)

    def _present(self, dialect: Dialect) -> list[Field]:
        return [field for field in self.fields if field.tag is None and field.since <= dialect.version <= field.until]

    def _append_tagged(self, target: bytearray, value: Any, dialect: Dialect) -> None:
        tagged = [
            field for field in self.fields if field.tag is not None and getattr(value, field.name) != field.default
        ]
        append_unsigned_varint(target, len(tagged))
        for field in tagged:
            body = bytearray()
            field.kind.append(body, getattr(value, field.name), dialect)
            append_unsigned_varint(target, field.tag or 0)
            append_unsigned_varint(target, len(body))
            target += body

    def _take_tagged(self, source: Source, dialect: Dialect) -> dict[str, Any]:
        by_tag = {field.tag: field for field in self.fields if field.tag is not None}
        found = {}
        for _ in range(source.take_unsigned_varint()):
            tag = source.take_unsigned_varint()
            body = Source(source.take(source.take_unsigned_varint()))
            if tag in by_tag:
                found[by_tag[tag].name] = by_tag[tag].kind.take(body, dialect)
        return found


@dataclass(frozen=True, slots=True)
class NullableStructure:
    """Says 1 before its fields when it is there."""

    layout: Layout

    def append(self, target: bytearray, value: Any, dialect: Dialect) -> None:
        target += NULL if value is None else PRESENT
        if value is not None:
            self.layout.append(target, value, dialect)

    def take(self, source: Source, dialect: Dialect) -> Any:
        return self.layout.take(source, dialect) if source.take(1) == PRESENT else None
