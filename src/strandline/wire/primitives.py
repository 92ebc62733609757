"""The types of Kafka's protocol, one reader and one writer each.

    string    legacy: int16 length, -1 for null         compact: unsigned varint of length + 1, 0 for null
    bytes     legacy: int32 length, -1 for null         compact: the same as for strings
    array     legacy: int32 count, -1 for null          compact: unsigned varint of count + 1, 0 for null
    tags      count, then for each: number, size, bytes; all unsigned varints. Unknown ones are skipped
    uuid      16 bytes; all zero for none

A reader takes a buffer that ends where its frame ends and a position, and gives the value and the position after
it. A length is compared with the bytes that remain before anything is made of it, so that no request allocates
more than in proportion to its own size. Malformed bytes are ProtocolError; reading past the end may also show as
`struct.error` or IndexError, which decoders turn into it (`BAD_BYTES`).
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct, error, unpack_from
from typing import Any, Protocol

from strandline.model.failures import ProtocolError, check

Buffer = bytes | memoryview


class FileSlice(Protocol):
    """Bytes that stay in their file until the network layer sends them from there."""

    @property
    def length(self) -> int: ...


BAD_BYTES = (error, IndexError, UnicodeDecodeError)
INT16 = Struct(">h")
INT32 = Struct(">i")
NO_UUID = bytes(16)
STRING_BYTES_MAX = 2**15 - 1
SMALL = tuple(bytes((number,)) for number in range(128))  # unsigned varints of one byte
TAGS_NONE = b"\0"


def malformed(api_name: str, version: int, cause: Exception) -> ProtocolError:
    return ProtocolError(f"the bytes are not {api_name} version {version}: {cause}")


def read_uvarint(buffer: Buffer, position: int) -> tuple[int, int]:
    try:
        value = buffer[position]
        if value < 0x80:
            return value, position + 1
        value &= 0x7F
        for shift in (7, 14, 21, 28):
            position += 1
            byte = buffer[position]
            value |= (byte & 0x7F) << shift
            if byte < 0x80 and value < 2**32:
                return value, position + 1
    except IndexError:
        raise ProtocolError("a varint is cut short") from None
    raise ProtocolError("a varint is wider than 32 bits")


def encode_uvarint(value: int) -> bytes:
    if value < 0x80:
        return SMALL[value]
    target = bytearray()
    while value > 0x7F:
        target.append(value & 0x7F | 0x80)
        value >>= 7
    target.append(value)
    return bytes(target)


def take(buffer: Buffer, position: int, length: int) -> int:
    """The position after `length` bytes, which must be there."""
    end = position + length
    if length < 0 or end > len(buffer):
        raise ProtocolError(f"a length of {length} where {len(buffer) - position} bytes remain")
    return end


def read_string(buffer: Buffer, position: int) -> tuple[str, int]:
    (length,) = INT16.unpack_from(buffer, position)
    end = take(buffer, position + 2, length)
    return str(buffer[position + 2 : end], "utf-8"), end


def read_nullable_string(buffer: Buffer, position: int) -> tuple[str | None, int]:
    (length,) = INT16.unpack_from(buffer, position)
    return (None, position + 2) if length == -1 else read_string(buffer, position)


def read_compact_string(buffer: Buffer, position: int) -> tuple[str, int]:
    length, position = read_uvarint(buffer, position)
    end = take(buffer, position, length - 1)
    return str(buffer[position:end], "utf-8"), end


def read_compact_nullable_string(buffer: Buffer, position: int) -> tuple[str | None, int]:
    return (None, position + 1) if buffer[position] == 0 else read_compact_string(buffer, position)


def read_view(buffer: Buffer, position: int) -> tuple[Buffer, int]:
    """Bytes left where they are: a slice of the buffer."""
    (length,) = INT32.unpack_from(buffer, position)
    end = take(buffer, position + 4, length)
    return buffer[position + 4 : end], end


def read_compact_view(buffer: Buffer, position: int) -> tuple[Buffer, int]:
    length, position = read_uvarint(buffer, position)
    end = take(buffer, position, length - 1)
    return buffer[position:end], end


def read_nullable_view(buffer: Buffer, position: int) -> tuple[Buffer | None, int]:
    (length,) = INT32.unpack_from(buffer, position)
    return (None, position + 4) if length == -1 else read_view(buffer, position)


def read_compact_nullable_view(buffer: Buffer, position: int) -> tuple[Buffer | None, int]:
    return (None, position + 1) if buffer[position] == 0 else read_compact_view(buffer, position)


def read_uuid(buffer: Buffer, position: int) -> tuple[bytes, int]:
    end = take(buffer, position, 16)
    return bytes(buffer[position:end]), end


def read_count(buffer: Buffer, position: int) -> tuple[int, int]:
    """Elements of an array, -1 for null. Each takes a byte at least."""
    (count,) = INT32.unpack_from(buffer, position)
    position += 4
    if not -1 <= count <= len(buffer) - position:
        raise bad_count(count, len(buffer) - position)
    return count, position


def read_compact_count(buffer: Buffer, position: int) -> tuple[int, int]:
    count, position = read_uvarint(buffer, position)
    if count > len(buffer) - position + 1:
        raise bad_count(count - 1, len(buffer) - position)
    return count - 1, position


def read_present_count(buffer: Buffer, position: int) -> tuple[int, int]:
    """Elements of an array that must not be null."""
    (count,) = INT32.unpack_from(buffer, position)
    position += 4
    if not 0 <= count <= len(buffer) - position:
        raise bad_count(count, len(buffer) - position)
    return count, position


def read_compact_present_count(buffer: Buffer, position: int) -> tuple[int, int]:
    count, position = read_uvarint(buffer, position)
    if not 0 < count <= len(buffer) - position + 1:
        raise bad_count(count - 1, len(buffer) - position)
    return count - 1, position


def bad_count(count: int, remaining_bytes: int) -> ProtocolError:
    if count == -1:
        return ProtocolError("an array is null that must not be")
    return ProtocolError(f"an array of {count} elements where {remaining_bytes} bytes remain")


def read_int32s(buffer: Buffer, position: int, count: int) -> tuple[list[int], int]:
    return list(unpack_from(f">{count}i", buffer, position)), position + 4 * count


def skip_tags(buffer: Buffer, position: int) -> int:
    if position < len(buffer) and buffer[position] == 0:
        return position + 1
    return read_tags(buffer, position, {})[1]


def read_tags(
    buffer: Buffer, position: int, readers: dict[int, Callable[[Buffer, int], tuple[Any, int]]]
) -> tuple[dict[int, Any], int]:
    """Values by tag number of those that have a reader."""
    values: dict[int, Any] = {}
    count, position = read_uvarint(buffer, position)
    for _ in range(count):  # each takes two bytes, or the reading ends in an error
        tag, position = read_uvarint(buffer, position)
        size, position = read_uvarint(buffer, position)
        end = take(buffer, position, size)
        if tag in readers:
            values[tag], stop = readers[tag](buffer[:end], position)
            if stop != end:
                raise ProtocolError(f"tagged field {tag} ends {end - stop} bytes before its size says")
        position = end
    return values, position


def encode_tags(tags: list[tuple[int, bytes]]) -> bytes:
    """Tag numbers, which must ascend, with their encoded values."""
    target = bytearray(encode_uvarint(len(tags)))
    for tag, value in tags:
        target += encode_uvarint(tag)
        target += encode_uvarint(len(value))
        target += value
    return bytes(target)


def encode_string(value: str) -> bytes:
    data = value.encode()
    check(len(data) <= STRING_BYTES_MAX, f"a string of {len(data)} bytes is too long for this version of the protocol")
    return INT16.pack(len(data)) + data


def encode_nullable_string(value: str | None) -> bytes:
    return b"\xff\xff" if value is None else encode_string(value)


def encode_compact_string(value: str) -> bytes:
    data = value.encode()
    return encode_uvarint(len(data) + 1) + data


def encode_compact_nullable_string(value: str | None) -> bytes:
    return b"\0" if value is None else encode_compact_string(value)


def encode_bytes(value: Buffer) -> bytes:
    return INT32.pack(len(value)) + bytes(value)


def encode_nullable_bytes(value: Buffer | None) -> bytes:
    return b"\xff\xff\xff\xff" if value is None else encode_bytes(value)


def encode_compact_bytes(value: Buffer) -> bytes:
    return encode_uvarint(len(value) + 1) + bytes(value)


def encode_compact_nullable_bytes(value: Buffer | None) -> bytes:
    return b"\0" if value is None else encode_compact_bytes(value)


def encode_uuid(value: bytes) -> bytes:
    check(len(value) == 16, f"a uuid has 16 bytes, not {len(value)}")
    return value


def encode_count(count: int) -> bytes:
    """-1 for null."""
    return INT32.pack(count)


def encode_compact_count(count: int) -> bytes:
    return encode_uvarint(count + 1)
