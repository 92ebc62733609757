"""What a broker does beside being one: a bare epoll loop with the same system calls and nothing of Kafka in it.

    python -m benchmarks.bare_loop append FILE        cuts frames, appends them with one writev a receive, answers each
    python -m benchmarks.bare_loop spread FILE COUNT  the same round so many files: one writev for each frame
    python -m benchmarks.bare_loop send FILE          answers each frame with as many bytes of the file as it asks for

No header is read, no CRC verified, no offset given, no index written, nothing is bounded: no broker can do better.
Prints its port, then serves until it is killed. A frame is a length of four bytes and what follows it.
"""

from __future__ import annotations

import os
import select
import socket
import sys
from collections.abc import Callable
from itertools import cycle
from struct import Struct

from strandline.broker.pacing import begin_without_pace

ANSWER = bytes(50)
LENGTH = Struct(">i")
RANGE = Struct(">iqq")  # length, position, count
BUFFER_BYTES = 256 * 1024

Serve = Callable[[socket.socket, list[memoryview]], None]


class Peer:
    """A connection, and the frame that it has begun."""

    def __init__(self, connected: socket.socket) -> None:
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket = connected
        self.begun: memoryview | None = None
        self.filled = 0

    def frames(self, buffer: memoryview) -> list[memoryview] | None:
        """Those that one receive completes; None when the peer has gone."""
        if self.begun is not None:
            count = self.socket.recv_into(self.begun[self.filled :])
            self.filled += count
            if self.filled < len(self.begun):
                return [] if count else None
            frame, self.begun = self.begun, None
            return [frame]
        count = self.socket.recv_into(buffer)
        return self._cut(buffer, count) if count else None

    def _cut(self, buffer: memoryview, count: int) -> list[memoryview]:
        found, position = [], 0
        while count - position >= 4:
            (size,) = LENGTH.unpack_from(buffer, position)
            if position + 4 + size > count:
                break
            found.append(buffer[position : position + 4 + size])
            position += 4 + size
        if position < count:
            (size,) = LENGTH.unpack_from(buffer, position)
            self.begun, self.filled = memoryview(bytearray(size + 4)), count - position
            self.begun[: self.filled] = buffer[position:count]
        return found


def listening() -> socket.socket:
    """As the broker listens: who is on this machine is sent to without a pace (decision 12)."""
    listener = socket.create_server(("127.0.0.1", 0))
    begin_without_pace(listener)
    return listener


def serve(answer: Serve) -> None:
    listener = listening()
    print(listener.getsockname()[1], flush=True)
    poll = select.epoll()
    poll.register(listener, select.EPOLLIN)
    peers: dict[int, Peer] = {}
    buffer = memoryview(bytearray(BUFFER_BYTES))
    while True:
        for descriptor, _ in poll.poll():
            peer = peers.get(descriptor)
            if peer is None:
                connected, _ = listener.accept()
                peers[connected.fileno()] = Peer(connected)
                poll.register(connected, select.EPOLLIN)
                continue
            frames = peer.frames(buffer)
            if frames:
                answer(peer.socket, frames)
            elif frames is None:
                poll.unregister(descriptor)
                peers.pop(descriptor).socket.close()


def appending(path: str) -> Serve:
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def append(peer: socket.socket, frames: list[memoryview]) -> None:
        os.writev(file, frames)
        peer.send(ANSWER * len(frames))

    return append


def spreading(path: str, count: str) -> Serve:
    files = [os.open(f"{path}-{number}", os.O_WRONLY | os.O_CREAT | os.O_APPEND) for number in range(int(count))]
    following = cycle(files)

    def append(peer: socket.socket, frames: list[memoryview]) -> None:
        for frame in frames:
            os.writev(next(following), [frame])
        peer.send(ANSWER * len(frames))

    return append


def sending(path: str) -> Serve:
    file = os.open(path, os.O_RDONLY)

    def send(peer: socket.socket, frames: list[memoryview]) -> None:
        for frame in frames:
            _, position, count = RANGE.unpack_from(frame)
            peer.send(LENGTH.pack(count), socket.MSG_MORE)
            while count:
                sent = os.sendfile(peer.fileno(), file, position, count)
                position, count = position + sent, count - sent

    return send


if __name__ == "__main__":
    kinds: dict[str, Callable[..., Serve]] = {"append": appending, "spread": spreading, "send": sending}
    serve(kinds[sys.argv[1]](*sys.argv[2:]))
