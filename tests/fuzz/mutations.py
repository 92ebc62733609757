"""What happens to good requests on their way: flipped bits, cuts, lengths that lie, counts that cannot be, nonsense."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from struct import pack

HUGE = [
    b"\x7f\xff\xff\xff",
    b"\xff\xff\xff\xff",
    b"\x80\x00\x00\x00",
    b"\xff\xff\xff\xff\x0f",
    b"\xff" * 10,
    b"\x00\x0f\xff\xff",
]
NOT_KAFKA = [
    b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(40),
    b"SSH-2.0-OpenSSH_9.6\r\n",
    bytes(64),
    b"\xff" * 64,
]
FrameMutation = Callable[[bytearray, Random], None]


def flip_bits(frame: bytearray, chance: Random) -> None:
    for _ in range(chance.randint(1, 6)):
        frame[chance.randrange(len(frame))] ^= 1 << chance.randrange(8)


def set_bytes(frame: bytearray, chance: Random) -> None:
    for _ in range(chance.randint(1, 4)):
        frame[chance.randrange(len(frame))] = chance.choice([0, 1, 0x7F, 0x80, 0xFF])


def lie_about_a_length(frame: bytearray, chance: Random) -> None:
    lie, position = chance.choice(HUGE), chance.randrange(8, max(9, len(frame)))
    frame[position : position + len(lie)] = lie


def cut(frame: bytearray, chance: Random) -> None:
    del frame[chance.randrange(len(frame)) :]


def drop_a_piece(frame: bytearray, chance: Random) -> None:
    start = chance.randrange(len(frame))
    del frame[start : start + chance.randint(1, 16)]


def repeat_a_piece(frame: bytearray, chance: Random) -> None:
    """Nested nonsense: a part of the request inside itself, sometimes many times over."""
    start = chance.randrange(len(frame))
    piece = bytes(frame[start : start + chance.randint(1, 64)])
    frame[start:start] = piece * chance.choice([1, 2, 50])


def insert_noise(frame: bytearray, chance: Random) -> None:
    start = chance.randrange(len(frame) + 1)
    frame[start:start] = chance.randbytes(chance.randint(1, 30))


def change_api_or_version(frame: bytearray, chance: Random) -> None:
    api_key = frame[1] if len(frame) > 1 and chance.random() < 0.5 else chance.randrange(-2, 90)
    frame[:4] = pack(">hh", api_key, chance.randrange(-2, 25))


FRAME_MUTATIONS: list[FrameMutation] = [
    flip_bits, set_bytes, lie_about_a_length, lie_about_a_length, cut, drop_a_piece, repeat_a_piece, insert_noise,
    change_api_or_version,
]  # fmt: skip


def mutated(frame: bytes, chance: Random) -> bytes:
    """As it goes over the wire, its length included, which may be a lie too."""
    if chance.random() < 0.01:
        return chance.choice(NOT_KAFKA)
    changed = bytearray(frame)
    for _ in range(chance.choice([0, 0, 1, 1, 1, 1, 2, 3])):
        if changed:
            chance.choice(FRAME_MUTATIONS)(changed, chance)
    length = len(changed)
    if chance.random() < 0.03:
        length = chance.choice([-1, 0, 3, length - 1, length + 1, length + 100, 2**31 - 1, -(2**31)])
    return pack(">i", length) + bytes(changed)
