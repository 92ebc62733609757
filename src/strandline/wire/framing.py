"""Frames: a signed 32-bit size, big endian, then that many bytes. Requests and responses alike.

The network layer receives into one buffer that all connections share and hands the bytes to the connection's
`FrameCutter`. Whole frames come back as views into that buffer, good until it is received into again. What is
left of a frame that has only begun is spilled into a buffer of the cutter's own. When much of a frame is still
to come, `room` says where to receive it, which saves a copy:

    room = cutter.room()                      # None: receive into the shared buffer
    count = socket.recv_into(room or shared)
    frame = cutter.filled(count)              # or, from the shared buffer: for frame in cutter.cut(shared[:count])

A size is only a claim. Nothing is allocated for one that is not allowed, and for one that is, memory grows with
the bytes that arrive: 2,000 peers that announce 100 MB and fall silent hold 128 KiB each.

Buffers of large frames are used again (`reuse`), a few of them by all connections: a fresh megabyte for each frame
would cost as much as receiving it.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct

from strandline.model.failures import ProtocolError
from strandline.wire.primitives import Buffer

SOCKET_REQUEST_MAX_BYTES = 104_857_600  # default of socket.request.max.bytes
FIRST_ROOM_BYTES = 128 * 1024
ROOM_GROWTH = 4
DIRECT_BYTES_MIN = 64 * 1024  # below it, receiving with others into the shared buffer costs less
SPARE_BYTES = 2 * 1024 * 1024
SPARES_MAX = 4

SIZE = Struct(">i")
HTTP_VERBS = (b"GET ", b"POST", b"PUT ", b"HEAD", b"OPTI", b"DELE", b"PATC", b"CONN", b"PRI ")
TLS_HANDSHAKE = b"\x16\x03"


spares: list[bytearray] = []  # of SPARE_BYTES each, at most SPARES_MAX


class FrameCutter:
    """One connection's receiving end."""

    __slots__ = ("_filled_bytes", "_frame", "_frame_bytes", "_size_begun", "_view", "frame_bytes_max", "held_bytes")

    def __init__(self, frame_bytes_max: int = SOCKET_REQUEST_MAX_BYTES) -> None:
        self.frame_bytes_max = frame_bytes_max  # smaller until a peer has proved who it is
        self._size_begun = b""  # 1 to 3 bytes of a size
        self._frame = bytearray()  # of a frame that has begun: what arrived, then room for more
        self.held_bytes = 0  # the memory that it takes
        self._frame_bytes = 0  # its whole size; 0: none has begun
        self._filled_bytes = 0
        self._view = memoryview(b"")  # what `room` gave out

    def cut(self, received: memoryview) -> Iterator[memoryview]:
        """The frames that these bytes complete, in order. Must be run to its end.

        A size that is not allowed raises ProtocolError after the frames before it.
        """
        position, end = 0, len(received)
        if self._frame_bytes or self._size_begun:
            frame, position = self.complete(received)
            if frame is not None:
                yield frame
        while end - position >= SIZE.size:
            size = self._allowed_size(received, position)
            position += SIZE.size
            if position + size > end:
                self._frame_bytes = size
                self._spill(received[position:])
                return
            yield received[position : position + size]
            position += size
        if position < end:
            self._size_begun = bytes(received[position:])

    def complete(self, received: memoryview) -> tuple[memoryview | None, int]:
        """The frame that had begun, if these bytes complete it, and how many of them are its own."""
        position, end = 0, len(received)
        if self._size_begun:
            position = min(SIZE.size - len(self._size_begun), end)
            self._size_begun += received[:position]
            if len(self._size_begun) < SIZE.size:
                return None, position
            self._frame_bytes = self._allowed_size(self._size_begun, 0)
            self._size_begun = b""
        taken = min(self._frame_bytes - self._filled_bytes, end - position)
        return self._spill(received[position : position + taken]), position + taken

    def _allowed_size(self, buffer: Buffer, position: int) -> int:
        size: int
        (size,) = SIZE.unpack_from(buffer, position)
        if not 0 <= size <= self.frame_bytes_max:
            raise ProtocolError(describe_bad_size(bytes(buffer[position : position + 4]), self.frame_bytes_max))
        return size

    @property
    def is_within_frame(self) -> bool:
        """Whether a frame has begun and its peer owes the rest."""
        return self._frame_bytes > 0 or bool(self._size_begun)

    def room(self) -> memoryview | None:
        """Where the rest of a large frame goes, or None while the shared buffer will do."""
        if self._frame_bytes - self._filled_bytes < DIRECT_BYTES_MIN:
            return None
        if len(self._frame) == self._filled_bytes:
            self._grow()
        self._view = memoryview(self._frame)[self._filled_bytes : self._frame_bytes]
        return self._view

    def filled(self, count: int) -> memoryview | None:
        """The frame that is complete now that `count` bytes were put into `room`, if it is."""
        self._view.release()  # or the frame could not grow
        self._filled_bytes += count
        return self._take_completed()

    def forget(self) -> None:
        """The rest of a frame that has begun will not come."""
        self._frame, self.held_bytes, self._frame_bytes, self._filled_bytes = bytearray(), 0, 0, 0
        self._size_begun, self._view = b"", memoryview(b"")

    def reuse(self, frame: memoryview) -> None:
        """Nobody looks at this frame, which `filled` or `complete` gave, any more."""
        buffer = frame.obj
        if len(spares) < SPARES_MAX and type(buffer) is bytearray and len(buffer) == SPARE_BYTES:
            spares.append(buffer)

    def _grow(self) -> None:
        if self._frame_bytes <= SPARE_BYTES and (spares or self._filled_bytes >= FIRST_ROOM_BYTES):
            grown = spares.pop() if spares else bytearray(SPARE_BYTES)
        else:
            capacity_bytes = max(FIRST_ROOM_BYTES, self._filled_bytes * ROOM_GROWTH)
            grown = bytearray(min(self._frame_bytes, capacity_bytes))
        grown[: self._filled_bytes] = self._frame
        self._frame, self.held_bytes = grown, len(grown)

    def _spill(self, received: memoryview) -> memoryview | None:
        end = self._filled_bytes + len(received)
        self._frame[self._filled_bytes : end] = received
        self._filled_bytes = end
        self.held_bytes = len(self._frame)
        return self._take_completed()

    def _take_completed(self) -> memoryview | None:
        if self._filled_bytes < self._frame_bytes:
            return None
        frame = memoryview(self._frame)[: self._frame_bytes]
        self._frame, self.held_bytes, self._frame_bytes, self._filled_bytes = bytearray(), 0, 0, 0
        return frame


def describe_bad_size(first_bytes: bytes, frame_bytes_max: int) -> str:
    if first_bytes in HTTP_VERBS:
        return f"the peer speaks HTTP ({first_bytes.decode().strip()} …), this listener speaks Kafka's protocol"
    if first_bytes.startswith(TLS_HANDSHAKE):
        return "the peer speaks TLS, this listener does not: use security.protocol=PLAINTEXT, or a TLS listener"
    (size,) = SIZE.unpack(first_bytes)
    if size < 0:
        return f"a frame of {size} bytes was announced: sizes are not negative"
    return f"a frame of {size} bytes was announced: socket.request.max.bytes allows {frame_bytes_max}"
