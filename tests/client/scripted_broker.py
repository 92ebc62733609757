"""A broker that answers by a script, over real sockets, on the event loop of the test.

`answers` has a function for each kind of request; what it returns goes out: a message, raw bytes, or one of `SILENCE`
and `HANG_UP`. Requests are kept as they came, so that a test can say what the client sent.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from ssl import SSLContext
from struct import pack, unpack
from typing import Any, Self, TypeVar

from strandline.client.settings import ClientSettings
from strandline.model.error_codes import ErrorCode
from strandline.wire.codec import decode_request, encode
from strandline.wire.header import decode_request_header, frame_response
from strandline.wire.layout import Message
from strandline.wire.messages.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from strandline.wire.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from strandline.wire.versions import SERVED, SPOKEN

WAIT_S = 10.0  # longer than anything takes; a test that waits this long has failed

M = TypeVar("M", bound=Message)
Answer = Message | bytes | str
SILENCE = "silence"
HANG_UP = "hang up"
TOPIC_ID = bytes(range(16))


class ScriptedBroker:
    def __init__(
        self, node_id: int = 1, versions: dict[int, tuple[int, int]] | None = None, tls: SSLContext | None = None
    ) -> None:
        self._tls = tls
        self.node_id = node_id
        self.versions = versions or {api.key: (api.first_version, api.last_version) for api in SERVED.values()}
        self.answers: dict[type[Message], Callable[[Any], Answer]] = {
            ApiVersionsRequest: self.api_versions,
            MetadataRequest: self.metadata,
        }
        self.controller_id = node_id
        self.peers: list[ScriptedBroker] = [self]
        self.leaders: dict[str, list[int]] = {}  # of each topic: who leads partition 0, 1, …
        self.requests: list[Message] = []
        self.versions_spoken: list[tuple[str, int]] = []
        self.connection_count = 0
        self._writers: list[asyncio.StreamWriter] = []

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self._tls)
        self.port: int = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self.stop()
        await self._server.wait_closed()

    def stop(self) -> None:
        self._server.close()
        for writer in self._writers:
            writer.close()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def settings(self, **settings: Any) -> ClientSettings:
        """Quick to try again."""
        quick = {"retry_backoff_ms": 1, "retry_backoff_max_ms": 4, "default_api_timeout_ms": int(WAIT_S * 1000)}
        return ClientSettings(bootstrap_servers=(self.address,), **(quick | settings))

    def received(self, kind: type[M]) -> list[M]:
        return [request for request in self.requests if isinstance(request, kind)]

    def api_versions(self, _: ApiVersionsRequest) -> ApiVersionsResponse:
        return ApiVersionsResponse(0, [ApiVersion(key, *versions) for key, versions in self.versions.items()])

    def metadata(self, request: MetadataRequest) -> MetadataResponse:
        brokers = [MetadataResponseBroker(peer.node_id, "127.0.0.1", peer.port) for peer in self.peers]
        names = self.leaders if request.topics is None else [topic.name or "" for topic in request.topics]
        return MetadataResponse(0, brokers, "scripted", self.controller_id, [self._topic(name) for name in names])

    def _topic(self, name: str) -> MetadataResponseTopic:
        if name not in self.leaders:
            return MetadataResponseTopic(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, name)
        partitions = [
            MetadataResponsePartition(0, index, leader, 0, [leader], [leader])
            for index, leader in enumerate(self.leaders[name])
        ]
        return MetadataResponseTopic(0, name, TOPIC_ID, False, partitions)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connection_count += 1
        self._writers.append(writer)
        try:
            while True:
                (size,) = unpack(">i", await reader.readexactly(4))
                answer = self._answer(await reader.readexactly(size))
                if answer is None:
                    break
                writer.write(answer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        writer.close()

    def _answer(self, frame: bytes) -> bytes | None:
        header = decode_request_header(frame)
        self.versions_spoken.append((SPOKEN[header.api_key].name, header.api_version))
        request = decode_request(header.api_key, header.api_version, memoryview(frame)[header.body_position :])
        self.requests.append(request)
        answer = self.answers[type(request)](request)
        if isinstance(answer, str):
            return None if answer == HANG_UP else b""
        if isinstance(answer, bytes):
            return answer
        body = encode(answer, header.api_version)
        return frame_response(header.api_key, header.api_version, header.correlation_id, len(body)) + body


def framed(correlation_id: int, body: bytes) -> bytes:
    return pack(">ii", len(body) + 4, correlation_id) + body


def in_turn(*answers: Answer) -> Callable[[Any], Answer]:
    """One after another; the last one for ever."""
    left = list(answers)
    return lambda _: left.pop(0) if len(left) > 1 else left[0]


def names_of(requests: Iterable[Message]) -> list[str]:
    return [type(request).__name__.removesuffix("Request") for request in requests]
