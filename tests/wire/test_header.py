"""Request headers in, response headers out, for every API and version that we serve."""

from __future__ import annotations

import io
from struct import pack
from typing import Any

import pytest
from kio.index import load_request_schema, load_response_schema
from kio.schema.index import api_key_map
from kio.serial import entity_writer

from strandline.model.failures import ProtocolError
from strandline.wire.header import (
    decode_correlation_id,
    decode_request_header,
    frame_request,
    frame_response,
    response_body,
)
from strandline.wire.versions import NOT_SERVED, SERVED, SPOKEN, Api, ApiKey, advertised, is_flexible

EVERY_VERSION = [
    (key, version) for key, api in SERVED.items() for version in range(api.first_version, api.last_version + 1)
]


def encoded(entity: Any) -> bytes:
    target = io.BytesIO()
    entity_writer(type(entity))(target, entity)
    return target.getvalue()


@pytest.mark.parametrize(("key", "version"), EVERY_VERSION)
def test_headers_are_kafkas(key: int, version: int) -> None:
    request_header = load_request_schema(key, version).__header_schema__
    for client_id in ("", "rdkafka", None):
        head = encoded(
            request_header(request_api_key=key, request_api_version=version, correlation_id=-7, client_id=client_id)  # type: ignore[arg-type]
        )
        header = decode_request_header(memoryview(head + b"body"))
        assert header == (key, version, -7, client_id, len(head))
    response_head = encoded(load_response_schema(key, version).__header_schema__(correlation_id=77))  # type: ignore[arg-type]
    assert frame_response(key, version, 77, 100) == pack(">i", len(response_head) + 100) + response_head


def test_flexible_versions_are_kafkas() -> None:
    assert [(key, version) for key, version in EVERY_VERSION if is_flexible(key, version)] == [
        (key, version) for key, version in EVERY_VERSION if load_request_schema(key, version).__flexible__
    ]


def test_every_api_is_served_or_the_reason_is_said() -> None:
    assert not SPOKEN.keys() & NOT_SERVED.keys()
    assert SERVED.keys() | NOT_SERVED.keys() == api_key_map.keys()


def test_produce_is_advertised_from_0_but_served_from_3() -> None:
    """KAFKA-18659: librdkafka before 2.11.1 stops compressing when version 0 is not in the list."""
    assert advertised([ApiKey.FETCH, ApiKey.PRODUCE]) == [(0, 0, 13), (1, 4, 18)]
    with pytest.raises(ProtocolError, match="Produce version 2 is not served: 3 to 13 are"):
        decode_request_header(pack(">hhih", 0, 2, 1, -1))


def test_api_versions_of_any_version_come_through() -> None:
    header = decode_request_header(pack(">hhih", 18, 99, 5, -1) + b"\0")
    assert (header.api_version, header.correlation_id) == (99, 5)


def test_tagged_fields_of_a_header_are_skipped() -> None:
    head = pack(">hhih", 3, 12, 5, 1) + b"c" + b"\x02\x00\x02ab\x07\x00"
    assert decode_request_header(head + b"body").body_position == len(head)


def test_a_client_id_may_have_stray_bytes() -> None:
    assert decode_request_header(pack(">hhih", 3, 1, 5, 2) + b"a\xff").client_id == "a�"


@pytest.mark.parametrize(
    ("frame", "sentence"),
    [
        (b"", "a request of 0 bytes is too short"),
        (pack(">hhi", 3, 1, 5), "too short"),
        (pack(">hhih", 3, 1, 5, -2), "a client id has length -2"),
        (pack(">hhih", 3, 1, 5, 3) + b"ab", "a client id of 3 bytes does not fit"),
        (pack(">hhih", 3, 12, 5, -1), "a varint is cut short"),
        (pack(">hhih", 3, 12, 5, -1) + b"\x01\x00\x7f", "a length of 127 where 0 bytes remain"),
        (pack(">hhih", 3, 12, 5, -1) + b"\xff\xff\xff\xff\x1f", "wider than 32 bits"),
        (pack(">hhih", 52, 0, 5, -1), "API 52 is not served: belongs to KRaft"),
        (pack(">hhih", 999, 0, 5, -1), "API 999 is not served: Kafka 4.3 has none of this number"),
        (pack(">hhih", 3, 14, 5, -1), "Metadata version 14 is not served: 0 to 13 are"),
        (pack(">hhih", 3, -1, 5, -1), "Metadata version -1 is not served"),
    ],
)
def test_a_header_that_is_none_ends_the_connection(frame: bytes, sentence: str) -> None:
    with pytest.raises(ProtocolError, match=sentence):
        decode_request_header(memoryview(frame))


@pytest.mark.parametrize("api", SERVED.values(), ids=lambda api: api.name)
def test_both_sides_of_a_header_agree(api: Api) -> None:
    """What a client frames, a broker reads, and the other way round, in every version."""
    for version in range(api.first_version, api.last_version + 1):
        framed = frame_request(api.key, version, 77, b"me", 4) + b"body"
        assert framed[:4] == pack(">i", len(framed) - 4)
        header = decode_request_header(memoryview(framed)[4:])
        assert header[:4] == (api.key, version, 77, "me")
        assert framed[4:][header.body_position :] == b"body"
        answer = memoryview(frame_response(api.key, version, 78, 4) + b"body")[4:]
        assert decode_correlation_id(answer) == 78
        assert bytes(response_body(api.key, version, answer)) == b"body"


def test_an_answer_without_a_header_is_none() -> None:
    with pytest.raises(ProtocolError, match="a response of 3 bytes is too short"):
        decode_correlation_id(b"abc")
