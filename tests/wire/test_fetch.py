"""Fetch by hand: kio's bytes in every version, records left to be sent from their file."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any, NamedTuple

import pytest
from tests.wire.kio_twin import kio_bytes, messages
from tests.wire.quick_twins import check_decoder, check_encoder, check_malformed, outcome, unchanged, versions

from strandline.wire.codec import decode, encode
from strandline.wire.fetch_asking import decode_fetch_response, encode_fetch_request
from strandline.wire.fetch_request import decode_fetch_request
from strandline.wire.fetch_response import encode_fetch_response, encode_only_partition
from strandline.wire.messages.fetch import (
    AbortedTransaction,
    EpochEndOffset,
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
    ReplicaState,
)


class Slice(NamedTuple):
    """Stands for a slice of a segment. As a tuple its len() is not its length."""

    data: bytes
    length: int


def with_replica_state(request: Any, version: int) -> Any:
    return replace(request, replica_state=ReplicaState(request.replica_id)) if version < 15 else request


def joined(version: int, response: FetchResponse) -> bytes:
    parts, body_bytes = encode_fetch_response(version, response)
    body = b"".join([part.data if isinstance(part, Slice) else bytes(part) for part in parts])  # type: ignore[arg-type]
    assert len(body) == body_bytes
    return body


@pytest.mark.parametrize("version", versions(1))
def test_requests_are_read_as_kafka_writes_them(version: int) -> None:
    check_decoder(1, version, decode_fetch_request, with_replica_state)


@pytest.mark.parametrize("version", versions(1))
def test_malformed_requests_end_the_connection(version: int) -> None:
    check_malformed(1, version, decode_fetch_request, with_replica_state)


@pytest.mark.parametrize("version", versions(1))
def test_responses_are_kafkas_bytes(version: int) -> None:
    check_encoder(1, version, joined)


def test_a_tag_of_a_later_version_is_skipped() -> None:
    topic = FetchTopic(partitions=[FetchPartition(replica_directory_id=bytes(range(16)), high_watermark=5)])
    body = encode(FetchRequest(topics=[topic], cluster_id="c"), 18)
    partitions = {version: decode_fetch_request(version, body).topics[0].partitions[0] for version in (16, 17, 18)}
    assert [partition.high_watermark for partition in partitions.values()] == [2**63 - 1, 2**63 - 1, 5]
    assert [partition.replica_directory_id[-1] for partition in partitions.values()] == [0, 15, 15]


@pytest.mark.parametrize("version", versions(1))
def test_slices_are_counted_but_not_read(version: int) -> None:
    contents = [b"a" * 200, b"", b"b" * 70_000]
    partitions = [
        PartitionData(partition_index=index, records=Slice(data, len(data))) for index, data in enumerate(contents)
    ]
    response = FetchResponse(responses=[FetchableTopicResponse("topic", partitions=partitions)])
    parts, _ = encode_fetch_response(version, response)
    assert [part for part in parts if isinstance(part, Slice)] == [partitions[0].records, partitions[2].records]
    decoded = decode(FetchResponse, version, joined(version, response))
    assert [partition.records for partition in decoded.responses[0].partitions] == contents


@pytest.mark.parametrize("version", range(13, 19))
@pytest.mark.parametrize("records", [None, b"", b"batches", Slice(b"a" * 200, 200)])
def test_an_answer_about_one_partition_is_the_same_in_one_go(version: int, records: bytes | Slice | None) -> None:
    data = PartitionData(7, 0, 100, 90, 10, records=records)
    response = FetchResponse(
        session_id=5, responses=[FetchableTopicResponse(topic_id=bytes(range(16)), partitions=[data])]
    )
    parts, body_bytes = encode_only_partition(5, bytes(range(16)), data)
    body = b"".join([part.data if isinstance(part, Slice) else bytes(part) for part in parts])  # type: ignore[arg-type]
    assert body == joined(version, response)
    assert len(body) == body_bytes


@pytest.mark.parametrize("version", versions(1))
def test_requests_are_written_as_kafka_writes_them(version: int) -> None:
    for value in messages(1, "request", version, 60):
        assert encode_fetch_request(version, value) == kio_bytes(value, "request", version)


@pytest.mark.parametrize("replica", [ReplicaState(), ReplicaState(2), ReplicaState(2, 77)])
@pytest.mark.parametrize("version", [14, 15, 17, 18])
def test_a_followers_request_is_what_the_plain_codec_writes(version: int, replica: ReplicaState) -> None:
    partitions = [FetchPartition(index, 3, 2**40 + index, 2, 5, 2**20) for index in range(200)]
    topics = [FetchTopic(topic_id=bytes([number]) * 16, partitions=partitions) for number in (1, 2)]
    request = FetchRequest(
        replica_state=replica, max_wait_ms=500, min_bytes=1, max_bytes=10, session_id=7, session_epoch=8, topics=topics
    )
    assert encode_fetch_request(version, request) == encode(request, version)


def plain_and_particular() -> list[FetchResponse]:
    """What leaders say all day, and what they say seldom."""
    plain = [PartitionData(index, 0, 100 + index, 99, 5, records=b"r" * (index * 70)) for index in range(3)]
    seldom = [
        PartitionData(1, 6, -1, records=None),
        PartitionData(1, 0, 9, records=b"x", diverging_epoch=EpochEndOffset(3, 4)),
        PartitionData(1, 0, 9, records=b"x", aborted_transactions=[]),
        PartitionData(1, 0, 9, records=b"x", aborted_transactions=[AbortedTransaction(1, 2), AbortedTransaction(3, 4)]),
    ]
    both = [[*plain], [], *([*plain, each] for each in seldom)]
    responses = [[FetchableTopicResponse(topic_id=b"t" * 16, partitions=each)] * 2 for each in both]
    return [FetchResponse(0, 0, 77, [*each]) for each in ([], *responses)]


@pytest.mark.parametrize("version", [12, 13, 15, 17, 18])
def test_an_answer_is_what_the_plain_codec_reads(version: int) -> None:
    for value in [*plain_and_particular(), *messages(1, "response", version, 60)]:
        body = memoryview(encode(value, version))
        assert decode_fetch_response(version, body) == decode(FetchResponse, version, body)


@pytest.mark.parametrize("version", [15, 17])
def test_a_malformed_answer_is_one_to_the_plain_codec_too(version: int) -> None:
    chance = Random(f"malformed answers {version}")
    for value in [*plain_and_particular(), *messages(1, "response", version, 30)]:
        body = encode(value, version)
        for _ in range(20):
            changed = bytearray(body)
            changed[chance.randrange(len(changed))] = chance.choice([0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256)])
            cut = bytes(changed[: chance.randint(1, len(changed))])
            assert outcome(decode_fetch_response, version, cut, unchanged) == outcome(
                lambda at, data: decode(FetchResponse, at, data), version, cut, unchanged
            )
