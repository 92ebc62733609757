"""Fetch by hand: kio's bytes in every version, records left to be sent from their file."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import pytest
from tests.wire.quick_twins import check_decoder, check_encoder, check_malformed, versions

from strandline.wire.codec import decode, encode
from strandline.wire.fetch_request import decode_fetch_request
from strandline.wire.fetch_response import encode_fetch_response
from strandline.wire.messages.fetch import (
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
