"""Frames out of bytes as they come: any cut of the stream gives the same frames; bad sizes end the connection."""

from __future__ import annotations

import tracemalloc
from struct import pack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strandline.model.failures import ProtocolError
from strandline.wire.framing import (
    DIRECT_BYTES_MIN,
    FIRST_ROOM_BYTES,
    SOCKET_REQUEST_MAX_BYTES,
    FrameCutter,
)


def framed(*bodies: bytes) -> bytes:
    return b"".join(pack(">i", len(body)) + body for body in bodies)


def cut(cutter: FrameCutter, received: bytes) -> list[bytes]:
    return [bytes(frame) for frame in cutter.cut(memoryview(received))]


def receive(cutter: FrameCutter, stream: bytes, piece_bytes: int) -> list[bytes]:
    """As the network layer does: straight into the room where there is one."""
    frames, position = [], 0
    while position < len(stream):
        room = cutter.room()
        if room is None:
            frames += cut(cutter, stream[position : position + piece_bytes])
            position += piece_bytes
            continue
        count = min(len(room), piece_bytes, len(stream) - position)
        room[:count] = stream[position : position + count]
        frame = cutter.filled(count)
        frames += [bytes(frame)] if frame is not None else []
        position += count
    return frames


@given(st.lists(st.binary(max_size=40), max_size=6), st.lists(st.integers(1, 30), min_size=1, max_size=20))
def test_any_cut_of_the_stream_gives_the_same_frames(bodies: list[bytes], pieces: list[int]) -> None:
    stream, cutter, frames = framed(*bodies), FrameCutter(), []
    for round_number in range(len(stream)):
        piece_bytes = pieces[round_number % len(pieces)]
        frames += cut(cutter, stream[:piece_bytes])
        stream = stream[piece_bytes:]
    assert frames == bodies


@pytest.mark.parametrize("piece_bytes", [1000, 70_000, 300_000, 3_000_000])
def test_large_frames_are_received_where_they_stay(piece_bytes: int) -> None:
    bodies = [b"a" * 10, b"b" * DIRECT_BYTES_MIN * 3, b"", b"c" * 2_000_000, b"d"]
    assert receive(FrameCutter(), framed(*bodies), piece_bytes) == bodies


def test_whole_frames_are_views_of_what_was_received() -> None:
    shared = bytearray(framed(b"one", b"two"))
    first, second = FrameCutter().cut(memoryview(shared))
    shared[4:7] = b"ONE"
    assert (bytes(first), bytes(second)) == (b"ONE", b"two")


@pytest.mark.parametrize("cut_at", range(1, 19))
def test_a_frame_can_be_written_to_wherever_the_stream_was_cut(cut_at: int) -> None:
    """A leader sets offsets in the batches where they lie, also where a receive ended within the size of a frame."""
    stream, cutter = bytearray(framed(b"first", b"second")), FrameCutter()
    pieces = [memoryview(stream)[:cut_at], memoryview(stream)[cut_at:]]
    frames = [frame for piece in pieces for frame in cutter.cut(piece)]
    assert [frame.readonly for frame in frames] == [False, False]


def test_a_spilled_frame_outlives_the_shared_buffer() -> None:
    cutter = FrameCutter()
    shared = bytearray(framed(b"half a frame"))
    assert list(cutter.cut(memoryview(shared)[:9])) == []
    (frame,) = cutter.cut(memoryview(bytes(shared))[9:])
    shared[:] = bytes(len(shared))
    assert bytes(frame) == b"half a frame"


@pytest.mark.parametrize(
    ("received", "sentence"),
    [
        (b"GET / HTTP/1.1\r\n", "HTTP"),
        (b"POST /topics HTTP/1.1", "HTTP"),
        (b"\x16\x03\x01\x02\x00\x01\x00", "TLS"),
        (pack(">i", -1), "not negative"),
        (pack(">i", -(2**31)), "not negative"),
        (pack(">i", SOCKET_REQUEST_MAX_BYTES + 1), "socket.request.max.bytes allows 104857600"),
    ],
)
def test_a_size_that_is_not_allowed_ends_the_connection(received: bytes, sentence: str) -> None:
    with pytest.raises(ProtocolError, match=sentence):
        cut(FrameCutter(), received)


def test_frames_before_a_bad_size_are_still_given() -> None:
    frames = FrameCutter().cut(memoryview(framed(b"good") + b"GET "))
    assert bytes(next(frames)) == b"good"
    with pytest.raises(ProtocolError):
        next(frames)


def test_the_limit_may_change_between_frames() -> None:
    """Small until a peer has proved who it is, then as configured."""
    cutter = FrameCutter(frame_bytes_max=4)
    assert cut(cutter, framed(b"four")) == [b"four"]
    cutter.frame_bytes_max = 5
    assert cut(cutter, framed(b"fives")) == [b"fives"]
    with pytest.raises(ProtocolError, match="a frame of 6 bytes was announced"):
        cut(cutter, framed(b"sixsix"))


def test_an_announced_size_allocates_nothing_until_bytes_arrive() -> None:
    cutter = FrameCutter()
    tracemalloc.start()
    try:
        assert cut(cutter, pack(">i", SOCKET_REQUEST_MAX_BYTES)) == []
        room = cutter.room()
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert room is not None
    assert len(room) == FIRST_ROOM_BYTES
    assert peak_bytes < 3 * FIRST_ROOM_BYTES
