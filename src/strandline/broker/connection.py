"""One connection without its socket: received bytes in, a list of parts to send out.

A part is bytes, or a slice of a file that stays there until it is sent. Answers leave in the order of the requests,
always. What a handler gives back for a request is one of:

    bytes, parts    the answer, framed
    None            there is none (Produce with acks=0)
    CLOSE           the connection ends after the answers before it
    a `Pending`     the answer comes later, by `deliver`. Either the next request waits until then (a long poll,
                    acks=all), or it is handled meanwhile and `settle`, which runs after the last frame of a
                    receive, gives the answer: so the produce requests of one receive share one write

Whatever `settle` leaves open, the connection waits for. While it waits, and while more is to be sent than the bound
allows, no request is handled and nothing should be received (`takes_more`). The requests that came in the same
receive are kept, so a connection holds one receive at most beside the frame that has begun (KAFKA-7639). So they are
when its turn is over: a few bytes may ask for much, and one receive for that a thousand times.

Bytes that are not Kafka's protocol end the connection, after the answers to what came before them.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable
from enum import Enum
from typing import Protocol

from strandline.model.failures import ProtocolError, check
from strandline.wire.fetch_response import Part
from strandline.wire.framing import SOCKET_REQUEST_MAX_BYTES, FrameCutter

__all__ = [
    "CLOSE",
    "LANE_BYTES_MAX",
    "NOTHING_TAKEN",
    "Connection",
    "Part",
    "Pending",
    "Reply",
    "RequestHandler",
    "Taken",
]

RESPONSE_BYTES_MAX = 2**20  # default of queued.max.response.bytes
LANE_BYTES_MAX = 1_024  # of a request that is remembered: what else it brings, long names or tags, is not kept


class Close(Enum):
    CLOSE = "close"


CLOSE = Close.CLOSE


class Pending:
    """The place in the order of a request that is answered later."""

    __slots__ = ("connection", "holds_up", "parts", "when_abandoned")

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.holds_up = True  # the requests after it; if not, `settle` answers it or makes them wait
        self.parts: list[Part] | None = None
        self.when_abandoned: Callable[[], object] | None = None  # called when the peer goes without its answer

    def park(self) -> None:
        """It was not answered at once: the requests after it wait, and what came with it is let go."""
        self.holds_up = True

    def deliver(self, parts: list[Part]) -> None:
        """Only in the thread of the event loop."""
        self._answered(parts)
        self.connection.answer_came()

    def deliver_at_once(self, parts: list[Part]) -> None:
        """For who was called by the event loop, and is amid no other request."""
        self._answered(parts)
        self.connection.answer_came(at_once=True)

    def _answered(self, parts: list[Part]) -> None:
        check(self.parts is None, "a request is answered once")
        self.parts = parts
        self.when_abandoned = None  # it is of who has worked on the answer and knows us: both shall be let go at once


Reply = bytes | list[Part] | Pending | Close | None


# All the answers, or the parts of the only one, or what each waits for; of how many requests; and where the first
# begins that was not taken.
Taken = tuple[bytes | tuple[Part, ...] | list[Pending] | Close, int, int]
NOTHING_TAKEN: Taken = (b"", 0, 0)


class Lane(Protocol):
    """How a handler knows the next requests of a connection by their likeness to the last."""

    def take(
        self, frame: memoryview | None, received: memoryview, frame_bytes_max: int, connection: Connection, /
    ) -> Taken:
        """Handle this frame and the whole frames at the beginning of `received`, up to the first that is not alike."""


class RequestHandler(Protocol):
    def handle(self, frame: memoryview, connection: Connection) -> Reply:
        """The frame is good until `settle` has run. Raises ProtocolError for bytes that cannot be answered."""

    def handle_alike(
        self, frame: memoryview | None, received: memoryview, frame_bytes_max: int, connection: Connection
    ) -> Taken:
        """Those that the connection's lane takes."""

    def settle(self) -> bool:
        """Whether what the frames of this receive asked for could be done; if not, the connection ends."""


