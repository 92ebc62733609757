"""Variable-length integers as in Protocol Buffers, zig-zag: 0, -1, 1, -2 … become 0, 1, 2, 3 …

Seven bits per byte, least significant first; the top bit says that another byte follows. A 32-bit varint
takes at most five bytes, a 64-bit one (Kafka's "varlong") at most ten; bits beyond the width are an error
here, where Kafka drops them. A longer encoding than needed, such as 80 00 for 0, is legal.
"""

from __future__ import annotations

from functools import lru_cache

from strandline.model.failures import CorruptData, check
from strandline.records.batch import Buffer

INT_BITS = 32
LONG_BITS = 64
LONG_MIN = -(2**63)
LONG_MAX = 2**63 - 1


@lru_cache(maxsize=2**14)  # lengths and deltas come again and again
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


def decode_varint(buffer: Buffer, position: int, bits: int = INT_BITS) -> tuple[int, int]:
    """The value of up to `bits` bits at `position`, and the position after it."""
    try:
        # Three bytes cover the lengths and deltas of nearly all records; unrolled, they take half the time.
        zigzag = buffer[position]
        if zigzag < 0x80:
            return (zigzag >> 1) ^ -(zigzag & 1), position + 1
        byte = buffer[position + 1]
        zigzag += (byte << 7) - 0x80
        if byte < 0x80:
            return (zigzag >> 1) ^ -(zigzag & 1), position + 2
        byte = buffer[position + 2]
        zigzag += (byte << 14) - 0x4000
        if byte < 0x80:
            return (zigzag >> 1) ^ -(zigzag & 1), position + 3
        return _decode_long(buffer, position, bits)
    except IndexError:
        raise CorruptData(f"varint at position {position} is cut short") from None


def _decode_long(buffer: Buffer, position: int, bits: int) -> tuple[int, int]:
    zigzag = 0
    for shift in range(0, bits, 7):
        byte = buffer[position + shift // 7]
        zigzag |= (byte & 0x7F) << shift
        if byte < 0x80 and not zigzag >> bits:
            return (zigzag >> 1) ^ -(zigzag & 1), position + shift // 7 + 1
    raise CorruptData(f"varint at position {position} is wider than {bits} bits")
