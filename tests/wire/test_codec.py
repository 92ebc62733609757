"""Every message of every version that we serve, byte for byte as kio writes it; and every way to be malformed."""

from __future__ import annotations

import tracemalloc
from random import Random
from struct import pack

import pytest
from tests.wire.kio_twin import EVERY_MESSAGE, EVERY_REQUEST, kio_bytes, messages, our_class

from strandline.model.failures import ProtocolError
from strandline.wire.codec import decode, decode_request, encode, request_class, response_class
from strandline.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from strandline.wire.messages.delete_topics import DeletableTopicResult, DeleteTopicsResponse
from strandline.wire.messages.describe_topic_partitions import Cursor, DescribeTopicPartitionsRequest
from strandline.wire.messages.metadata import MetadataRequest
from strandline.wire.versions import SERVED


@pytest.mark.parametrize(("key", "kind", "version"), EVERY_MESSAGE)
def test_bytes_are_kafkas(key: int, kind: str, version: int) -> None:
    for value in messages(key, kind, version, count=15):
        body = encode(value, version)
        assert body == kio_bytes(value, kind, version)
        assert decode(our_class(key, kind), version, body + b"left alone") == value


@pytest.mark.parametrize("key", list(SERVED))
def test_defaults_can_be_sent_in_every_version(key: int) -> None:
    """A handler fills what it knows and thinks of no version: None where null is not allowed yet goes out empty."""
    for version in range(SERVED[key].first_version, SERVED[key].last_version + 1):
        for message in (request_class(key), response_class(key)):
            decode(message, version, encode(message(), version))


def test_fields_a_version_lacks_have_their_defaults() -> None:
    body = encode(MetadataRequest(topics=None, allow_auto_topic_creation=False), 1)
    assert decode(MetadataRequest, 1, body) == MetadataRequest(topics=None, allow_auto_topic_creation=True)


def test_null_before_a_version_knew_null_is_empty() -> None:
    response = DeleteTopicsResponse(responses=[DeletableTopicResult(name=None)])
    assert decode(DeleteTopicsResponse, 5, encode(response, 5)).responses[0].name == ""
    assert decode(DeleteTopicsResponse, 6, encode(response, 6)).responses[0].name is None


def test_unknown_tagged_fields_are_skipped() -> None:
    body = bytearray(encode(DescribeTopicPartitionsRequest(cursor=Cursor("topic", 5)), 0))
    assert body[-2:] == b"\0\0"  # tags of the cursor, tags of the request
    body[-1:] = b"\x01\x63\x03new"
    assert decode_request(75, 0, bytes(body)).cursor == Cursor("topic", 5)  # type: ignore[attr-defined]


CREATE_TOPICS_2 = encode(CreateTopicsRequest(topics=[CreatableTopic(name="t")]), 2)


@pytest.mark.parametrize(
    ("version", "body"),
    [
        (2, b""),
        (2, pack(">i", 2**31 - 1)),
        (2, pack(">i", -1)),
        (2, pack(">i", -2)),
        (2, pack(">ih", 1, -1)),
        (2, pack(">ih", 1, -7)),
        (2, pack(">ih", 1, 32767) + b"abc"),
        (2, pack(">ih", 1, 2) + b"\xff\xff" + CREATE_TOPICS_2),
        (7, b"\x00"),
        (7, b"\xff\xff\xff\xff\x0f"),
        (7, b"\xff\xff\xff\xff\xff\x01"),
        (7, b"\x80\x80\x80\x80\x80\x80"),
        (7, b"\x02\x00"),
        (7, b"\x02\xff\xff\xff\xff\x07"),
        (7, b"\x01\x00\x00\x00\x00\x00\xff\xff\xff\xff\x0f\x00\x00"),
        (7, b"\x01\x00\x00\x00\x00\x00\x01\x05\xff\x01"),
    ],
)
def test_malformed_bytes_end_the_connection(version: int, body: bytes) -> None:
    """kio's own reader, which is compiled, takes the second of these as leave to reserve 16 GiB, and aborts."""
    with pytest.raises(ProtocolError, match=f"not CreateTopicsRequest version {version}"):
        decode(CreateTopicsRequest, version, body)


def test_a_count_is_held_against_the_bytes_that_remain() -> None:
    with pytest.raises(ProtocolError, match="an array of 2147483647 elements where 9 bytes remain"):
        decode(CreateTopicsRequest, 2, pack(">i", 2**31 - 1) + bytes(9))
    with pytest.raises(ProtocolError, match="an array of 300 elements where 9 bytes remain"):
        decode(CreateTopicsRequest, 7, b"\xad\x02" + bytes(9))


def test_every_cut_of_a_request_is_malformed() -> None:
    for length in range(len(CREATE_TOPICS_2)):
        with pytest.raises(ProtocolError):
            decode(CreateTopicsRequest, 2, CREATE_TOPICS_2[:length])


def test_lengths_that_lie_allocate_nothing() -> None:
    bombs = [pack(">i", 2**31 - 1) + bytes(100), pack(">i", 90) + bytes(100)]
    tracemalloc.start()
    try:
        for bomb in bombs:
            with pytest.raises(ProtocolError):
                decode(CreateTopicsRequest, 2, bomb)
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak_bytes < 200_000


@pytest.mark.parametrize(("key", "version"), EVERY_REQUEST)
def test_mutated_requests_are_read_or_refused(key: int, version: int) -> None:
    """Nothing but a message or ProtocolError comes out, whatever bytes of a good request are changed to."""
    chance = Random(f"{key} {version}")
    for value in messages(key, "request", version, count=40):
        body = mutated(encode(value, version), chance)
        try:
            decode_request(key, version, body)
        except ProtocolError:
            continue


def mutated(body: bytes, chance: Random) -> bytes:
    changed = bytearray(body)
    for _ in range(chance.randint(1, 3)):
        if changed:
            changed[chance.randrange(len(changed))] = chance.choice([0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256)])
    return bytes(changed[: len(changed) - chance.choice([0, 0, 1, 4])])
