"""A handler whose requests say in their first byte what becomes of them. The frame is the answer."""

from __future__ import annotations

from struct import pack

from strandline.broker.connection import CLOSE, Connection, Part, Pending, Reply, Taken
from strandline.model.failures import ProtocolError


def framed(*bodies: bytes) -> bytes:
    return b"".join(pack(">i", len(body)) + body for body in bodies)


def joined(parts: list[Part]) -> bytes:
    return b"".join(bytes(part) for part in parts if isinstance(part, bytes | bytearray | memoryview))


class ScriptedHandler:
    def __init__(self) -> None:
        self.seen: list[bytes] = []
        self.parked: list[tuple[Pending, bytes]] = []
        self.deferred: list[tuple[Pending, memoryview]] = []
        self.settled_frames: list[int] = []  # how many each `settle` found
        self.settles_well = True

    def handle(self, frame: memoryview, connection: Connection) -> Reply:
        body = bytes(frame)
        self.seen.append(body)
        match body[:1]:
            case b"p":  # parked
                pending = Pending(connection)
                self.parked.append((pending, body))
                return pending
            case b"d":  # deferred
                pending = Pending(connection)
                pending.holds_up = False
                self.deferred.append((pending, frame))
                return pending
            case b"n":  # no answer
                return None
            case b"l":  # a list of parts
                return [framed(body)[:4], memoryview(body)]
            case b"c":
                return CLOSE
            case b"x":
                raise ProtocolError("the request makes no sense")
        return framed(body)

    def handle_alike(
        self, frame: memoryview | None, received: memoryview, frame_bytes_max: int, connection: Connection
    ) -> Taken:
        assert connection.lane is not None
        return connection.lane.take(frame, received, frame_bytes_max, connection)

    def settle(self) -> bool:
        self.settled_frames.append(len(self.deferred))
        deferred, self.deferred = self.deferred, []
        for pending, frame in deferred:
            if bytes(frame[:2]) == b"da":  # as Produce with acks=all: written together, then waited for
                self.parked.append((pending, bytes(frame)))
            elif self.settles_well:
                pending.deliver([framed(bytes(frame))])
        return self.settles_well

    def answer_first_parked(self) -> None:
        pending, body = self.parked.pop(0)
        pending.deliver([framed(body)])
