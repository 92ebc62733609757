"""Frames are found whole wherever the network cuts them, without a copy, in memory that grows with what arrives."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strandline.client.frame_buffer import FIRST_BYTES, SMALL_FRAMES_MAX, FrameBuffer
from strandline.model.failures import ProtocolError
from strandline.wire.framing import SIZE

FRAME_BYTES_MAX = 2**20


def framed(body: bytes) -> bytes:
    return SIZE.pack(len(body)) + body


def feed(buffer: FrameBuffer, stream: bytes, piece_bytes: int) -> list[bytes]:
    found: list[bytes] = []
    while stream:
        room = buffer.room()
        count = min(len(room), piece_bytes, len(stream))
        assert count > 0
        room[:count] = stream[:count]
        found += [bytes(frame) for frame in buffer.filled(count)]
        stream = stream[count:]
    return found


@given(
    st.lists(st.sampled_from([0, 1, 3, 100, 5_000, FIRST_BYTES - 4, FIRST_BYTES, 200_000, 700_000]), max_size=8),
    st.sampled_from([1_000, 4_096, 65_537, 10**7]),
)
def test_frames_are_whole_wherever_they_are_cut(sizes: list[int], piece_bytes: int) -> None:
    bodies = [bytes([number + 1]) * size for number, size in enumerate(sizes)]
    assert feed(FrameBuffer(FRAME_BYTES_MAX), b"".join(map(framed, bodies)), piece_bytes) == bodies


def test_single_bytes_are_enough() -> None:
    assert feed(FrameBuffer(100), framed(b"abc") + framed(b"") + framed(b"d"), 1) == [b"abc", b"", b"d"]


@pytest.mark.parametrize("size", [-1, FRAME_BYTES_MAX + 1, 2**31 - 1])
def test_a_size_that_is_not_allowed_is_refused_after_the_frames_before_it(size: int) -> None:
    buffer = FrameBuffer(FRAME_BYTES_MAX)
    stream = framed(b"good") + SIZE.pack(size)
    buffer.room()[: len(stream)] = stream
    frames = buffer.filled(len(stream))
    assert bytes(next(frames)) == b"good"
    with pytest.raises(ProtocolError):
        next(frames)


def test_a_claim_allocates_nothing_before_bytes_arrive() -> None:
    buffer = FrameBuffer(2**30)
    assert feed(buffer, SIZE.pack(2**30) + b"x" * 1_000, 10**6) == []
    assert len(buffer.room()) < FIRST_BYTES


def test_what_is_kept_is_not_overwritten() -> None:
    buffer = FrameBuffer(FRAME_BYTES_MAX)
    kept = []
    for number, size in enumerate((10, FIRST_BYTES * 3, 20, FIRST_BYTES * 3)):
        stream = framed(bytes([number + 1]) * size)
        while stream:
            room = buffer.room()
            count = min(len(room), len(stream))
            room[:count] = stream[:count]
            kept += [buffer.kept(frame) for frame in buffer.filled(count)]
            stream = stream[count:]
    assert [(len(frame), set(frame)) for frame in kept] == [(10, {1}), (196608, {2}), (20, {3}), (196608, {4})]


def test_a_buffer_that_has_grown_stays_for_the_next_answer_and_not_for_ever() -> None:
    buffer = FrameBuffer(FRAME_BYTES_MAX)
    feed(buffer, framed(b"x" * 500_000), 10**6)
    grown = len(buffer.room())
    assert grown >= 500_000
    feed(buffer, framed(b"x" * 400_000), 10**6)
    assert len(buffer.room()) == grown
    feed(buffer, framed(b"x") * (SMALL_FRAMES_MAX + 1), 10**6)
    assert len(buffer.room()) == FIRST_BYTES
