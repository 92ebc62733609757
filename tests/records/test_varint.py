from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from strandline.model.failures import BrokenInvariant, CorruptData
from strandline.records.varint import LONG_BITS, LONG_MAX, LONG_MIN, decode_varint, encode_varint, varint_size

INT_MIN, INT_MAX = -(2**31), 2**31 - 1


@pytest.mark.parametrize(
    ("value", "encoded"),
    [
        (0, "00"),
        (-1, "01"),
        (1, "02"),
        (63, "7e"),
        (-64, "7f"),
        (64, "8001"),
        (-65, "8101"),
        (8191, "fe7f"),
        (8192, "808001"),
        (2**20, "80808001"),
        (INT_MAX, "feffffff0f"),
        (INT_MIN, "ffffffff0f"),
        (LONG_MAX, "feffffffffffffffff01"),
        (LONG_MIN, "ffffffffffffffffff01"),
    ],
)
def test_known_encodings(value: int, encoded: str) -> None:
    """SPEC L2: zig-zag varints as Kafka and Protocol Buffers write them."""
    assert encode_varint(value).hex() == encoded
    assert decode_varint(bytes.fromhex(encoded), 0, LONG_BITS) == (value, len(encoded) // 2)


@given(st.integers(INT_MIN, INT_MAX), st.binary(max_size=3), st.binary(max_size=3))
@example(INT_MIN, b"", b"")
def test_32_bits_round_trip_amid_other_bytes(value: int, before: bytes, after: bytes) -> None:
    encoded = encode_varint(value)
    assert len(encoded) == varint_size(value) <= 5
    assert decode_varint(before + encoded + after, len(before)) == (value, len(before) + len(encoded))


@given(st.integers(LONG_MIN, LONG_MAX))
def test_64_bits_round_trip(value: int) -> None:
    encoded = encode_varint(value)
    assert len(encoded) == varint_size(value) <= 10
    assert decode_varint(memoryview(encoded), 0, LONG_BITS) == (value, len(encoded))


@given(st.integers(LONG_MIN, LONG_MAX), st.data())
def test_a_cut_anywhere_is_told(value: int, data: st.DataObject) -> None:
    encoded = encode_varint(value)
    kept = data.draw(st.integers(0, len(encoded) - 1))
    with pytest.raises(CorruptData, match="cut short"):
        decode_varint(encoded[:kept], 0, LONG_BITS)


@pytest.mark.parametrize("encoded", ["8080808010", "ffffffffff0f", "8080808080", "ffffffff7f"])
def test_more_than_32_bits_are_refused(encoded: str) -> None:
    with pytest.raises(CorruptData, match="wider than 32 bits"):
        decode_varint(bytes.fromhex(encoded), 0)


@pytest.mark.parametrize("encoded", ["80" * 9 + "02", "ff" * 10 + "01", "80" * 10])
def test_more_than_64_bits_are_refused(encoded: str) -> None:
    with pytest.raises(CorruptData, match="wider than 64 bits"):
        decode_varint(bytes.fromhex(encoded), 0, LONG_BITS)


def test_longer_than_needed_is_legal() -> None:
    assert decode_varint(b"\x80\x00", 0) == (0, 2)
    assert decode_varint(b"\x82\x80\x80\x80\x00", 0) == (1, 5)


def test_what_does_not_fit_is_never_written() -> None:
    with pytest.raises(BrokenInvariant):
        encode_varint(LONG_MAX + 1)
