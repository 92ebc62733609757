"""Headers of requests and responses.

    request   v0  int16 api key, int16 api version, int32 correlation id
              v1  the same, then a nullable string, the client id
              v2  the same, then tagged fields; the client id keeps its old form
    response  v0  int32 correlation id
              v1  the same, then tagged fields

Flexible versions of an API have request header v2 and response header v1. One exception: an ApiVersions response
always has header v0, because a client reads it before it knows what the broker can do (KIP-511). Request header
v0 is that of ControlledShutdown v0 alone.

Bytes after the last field of a request are left alone, as Kafka does: librdkafka sends some.
"""

from __future__ import annotations

from struct import Struct, error
from typing import NamedTuple

from strandline.model.failures import ProtocolError
from strandline.wire.primitives import INT32, TAGS_NONE, Buffer, skip_tags
from strandline.wire.versions import NOT_SERVED, SPOKEN, ApiKey

REQUEST = Struct(">hhih")
REQUEST_V0_BYTES = 8
FRAMED_REQUEST = Struct(">ihhih")
FRAMED_RESPONSE_V0 = Struct(">ii")
FRAMED_RESPONSE_V1 = Struct(">iix")


class RequestHeader(NamedTuple):
    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None
    body_position: int  # of the body in the frame


def decode_request_header(frame: Buffer) -> RequestHeader:
    """The header of a request that we understand. ApiVersions comes through in any version: it has its own answer."""
    try:
        api_key, api_version, correlation_id, length = REQUEST.unpack_from(frame)
    except error:
        raise ProtocolError(f"a request of {len(frame)} bytes is too short for its header") from None
    api = SPOKEN.get(api_key)
    if api is None or (not api.first_version <= api_version <= api.last_version and api_key != ApiKey.API_VERSIONS):
        raise ProtocolError(describe_not_served(api_key, api_version))
    if api_version == 0 and api_key == ApiKey.CONTROLLED_SHUTDOWN:
        return RequestHeader(api_key, api_version, correlation_id, None, REQUEST_V0_BYTES)
    position = REQUEST.size
    client_id = None
    if length >= 0:
        position += length
        if position > len(frame):
            raise ProtocolError(f"a client id of {length} bytes does not fit its request of {len(frame)} bytes")
        # A name for logs and quotas: a stray byte in it is no reason to hang up.
        client_id = str(frame[position - length : position], "utf-8", "replace")
    elif length != -1:
        raise ProtocolError(f"a client id has length {length}")
    if api_version >= api.flexible_from:
        position = skip_tags(frame, position)
    return RequestHeader(api_key, api_version, correlation_id, client_id, position)


def frame_response(api_key: int, api_version: int, correlation_id: int, body_bytes: int) -> bytes:
    """Size and header of a response whose body has this many bytes."""
    if api_key != ApiKey.API_VERSIONS and api_version >= SPOKEN[api_key].flexible_from:
        return FRAMED_RESPONSE_V1.pack(body_bytes + 5, correlation_id)
    return FRAMED_RESPONSE_V0.pack(body_bytes + 4, correlation_id)


def frame_request(api_key: int, api_version: int, correlation_id: int, client_id: bytes, body_bytes: int) -> bytes:
    """Size and header of a request whose body has this many bytes: the client's side of `decode_request_header`."""
    tags = TAGS_NONE if api_version >= SPOKEN[api_key].flexible_from else b""
    size = REQUEST.size + len(client_id) + len(tags) + body_bytes
    return FRAMED_REQUEST.pack(size, api_key, api_version, correlation_id, len(client_id)) + client_id + tags


def decode_correlation_id(frame: Buffer) -> int:
    """Whose answer a response is; it comes first whatever the API."""
    if len(frame) < INT32.size:
        raise ProtocolError(f"a response of {len(frame)} bytes is too short for its header")
    return int(INT32.unpack_from(frame)[0])


def response_body(api_key: int, api_version: int, frame: memoryview) -> memoryview:
    """What follows the header of a response."""
    if api_key != ApiKey.API_VERSIONS and api_version >= SPOKEN[api_key].flexible_from:
        return frame[skip_tags(frame, INT32.size) :]
    return frame[INT32.size :]


def describe_not_served(api_key: int, api_version: int) -> str:
    api = SPOKEN.get(api_key)
    if api is not None:
        return f"{api.name} version {api_version} is not served: {api.first_version} to {api.last_version} are"
    return f"API {api_key} is not served: {NOT_SERVED.get(api_key, 'Kafka 4.3 has none of this number')}"
