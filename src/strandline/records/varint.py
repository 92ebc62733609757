"""Variable-length integers as in Protocol Buffers, zig-zag: 0, -1, 1, -2 … become 0, 1, 2, 3 …

Seven bits per byte, least significant first; the top bit says that another byte follows. A 32-bit varint takes at most
five bytes, a 64-bit one ("varlong") at most ten; bits beyond the width are an error here (Kafka drops them silently).
A longer encoding than needed, such as 80 00 for 0, is legal.
"""

from __future__ import annotations

from strandline.model.failures import CorruptData, check

VARINT_BYTES_MAX = 5
VARLONG_BYTES_MAX = 10
INT_BITS = 32
LONG_BITS = 64
LONG_MIN = -(2**63)
LONG_MAX = 2**63 - 1


def encode_varint(value: int) -> bytes:
    target = bytearray()
    append_varint(target, value)
    return bytes(target)


def append_varint(target: bytearray, value: int) -> None:
    """Append a value of up to 64 bits; that a field is 32 bits wide only shows when it is read."""
    check(LONG_MIN <= value <= LONG_MAX, f"{value} does not fit in 64 bits")
    zigzag = value << 1 if value >= 0 else (~value << 1) | 1
    while zigzag > 0x7F:
        target.append(zigzag & 0x7F | 0x80)
        zigzag >>= 7
    target.append(zigzag)


def varint_size(value: int) -> int:
    zigzag = value << 1 if value >= 0 else (~value << 1) | 1
    return max(1, (zigzag.bit_length() + 6) // 7)


def decode_varint(buffer: bytes | bytearray | memoryview, position: int) -> tuple[int, int]:
    """The 32-bit value at `position` and the position after it."""
    return _decode(buffer, position, VARINT_BYTES_MAX, INT_BITS)


def decode_varlong(buffer: bytes | bytearray | memoryview, position: int) -> tuple[int, int]:
    """The 64-bit value at `position` and the position after it."""
    return _decode(buffer, position, VARLONG_BYTES_MAX, LONG_BITS)


def _decode(
    buffer: bytes | bytearray | memoryview, position: int, bytes_max: int, bits: int
) -> tuple[int, int]:
    zigzag = shift = 0
    for current in range(position, min(position + bytes_max, len(buffer))):
        byte = buffer[current]
        zigzag |= (byte & 0x7F) << shift
        if byte < 0x80:
            if zigzag >> bits:
                break
            return (zigzag >> 1) ^ -(zigzag & 1), current + 1
        shift += 7
    if shift == 7 * (len(buffer) - position):
        raise CorruptData(f"varint at position {position} is cut short")
    raise CorruptData(f"varint at position {position} is wider than {bits} bits")
