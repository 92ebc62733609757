"""One connection to one broker: requests go out one after another, answers come back in the same order.

Several requests may be under way (`max.in.flight.requests.per.connection`); each is answered through a future, or by a
call at once, and no task is spent on it. A broker answers in order, so an answer that does not come holds up all that
follow it: when one is overdue (`request.timeout.ms`) the connection is given up with everything on it, as Kafka's
client does. What a frame may hold is bounded, and memory grows with the bytes that arrive.
"""

from __future__ import annotations

import asyncio
import socket
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, Self, TypeVar, cast

from strandline.client.connection_failures import describe_no_connection, describe_stranger
from strandline.client.failures import BrokerRefused, BrokerUnreachable, ClientError
from strandline.client.frame_buffer import FrameBuffer
from strandline.client.negotiation import (
    NEWEST,
    OURS,
    BrokerVersions,
    decode_api_versions,
    version_to_ask_again,
)
from strandline.client.settings import Address, ClientSettings
from strandline.model.error_codes import ErrorCode
from strandline.model.failures import ProtocolError
from strandline.wire.asking import Decoder, decoder_of, parts_of
from strandline.wire.codec import encode
from strandline.wire.header import decode_correlation_id, frame_request, response_body
from strandline.wire.layout import Message
from strandline.wire.messages.api_versions import ApiVersionsResponse
from strandline.wire.primitives import Buffer
from strandline.wire.versions import SPOKEN, ApiKey

R = TypeVar("R", bound=Message)

CORRELATION_IDS = 2**31
CLOSE_TIMEOUT_S = 5.0
NEVER = float("inf")
BEGUN_BYTES_MIN = 64 * 1024  # at once, or it is not worth telling who hears of answers that have begun


HearBegun = Callable[[memoryview], object]


class Pending(NamedTuple):
    """A request that waits for its answer."""

    correlation_id: int
    api_key: int
    version: int
    decode: Decoder
    tell: Callable[[Any], object]  # the answer, or a `ClientError`
    hear_begun: HearBegun | None  # is given what there is of a large answer while the rest comes
    is_kept: bool  # whether who is told keeps what it is given
    deadline_s: float  # by the clock of the event loop
    timeout_ms: int


