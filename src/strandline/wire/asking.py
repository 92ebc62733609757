"""The asker's side of every API: requests to bytes, answers from them, the hot ones by their quick twins.

Those are imported where they are used: most commands neither produce nor fetch, and shall start quickly.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

from strandline.wire.codec import decode, encode
from strandline.wire.layout import Message
from strandline.wire.primitives import Buffer
from strandline.wire.versions import ApiKey

Decoder = Callable[[int, memoryview], Any]
Encoder = Callable[[int, Any], list[Buffer]]


def parts_of(request: Message, version: int) -> list[Buffer]:
    """The bytes of a request; the records of a Produce are not copied."""
    return _encoder_of(request.api_key)(version, request)


@cache
def _encoder_of(api_key: int) -> Encoder:
    if api_key == ApiKey.PRODUCE:
        from strandline.wire.produce_request import encode_produce_request

        return encode_produce_request
    if api_key == ApiKey.FETCH:
        from strandline.wire.fetch_asking import encode_fetch_request

        return lambda version, request: [encode_fetch_request(version, request)]
    return lambda version, request: [encode(request, version)]


def decoder_of(response: type[Message]) -> Decoder:
    """Takes version and body."""
    return _decoder_of(response)  # type: ignore[arg-type]  # mypy: the class of unhashable values is unhashable


@cache
def _decoder_of(response: type[Message]) -> Decoder:
    if response.api_key == ApiKey.FETCH:
        from strandline.wire.fetch_asking import decode_fetch_response

        return decode_fetch_response
    return partial(decode, response)
