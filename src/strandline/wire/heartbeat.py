"""Heartbeat, versions 0 to 4, by hand: throttle time since 1, static members since 3 (KIP-345), flexible 4."""

from __future__ import annotations

from struct import Struct

from strandline.model.failures import ProtocolError
from strandline.wire.dialects import FLEXIBLE, LEGACY
from strandline.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from strandline.wire.primitives import BAD_BYTES, INT16, INT32, Buffer, malformed

THROTTLE_AND_ERROR = Struct(">ih")


def decode_heartbeat_request(version: int, body: Buffer) -> HeartbeatRequest:
    dialect = FLEXIBLE if version >= 4 else LEGACY
    group_instance_id = None
    try:
        group_id, position = dialect.read_string(body, 0)
        (generation_id,) = INT32.unpack_from(body, position)
        member_id, position = dialect.read_string(body, position + 4)
        if version >= 3:
            group_instance_id, position = dialect.read_nullable_string(body, position)
        dialect.skip_tags(body, position)
    except (*BAD_BYTES, ProtocolError) as cause:
        raise malformed("HeartbeatRequest", version, cause) from None
    return HeartbeatRequest(group_id, generation_id, member_id, group_instance_id)


def encode_heartbeat_response(version: int, response: HeartbeatResponse) -> bytes:
    if version == 0:
        return INT16.pack(response.error_code)
    body = THROTTLE_AND_ERROR.pack(response.throttle_time_ms, response.error_code)
    return body + FLEXIBLE.tags if version >= 4 else body
