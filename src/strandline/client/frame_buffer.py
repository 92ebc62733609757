"""Where a connection receives: frames are handled in the place where they arrived, and copied only to be kept.

A broker has thousands of peers and one buffer for all (`wire.framing`). A client has few, each of which sends large
answers one after another: here every connection has a buffer of its own, in which a frame is received to its end.

    buffer   | handled | a frame that has begun | room |
             0         start                 filled   capacity

A size is only a claim, so the buffer grows with what arrives, up to what `receive.message.max.bytes` allows. One that
has grown stays, for the next answer will be as large, unless for a while none was.
"""

from __future__ import annotations

from collections.abc import Iterator

from strandline.model.failures import ProtocolError
from strandline.wire.framing import SIZE, describe_bad_size

FIRST_BYTES = 64 * 1024
GROWTH = 4
SMALL_FRAMES_MAX = 256  # in a row, after which a buffer that has grown goes


class FrameBuffer:
    __slots__ = ("_buffer", "_filled", "_frame_bytes_max", "_small_frames", "_start")

    def __init__(self, frame_bytes_max: int) -> None:
        self._frame_bytes_max = frame_bytes_max
        self._buffer = bytearray(FIRST_BYTES)
        self._start = self._filled = 0
        self._small_frames = 0

    @property
    def first_bytes(self) -> bytes:
        """Of what is not handled: they tell who is there, if it is no broker."""
        return bytes(self._buffer[self._start : min(self._start + SIZE.size, self._filled)])

    def room(self) -> memoryview:
        return memoryview(self._buffer)[self._filled :]

    def filled(self, count: int) -> Iterator[memoryview]:
        """The frames that `count` bytes more in the room complete, each good until the next. Must be run to its end."""
        self._filled += count
        while self._filled - self._start >= SIZE.size:
            size = self._allowed_size()
            frame_start = self._start + SIZE.size
            if frame_start + size > self._filled:
                break
            self._start = frame_start + size
            self._small_frames = self._small_frames + 1 if size <= FIRST_BYTES else 0
            yield memoryview(self._buffer)[frame_start : frame_start + size]
        self._make_room()

    def begun(self) -> memoryview:
        """What is there of the next frame, good until more is received."""
        return memoryview(self._buffer)[self._start + SIZE.size : self._filled]

    def kept(self, frame: memoryview) -> memoryview:
        """The frame that `filled` has just given, for who keeps it: a copy, or the whole buffer if it is all that is
        in there."""
        if len(frame) < FIRST_BYTES or self._start < self._filled:
            return memoryview(bytes(frame))
        self._buffer = bytearray(FIRST_BYTES)
        self._start = self._filled = 0
        return frame

    def _allowed_size(self) -> int:
        size: int
        (size,) = SIZE.unpack_from(self._buffer, self._start)
        if not 0 <= size <= self._frame_bytes_max:
            raise ProtocolError(describe_bad_size(self.first_bytes, self._frame_bytes_max))
        return size

    def _make_room(self) -> None:
        begun = self._filled - self._start
        if begun == 0:
            self._start = self._filled = 0
            if self._small_frames > SMALL_FRAMES_MAX and len(self._buffer) > FIRST_BYTES:
                self._buffer = bytearray(FIRST_BYTES)
            return
        capacity, wanted = len(self._buffer), SIZE.size
        if begun >= SIZE.size:
            wanted += SIZE.unpack_from(self._buffer, self._start)[0]
        if wanted > capacity and begun == capacity:
            grown = bytearray(min(wanted, capacity * GROWTH))
            grown[:begun] = self._buffer
            self._buffer = grown
        elif self._start and self._start + wanted > capacity:
            self._buffer[:begun] = self._buffer[self._start : self._filled]
        else:
            return
        self._start, self._filled = 0, begun