class Connection:
    __slots__ = (
        "_clock", "_cutter", "_ended", "_handler", "_has_deferred", "_held", "_held_bytes", "_is_settling", "_output",
        "_output_bytes", "_pending", "_when_answered", "call_afterwards", "complaint", "is_closed", "lane",
        "local_address", "peer_host", "proceed_at_once", "requests", "response_bytes_max", "room", "turn_ends_s",
    )  # fmt: skip

    def __init__(
        self,
        handler: RequestHandler,
        when_answered: Callable[[], None],
        *,
        request_bytes_max: int = SOCKET_REQUEST_MAX_BYTES,
        response_bytes_max: int = RESPONSE_BYTES_MAX,
        clock: Callable[[], float] = time.monotonic,
        peer_host: str = "",
        local_address: tuple[str, int] = ("", 0),
    ) -> None:
        self.peer_host = peer_host
        self.local_address = local_address  # by which the peer reached us
        self.lane: Lane | None = None
        self.is_closed = False  # nobody will see an answer any more
        self.complaint = ""  # what was wrong with the bytes
        self.requests = 0
        self.response_bytes_max = response_bytes_max
        self.turn_ends_s = math.inf  # by the clock; the owner says when a turn begins
        self._clock = clock
        self._handler = handler
        self._when_answered = when_answered  # asks the owner to call `proceed`, soon
        self.proceed_at_once: Callable[[], None] | None = None  # makes it do so now, which saves a turn of the loop
        # Does something once what is being received now, by whomever, has been handled: that saves one, too.
        self.call_afterwards: Callable[[Callable[[], object]], None] | None = None
        self._cutter = FrameCutter(request_bytes_max)
        self.room = self._cutter.room  # where to receive, if not into the shared buffer; then `filled`, not `receive`
        self._pending: deque[Pending] = deque()  # not yet sent, the first of them unanswered
        self._held: deque[bytearray] = deque()  # frames that wait their turn, to be written to as all others
        self._held_bytes = 0
        self._has_deferred = False
        self._is_settling = False
        self._ended = False  # no frame is taken any more
        self._output: list[Part] = []
        self._output_bytes = 0

    def receive(self, received: memoryview) -> list[Part]:
        """Handle all whole frames in these bytes; what to send now. The bytes may be overwritten afterwards."""
        begun: memoryview | None = None
        try:
            frame: memoryview | None = None
            if self._cutter.is_within_frame:
                begun, count = self._cutter.complete(received)
                frame, received = begun, received[count:]
            if self.lane is not None:
                frame, received = self._take_alike(frame, received)
            if frame is not None:
                self._take(frame)
            if received:
                for frame in self._cutter.cut(received):
                    self._take(frame)
        except ProtocolError as error:
            self._end(str(error))
        output = self._settled()
        if begun is not None:
            self._cutter.reuse(begun)
        return output

    def _take_alike(self, frame: memoryview | None, received: memoryview) -> tuple[memoryview | None, memoryview]:
        """While requests look like some before, they go their short way from here. Gives what is left."""
        frame_bytes_max = self._cutter.frame_bytes_max
        while not (self._pending or self._held or self._ended):
            replies, request_count, end = self._handler.handle_alike(frame, received, frame_bytes_max, self)
            if request_count == 0:
                break
            self.requests += request_count
            if type(replies) is bytes:
                self._output.append(replies)
                self._output_bytes += len(replies)
            elif type(replies) is tuple:
                self._output += replies
                if len(received) > end:  # or nobody asks
                    self._output_bytes += sum([_part_bytes(part) for part in replies])
            elif type(replies) is list:
                self._pending += replies
            else:
                self._end("", drop_held=True)
            frame, received = None, received[end:]
            if not received or self._output_bytes > self.response_bytes_max:
                break
        return frame, received

    def filled(self, count: int) -> list[Part]:
        frame = self._cutter.filled(count)
        if frame is None:
            return []
        self._take(frame)
        output = self._settled()
        self._cutter.reuse(frame)
        return output

    def proceed(self) -> list[Part]:
        """What to send after an answer came, or after all was sent and held requests may go on."""
        self._emit_answered()
        if self._pending:
            return self._settled()
        while self._held and not self._is_held_up():
            frame = self._held.popleft()
            self._held_bytes -= len(frame)
            self._handle(memoryview(frame))
            if self.is_turn_over:
                break
        return self._settled()

    def end(self, complaint: str) -> None:
        """Close it after the answers to what came before: there is no other way to tell the peer of a failure."""
        self._end(complaint, drop_held=True)

    def close(self) -> None:
        """The peer has gone. Whoever works on an answer may stop."""
        self.is_closed = True
        # The connection may stay in memory until cycles are looked for; what it has received must not.
        self._cutter.forget()
        self._held.clear()
        self._held_bytes = 0
        for pending in self._pending:
            if pending.when_abandoned is not None:
                pending.when_abandoned()
                pending.when_abandoned = None

    def forget_lane(self) -> None:
        """After it was closed, and not amid a request: it may take a while until nobody knows this connection."""
        self.lane = None

    def answer_came(self, *, at_once: bool = False) -> None:
        if self.is_closed or self._is_settling:
            return
        if at_once and self.proceed_at_once is not None:
            self.proceed_at_once()
        else:
            self._when_answered()

    @property
    def takes_more(self) -> bool:
        return not (self._pending or self._held or self._ended)

    @property
    def can_proceed(self) -> bool:
        return self._pending[0].parts is not None if self._pending else bool(self._held)

    @property
    def is_turn_over(self) -> bool:
        """Whether others come first, if more is to be handled."""
        return self._clock() >= self.turn_ends_s

    @property
    def is_waiting(self) -> bool:
        """For an answer of ours: the peer is not to blame for the silence."""
        return bool(self._pending)

    @property
    def is_finished(self) -> bool:
        """It may be closed once the output is sent."""
        return self._ended and not self._pending and not self._held

    @property
    def is_within_frame(self) -> bool:
        return self._cutter.is_within_frame

    @property
    def buffered_bytes(self) -> int:
        return self._held_bytes + self._cutter.held_bytes

    def _is_held_up(self) -> bool:
        if self._output_bytes > self.response_bytes_max:
            return True
        # Nothing is handled after one that holds up, so only the last can.
        return bool(self._pending) and self._pending[-1].holds_up and self._pending[-1].parts is None

    def _take(self, frame: memoryview) -> None:
        if self._ended:
            return
        if self._held or self._is_held_up() or self.is_turn_over:
            self._held.append(bytearray(frame))
            self._held_bytes += len(frame)
        else:
            self._handle(frame)

    def _handle(self, frame: memoryview) -> None:
        self.requests += 1
        try:
            reply = self._handler.handle(frame, self)
        except ProtocolError as error:
            self._end(str(error), drop_held=True)
            return
        if type(reply) is bytes and not self._pending:  # nearly always
            self._output.append(reply)
            self._output_bytes += len(reply)
        elif reply is CLOSE:
            self._end("", drop_held=True)
        elif reply is not None:
            self._queue(reply)

    def _queue(self, reply: bytes | list[Part] | Pending) -> None:
        if isinstance(reply, Pending):
            self._has_deferred |= not reply.holds_up
            self._pending.append(reply)
            return
        parts: list[Part] = [reply] if isinstance(reply, bytes) else reply
        self._output_bytes += sum([_part_bytes(part) for part in parts])
        if self._pending:
            answered = Pending(self)
            answered.parts = parts
            self._pending.append(answered)
        else:
            self._output += parts

    def _settled(self) -> list[Part]:
        if self._has_deferred:
            self._settle()
        if self._pending:
            self._emit_answered()
        output, self._output, self._output_bytes = self._output, [], 0
        return output

    def _settle(self) -> None:
        self._has_deferred, self._is_settling = False, True
        if not self._handler.settle():
            self._pending.clear()
            self._end("", drop_held=True)
        self._is_settling = False
        for pending in self._pending:
            if pending.parts is None:
                pending.park()

    def _emit_answered(self) -> None:
        pending = self._pending
        while pending and (parts := pending[0].parts) is not None:
            self._output += parts
            pending.popleft()

    def _end(self, complaint: str, *, drop_held: bool = False) -> None:
        if drop_held:
            self._held.clear()
            self._held_bytes = 0
        if not self._ended:
            self._ended, self.complaint = True, complaint


def _part_bytes(part: Part) -> int:
    return len(part) if isinstance(part, bytes | bytearray | memoryview) else part.length