class Connection(asyncio.BufferedProtocol):
    def __init__(self, address: Address, settings: ClientSettings) -> None:
        self.address = address
        self.settings = settings
        self.versions: BrokerVersions
        self.failure: ClientError | None = None  # why it is of no use any more
        self._client_id = settings.client_id.encode()
        self._frames = FrameBuffer(settings.receive_message_max_bytes)
        self._pending: deque[Pending] = deque()
        self._waiting: deque[asyncio.Future[None]] = deque()  # for a place among the pending
        self._next_correlation_id = 0
        self._transport: asyncio.Transport | None = None
        self._loop = asyncio.get_running_loop()
        self._gone = self._loop.create_future()  # once the socket is closed
        self._timer: asyncio.TimerHandle | None = None
        self._watched_until_s = NEVER  # when the timer rings

    @classmethod
    async def open(cls, address: Address, settings: ClientSettings) -> Self:
        """Connected, and agreed on versions."""
        connection = cls(address, settings)
        timeout_ms = settings.socket_connection_setup_timeout_ms
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                await connection._connect()
                await connection._negotiate()
                if settings.security_protocol != "PLAINTEXT":
                    await connection._authenticate()
        except TimeoutError:
            connection.close()
            raise BrokerUnreachable(
                f"no broker answered at {address} within {timeout_ms} ms: check address and network"
            ) from None
        except OSError as error:
            raise BrokerUnreachable(describe_no_connection(address, error)) from None
        except BaseException:  # also a caller who does not want it any more
            connection.close()
            raise
        return connection

    @property
    def is_open(self) -> bool:
        return self.failure is None

    @property
    def in_flight(self) -> int:
        return len(self._pending)

    async def ask(
        self, request: Message, response: type[R], *, version_max: int | None = None, timeout_ms: int | None = None
    ) -> R:
        """The broker's answer. Waits for its turn where too many requests are under way."""
        while len(self._pending) >= self.settings.max_in_flight_requests_per_connection and self.failure is None:
            await self._place()
        return await self.send(request, response, version_max=version_max, timeout_ms=timeout_ms)

    def send(
        self,
        request: Message,
        response: type[R],
        *,
        version: int | None = None,
        version_max: int | None = None,
        timeout_ms: int | None = None,
    ) -> asyncio.Future[R]:
        """Sends at once, for those who keep several requests under way themselves and count them.

        `version` is for brokers among themselves, who do not advertise all that they speak.
        """
        if self.failure is not None:
            return _failed(self._loop, self.failure)
        try:
            if version is None:
                version = self.versions.pick(request.api_key, version_max)
        except ClientError as error:
            return _failed(self._loop, error)
        return self._send(request.api_key, version, parts_of(request, version), decoder_of(response), timeout_ms)

    def send_then(
        self,
        request: Message,
        response: type[R],
        tell: Callable[[R | ClientError], object],
        *,
        version: int,
        timeout_ms: int,
        hear_begun: HearBegun | None = None,
    ) -> None:
        """Sends at once, and tells as soon as the answer is there: no future, no other turn of the event loop.

        What is told is good until `tell` returns: records are views of a buffer that is used again. `hear_begun` is
        given the body of a large answer as far as it has come, again and again; all of it is told in the end.
        """
        if self.failure is not None:
            self._loop.call_soon(tell, self.failure)
            return
        api_key = request.api_key
        decode = decoder_of(response)
        self._begin(api_key, version, parts_of(request, version), decode, tell, False, timeout_ms, hear_begun)

    def send_unanswered(self, request: Message, *, version_max: int | None = None) -> None:
        """For Produce with acks=0, which no broker answers."""
        if self.failure is not None:
            raise self.failure
        version = self.versions.pick(request.api_key, version_max)
        self._write(request.api_key, version, parts_of(request, version))

    def close(self) -> None:
        self._fail(BrokerUnreachable(f"the connection to {self.address} was closed"))

    async def closed(self) -> None:
        """Closes, and waits until what was written has left."""
        self.close()
        if self._transport is not None:
            await asyncio.wait([self._gone], timeout=CLOSE_TIMEOUT_S)

    async def _place(self) -> None:
        place = self._loop.create_future()
        self._waiting.append(place)
        try:
            await place
        except asyncio.CancelledError:
            if not place.cancelled():
                self._admit_waiting()  # somebody else can have it
            raise

    async def _connect(self) -> None:
        tls = self._tls()
        found = await self._loop.getaddrinfo(*self.address, type=socket.SOCK_STREAM)
        last_error: OSError | None = None
        for *_, place in found:
            try:
                await self._loop.create_connection(lambda: self, str(place[0]), self.address.port, **tls)
                return
            except OSError as error:
                last_error = error
        raise last_error or OSError(f"{self.address.host} has no address")

    def _tls(self) -> dict[str, Any]:
        """How the transport is to be made; plain text has no need to know of any of this."""
        if self.settings.security_protocol == "PLAINTEXT":
            return {}
        from strandline.client.security import tls_context, uses_tls

        if not uses_tls(self.settings):
            return {}
        return {"ssl": tls_context(self.settings), "server_hostname": self.address.host}

    async def _authenticate(self) -> None:
        from strandline.client.security import uses_sasl

        if uses_sasl(self.settings):
            from strandline.client.authentication import authenticate

            await authenticate(self)

    async def _negotiate(self) -> None:
        response = await self._ask_api_versions(NEWEST)
        if response.error_code == ErrorCode.UNSUPPORTED_VERSION:
            response = await self._ask_api_versions(version_to_ask_again(response))
        if response.error_code:
            raise BrokerRefused(response.error_code, f"the broker at {self.address}")
        self.versions = BrokerVersions(str(self.address), response)

    def _ask_api_versions(self, version: int) -> asyncio.Future[ApiVersionsResponse]:
        return self._send(ApiKey.API_VERSIONS, version, [encode(OURS, version)], decode_api_versions, None)

    def _send(
        self, api_key: int, version: int, body: list[Buffer], decode: Decoder, timeout_ms: int | None
    ) -> asyncio.Future[Any]:
        if timeout_ms is None:
            timeout_ms = self.settings.request_timeout_ms
        answer = self._loop.create_future()
        self._begin(api_key, version, body, decode, partial(_resolve, answer), True, timeout_ms)
        return answer

    def _begin(
        self,
        api_key: int,
        version: int,
        body: list[Buffer],
        decode: Decoder,
        tell: Callable[[Any], object],
        is_kept: bool,
        timeout_ms: int,
        hear_begun: HearBegun | None = None,
    ) -> None:
        deadline_s = self._loop.time() + timeout_ms / 1000
        if deadline_s < self._watched_until_s:
            self._watch(deadline_s)
        correlation_id = self._write(api_key, version, body)
        self._pending.append(
            Pending(correlation_id, api_key, version, decode, tell, hear_begun, is_kept, deadline_s, timeout_ms)
        )

    def _watch(self, deadline_s: float) -> None:
        """Look at that moment whether something is overdue. One timer for all: nearly always nothing is."""
        if self._timer is not None:
            self._timer.cancel()
        self._watched_until_s = deadline_s
        self._timer = self._loop.call_at(deadline_s, self._check_overdue)

    def _check_overdue(self) -> None:
        self._timer, self._watched_until_s = None, NEVER
        now_s = self._loop.time()
        overdue = next((each for each in self._pending if each.deadline_s <= now_s), None)
        if overdue is not None:
            self._give_up(overdue.api_key, overdue.timeout_ms)
        elif self._pending:
            self._watch(min(each.deadline_s for each in self._pending))

    def _write(self, api_key: int, version: int, body: list[Buffer]) -> int:
        correlation_id = self._next_correlation_id
        self._next_correlation_id = (correlation_id + 1) % CORRELATION_IDS
        size = sum(map(len, body))
        assert self._transport is not None
        self._transport.writelines([frame_request(api_key, version, correlation_id, self._client_id, size), *body])
        return correlation_id

    # What the transport calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002
        return self._frames.room()

    def buffer_updated(self, nbytes: int) -> None:
        try:
            for frame in self._frames.filled(nbytes):
                self._take_answer(frame)
            if nbytes >= BEGUN_BYTES_MIN and self._pending:
                self._hear_begun(self._pending[0])
        except ProtocolError as error:
            self._fail(ClientError(describe_stranger(self.address, self._frames.first_bytes, error)))

    def _hear_begun(self, pending: Pending) -> None:
        begun = self._frames.begun()
        if pending.hear_begun is None or len(begun) < BEGUN_BYTES_MIN:
            return
        if decode_correlation_id(begun) == pending.correlation_id:
            pending.hear_begun(response_body(pending.api_key, pending.version, begun))

    def connection_lost(self, exc: Exception | None) -> None:
        reason = f": {exc}" if exc is not None else ""
        self._fail(BrokerUnreachable(f"the broker at {self.address} closed the connection{reason}"))
        if not self._gone.done():
            self._gone.set_result(None)

    def _take_answer(self, frame: memoryview) -> None:
        correlation_id = decode_correlation_id(frame)
        if not self._pending or self._pending[0].correlation_id != correlation_id:
            raise ProtocolError(f"an answer has correlation id {correlation_id}, which is not that of the next request")
        pending = self._pending[0]  # until it is decoded: whatever goes wrong there, its caller hears of it
        if pending.is_kept:  # records stay views of their frame
            frame = self._frames.kept(frame)
        answer = pending.decode(pending.version, response_body(pending.api_key, pending.version, frame))
        self._pending.popleft()
        if self._waiting:
            self._admit_waiting()
        pending.tell(answer)

    def _admit_waiting(self) -> None:
        while self._waiting:
            place = self._waiting.popleft()
            if not place.done():
                place.set_result(None)
                return

    def _give_up(self, api_key: int, timeout_ms: int) -> None:
        name = SPOKEN[api_key].name
        self._fail(BrokerUnreachable(f"the broker at {self.address} did not answer {name} within {timeout_ms} ms"))

    def _fail(self, failure: ClientError) -> None:
        """Once; what was under way hears of it."""
        if self.failure is not None:
            return
        self.failure = failure
        if self._transport is not None:
            self._transport.close()
        if self._timer is not None:
            self._timer.cancel()
        pending, self._pending = self._pending, deque()
        for each in pending:
            if each.is_kept:
                each.tell(failure)
            else:  # not inside the call that gives the connection up
                self._loop.call_soon(each.tell, failure)
        while self._waiting:
            self._admit_waiting()


def _resolve(answer: asyncio.Future[Any], outcome: Any) -> None:
    if answer.done():  # its caller was cancelled
        return
    if isinstance(outcome, ClientError):
        answer.set_exception(outcome)
        answer.exception()  # its caller may have gone
    else:
        answer.set_result(outcome)


def _failed(loop: asyncio.AbstractEventLoop, failure: ClientError) -> asyncio.Future[Any]:
    answer = loop.create_future()
    answer.set_exception(failure)
    return answer
