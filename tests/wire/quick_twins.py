"""Quick twins against the plain codec and kio: the same messages, the same bytes, the same refusals."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from tests.wire.kio_twin import kio_bytes, messages

from strandline.model.failures import ProtocolError
from strandline.wire.codec import decode_request, encode
from strandline.wire.primitives import Buffer
from strandline.wire.versions import SERVED

Decode = Callable[[int, Buffer], Any]


def versions(key: int) -> range:
    return range(SERVED[key].first_version, SERVED[key].last_version + 1)


def unchanged(value: Any, version: int) -> Any:  # noqa: ARG001
    return value


def check_decoder(
    key: int, version: int, decode: Decode, normalised: Callable[[Any, int], Any] = unchanged, count: int = 60
) -> None:
    """What kio writes is read as it was meant, trailing bytes or not."""
    for value in messages(key, "request", version, count):
        body = kio_bytes(value, "request", version)
        expected = normalised(value, version)
        assert decode(version, memoryview(body)) == expected
        assert decode(version, body + b"\0\0\0") == expected


def check_encoder(key: int, version: int, encode_response: Callable[[int, Any], bytes], count: int = 60) -> None:
    for value in messages(key, "response", version, count):
        assert encode_response(version, value) == kio_bytes(value, "response", version)


def check_malformed(
    key: int, version: int, decode: Decode, normalised: Callable[[Any, int], Any] = unchanged, count: int = 30
) -> None:
    """Every cut is refused; changed bytes are refused or read exactly when the plain codec refuses or reads them."""
    chance = Random(f"malformed {key} {version}")
    for value in messages(key, "request", version, count):
        body = encode(value, version)
        length = chance.randrange(len(body)) if body else 0
        if length < len(body):
            with pytest.raises(ProtocolError):
                decode(version, memoryview(body[:length]))
        for _ in range(4):
            changed = bytearray(body)
            for _ in range(chance.randint(1, 3)):
                changed[chance.randrange(len(changed))] = chance.choice([0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256)])
            assert outcome(decode, version, bytes(changed), unchanged) == outcome(
                lambda at, data: decode_request(key, at, data), version, bytes(changed), normalised
            )


def outcome(decode: Decode, version: int, body: bytes, normalised: Callable[[Any, int], Any]) -> Any:
    """The message, or that there was none."""
    try:
        value = decode(version, memoryview(body))
    except ProtocolError:
        return None
    return normalised(value, version)
