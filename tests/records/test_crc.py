"""CRC-32C: all ways to compute it give the same."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from crc32c import crc32c as library_crc32c

from strandline.records import crc

WAYS: list[Callable[[bytes], int]] = [library_crc32c]
if crc.IS_FAST:
    from strandline.records import _native

    WAYS += [_native.crc32c, _native.crc32c_by_instruction]


@pytest.mark.parametrize("crc32c", WAYS)
def test_values_from_the_standard(crc32c: object) -> None:
    """RFC 3720, B.4."""
    assert callable(crc32c)
    assert crc32c(b"") == 0
    assert crc32c(b"123456789") == 0xE3069283
    assert crc32c(bytes(32)) == 0x8A9136AA
    assert crc32c(b"\xff" * 32) == 0x62A8AB43
    assert crc32c(bytes(range(32))) == 0x46DD794E


@pytest.mark.parametrize("crc32c", WAYS[1:])
def test_ours_equal_the_library_for_every_length_around_their_steps(crc32c: Callable[[bytes], int]) -> None:
    data = random.Random(7).randbytes(20_000)
    for length in (*range(1100), *range(3000, 3500), 4095, 4096, 4097, 6143, 6144, 6145, 9216, 19_970):
        for start in (0, 1, 7, 21):
            piece = data[start : start + length]
            assert crc32c(piece) == library_crc32c(piece)


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview, lambda data: memoryview(bytearray(data))[3:]])
def test_any_buffer_will_do(kind: object) -> None:
    assert callable(kind)
    data = kind(random.Random(1).randbytes(1000))
    assert crc.crc32c(data) == library_crc32c(bytes(data))


def test_what_is_no_buffer_is_refused() -> None:
    with pytest.raises((TypeError, BufferError)):
        crc.crc32c("text")  # type: ignore[arg-type]
