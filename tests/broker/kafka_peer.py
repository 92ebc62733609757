"""Requests and responses as a client writes and reads them, over a plain blocking socket."""

from __future__ import annotations

import socket
from struct import pack, unpack
from typing import Self, TypeVar

from strandline.wire.codec import decode, encode
from strandline.wire.layout import Message
from strandline.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from strandline.wire.versions import SPOKEN, ApiKey

M = TypeVar("M", bound=Message)

WAIT_S = 30.0  # longer than anything takes, also beside busy neighbours; a test that waits this long has failed


def request_frame(
    api_key: int, version: int, *, correlation_id: int = 1, client_id: str = "tester", body: bytes = b""
) -> bytes:
    tags = b"\0" if version >= SPOKEN[api_key].flexible_from else b""
    return pack(">hhih", api_key, version, correlation_id, len(client_id)) + client_id.encode() + tags + body


def framed_request(
    api_key: int, version: int, *, correlation_id: int = 1, client_id: str = "tester", body: bytes = b""
) -> bytes:
    frame = request_frame(api_key, version, correlation_id=correlation_id, client_id=client_id, body=body)
    return pack(">i", len(frame)) + frame


def api_versions_request(version: int, correlation_id: int = 1, name: str = "librdkafka") -> bytes:
    body = encode(ApiVersionsRequest(name, "2.11.1"), version) if version <= 4 else b""
    return framed_request(ApiKey.API_VERSIONS, version, correlation_id=correlation_id, body=body)


def echo_request(correlation_id: int, body: bytes = b"") -> bytes:
    """Heartbeat stands for any small request: the tests' handler gives its body back."""
    return framed_request(ApiKey.HEARTBEAT, 3, correlation_id=correlation_id, body=body)


class KafkaPeer:
    def __init__(self, address: tuple[str, int], receive_buffer_bytes: int = 0) -> None:
        family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        self.socket = socket.socket(family, socket.SOCK_STREAM)
        self.socket.settimeout(WAIT_S)
        if receive_buffer_bytes:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer_bytes)
        try:
            self.socket.connect(address)
        except OSError:
            self.socket.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def send(self, stream: bytes) -> None:
        self.socket.sendall(stream)

    def read(self, count: int) -> bytes:
        received = bytearray()
        while len(received) < count:
            piece = self.socket.recv(min(count - len(received), 2**20))
            if not piece:
                raise EOFError(f"closed after {len(received)} of {count} bytes")
            received += piece
        return bytes(received)

    def response(self) -> tuple[int, bytes]:
        """Correlation id and body of a response with header v0."""
        (size,) = unpack(">i", self.read(4))
        frame = self.read(size)
        return unpack(">i", frame[:4])[0], frame[4:]

    def echo(self, correlation_id: int, body: bytes = b"") -> None:
        self.send(echo_request(correlation_id, body))
        assert self.response() == (correlation_id, body)

    def ask_api_versions(self, version: int, read_as: int | None = None) -> ApiVersionsResponse:
        self.send(api_versions_request(version))
        return decode(ApiVersionsResponse, version if read_as is None else read_as, self.response()[1])

    def ask(self, request: Message, version: int, answer: type[M]) -> M:
        self.tell(request, version)
        return self.hear(version, answer)

    def tell(self, request: Message, version: int) -> None:
        self.send(framed_request(request.api_key, version, body=encode(request, version)))

    def hear(self, version: int, answer: type[M]) -> M:
        """The next response, whatever its header."""
        body = self.response()[1]
        has_tags = version >= SPOKEN[answer.api_key].flexible_from and answer.api_key != ApiKey.API_VERSIONS
        return decode(answer, version, body[1:] if has_tags else body)

    def is_closed_by_broker(self) -> bool:
        """Waits for it."""
        try:
            return self.socket.recv(1) == b""
        except ConnectionResetError:
            return True
