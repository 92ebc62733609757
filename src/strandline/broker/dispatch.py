"""From a frame to the handler of its API, and from the handler's answer to a framed response.

A handler is a plain function of a `Request`. It gives back

    the body                  as bytes, or as parts with their length in all (`encode_fetch_response` makes these)
    Instead.NO_ANSWER         Produce with acks=0
    Instead.CLOSE             Produce with acks=0 that failed: the only way to say so
    Instead.PARKED            it keeps the request and calls `answer` later; the connection handles none meanwhile
    Instead.DEFERRED          it answers when `settle` runs, after the last request of the same receive, or parks it

It copies what it wants to keep of the request's body: that is a view into a buffer which others use next.

An API or version that is not served closes the connection, as in Kafka; clients ask ApiVersions first, which is
answered in any version. So does a request that lists more than can be handled while all others wait (`wire.entries`),
and so does an exception that nobody foresaw: an answer of UNKNOWN_SERVER_ERROR would make a Java producer write its
batch twice (KAFKA-14034), a closed connection makes any client try again.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from enum import Enum

from strandline.broker.connection import CLOSE, Close, Connection, Part, Pending, Reply, Taken
from strandline.model.failures import ProtocolError
from strandline.wire.entries import check_entries
from strandline.wire.header import RequestHeader, decode_request_header, frame_response
from strandline.wire.versions import SERVED, SPOKEN, ApiKey

NOTHING = memoryview(b"")
MAX_ENTRIES_PER_REQUEST = 50_000  # default of max.entries.per.request

logger = logging.getLogger(__name__)


class Instead(Enum):
    """What a handler gives back instead of an answer."""

    NO_ANSWER = "no answer"
    CLOSE = "close"
    PARKED = "parked"
    DEFERRED = "deferred"


Body = bytes | tuple[list[Part], int]


class Request(Pending):
    __slots__ = ("body", "frame", "header")

    def __init__(self, connection: Connection, header: RequestHeader, frame: memoryview) -> None:
        self.connection = connection
        self.holds_up = True
        self.parts = None
        self.when_abandoned = None
        self.header = header
        self.frame = frame
        self.body = frame[header.body_position :]

    @property
    def api_version(self) -> int:
        return self.header.api_version

    @property
    def client_id(self) -> str | None:
        return self.header.client_id

    def park(self) -> None:
        self.holds_up = True
        self.frame = self.body = memoryview(b"")  # of a large request it would keep the whole frame

    def answer(self, body: Body) -> None:
        """For a request that was parked or deferred. Nobody hears it if the peer has gone."""
        framed = self.framed(body)
        self.deliver([framed] if isinstance(framed, bytes) else framed)

    def framed(self, body: Body) -> bytes | list[Part]:
        api_key, api_version, correlation_id, _, _ = self.header
        if isinstance(body, bytes):
            return frame_response(api_key, api_version, correlation_id, len(body)) + body
        parts, length = body
        return [frame_response(api_key, api_version, correlation_id, length), *parts]


Handler = Callable[[Request], Body | Instead]


class Dispatch:
    __slots__ = ("_entries_max", "_handlers", "_settle", "failures")

    def __init__(
        self,
        handlers: Mapping[ApiKey, Handler],
        settle: Callable[[], None] | None = None,
        *,
        entries_max: int = MAX_ENTRIES_PER_REQUEST,
    ) -> None:
        self._handlers: dict[int, Handler] = {int(api_key): handler for api_key, handler in handlers.items()}
        self._settle = settle
        self._entries_max = entries_max
        self.failures = 0  # exceptions that nobody foresaw

    def handle(self, frame: memoryview, connection: Connection) -> Reply:
        if connection.lane is not None:
            replies, request_count, _ = self.handle_alike(frame, NOTHING, 0, connection)
            if request_count:
                return _reply_of(replies)
        header = decode_request_header(frame)
        handler = self._handlers.get(header.api_key)
        if handler is None:
            raise ProtocolError(f"{SPOKEN[header.api_key].name} is not served by this broker")
        request = Request(connection, header, frame)
        if len(frame) > self._entries_max and header.api_key in SERVED:  # brokers tell one another as much as there is
            check_entries(header.api_key, header.api_version, request.body, self._entries_max)
        try:
            answer = handler(request)
            if type(answer) is bytes:
                return request.framed(answer)
            return self._unusual(request, answer)
        except ProtocolError:
            raise
        except Exception:
            return self._failed(f"{SPOKEN[header.api_key].name} version {header.api_version}")

    def handle_alike(
        self, frame: memoryview | None, received: memoryview, frame_bytes_max: int, connection: Connection
    ) -> Taken:
        assert connection.lane is not None
        try:
            return connection.lane.take(frame, received, frame_bytes_max, connection)
        except Exception:
            return self._failed("a request like the one before it"), 1, len(received)

    def settle(self) -> bool:
        try:
            if self._settle is not None:
                self._settle()
        except Exception:
            self._failed("what the requests of one receive asked for together")
            return False
        return True

    def _unusual(self, request: Request, answer: Body | Instead) -> Reply:
        if answer is Instead.PARKED:
            request.park()
            return request
        if answer is Instead.DEFERRED:
            request.holds_up = False
            return request
        if answer is Instead.NO_ANSWER:
            return None
        if answer is Instead.CLOSE:
            return CLOSE
        return request.framed(answer)

    def _failed(self, name: str) -> Close:
        self.failures += 1
        logger.exception("%s failed; its connection is closed", name)
        return CLOSE


def _reply_of(replies: bytes | tuple[Part, ...] | list[Pending] | Close) -> Reply:
    """Of a lane, to the only request that it was given."""
    if isinstance(replies, tuple):
        return list(replies)
    return replies[0] if isinstance(replies, list) else replies
