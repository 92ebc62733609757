"""ApiVersions, versions 0 to 4, by hand: the first thing a client asks.

    request   v3  flexible; name and version of the client's library (KIP-511)
    response  v1  throttle time
              v3  flexible, but its header stays v0; features as tags (KIP-584)
              v4  a feature may begin at version 0

A version that we do not know is answered in version 0 with UNSUPPORTED_VERSION and the range of this API, so that
the client can ask again (KIP-511). Versions 0 to 2 of a request are empty.
"""

from __future__ import annotations

from struct import Struct

from strandline.model.failures import ErrorCode, ProtocolError
from strandline.wire.codec import tags_writer
from strandline.wire.dialects import FLEXIBLE, LEGACY
from strandline.wire.messages.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from strandline.wire.primitives import BAD_BYTES, INT16, INT32, Buffer, malformed, read_compact_string, skip_tags
from strandline.wire.versions import ApiKey, advertised

FLEXIBLE_FROM = 3

RANGE = Struct(">hhh")
RANGE_FLEXIBLE = Struct(">hhhx")


def decode_api_versions_request(version: int, body: Buffer) -> ApiVersionsRequest:
    if version < FLEXIBLE_FROM:
        return ApiVersionsRequest()
    try:
        name, position = read_compact_string(body, 0)
        software_version, position = read_compact_string(body, position)
        skip_tags(body, position)
    except (*BAD_BYTES, ProtocolError) as cause:
        raise malformed("ApiVersionsRequest", version, cause) from None
    return ApiVersionsRequest(name, software_version)


def encode_api_versions_response(version: int, response: ApiVersionsResponse) -> bytes:
    flexible = version >= FLEXIBLE_FROM
    dialect, layout = (FLEXIBLE, RANGE_FLEXIBLE) if flexible else (LEGACY, RANGE)
    target = bytearray(INT16.pack(response.error_code))
    target += dialect.encode_count(len(response.api_keys))
    for each in response.api_keys:
        target += layout.pack(each.api_key, each.min_version, each.max_version)
    if version >= 1:
        target += INT32.pack(response.throttle_time_ms)
    if flexible:
        target += tags_writer(ApiVersionsResponse, version)(response)
    return bytes(target)


def unsupported_version_response() -> bytes:
    """The body that answers an ApiVersions request of a version that we do not know, in version 0."""
    response = ApiVersionsResponse(
        ErrorCode.UNSUPPORTED_VERSION, [ApiVersion(*entry) for entry in advertised([ApiKey.API_VERSIONS])]
    )
    return encode_api_versions_response(0, response)
