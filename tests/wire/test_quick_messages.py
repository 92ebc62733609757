"""The other hot messages by hand: kio's bytes in every version, and the same refusals as the plain codec."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.wire.quick_twins import Decode, check_decoder, check_encoder, check_malformed, unchanged, versions

from strandline.model.failures import BrokenInvariant
from strandline.wire.api_versions import (
    decode_api_versions_request,
    encode_api_versions_response,
    unsupported_version_response,
)
from strandline.wire.codec import decode
from strandline.wire.heartbeat import decode_heartbeat_request, encode_heartbeat_response
from strandline.wire.list_offsets import decode_list_offsets_request, encode_list_offsets_response
from strandline.wire.messages.api_versions import ApiVersion, ApiVersionsResponse
from strandline.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)
from strandline.wire.metadata import encode_metadata_response
from strandline.wire.offset_commit import decode_offset_commit_request, encode_offset_commit_response
from strandline.wire.offset_fetch import decode_offset_fetch_request, encode_offset_fetch_response
from strandline.wire.versions import ApiKey


def as_one_group(request: OffsetFetchRequest, version: int) -> OffsetFetchRequest:
    """A request of before KIP-709 as the handler sees it."""
    if version >= 8:
        return request
    group = OffsetFetchRequestGroup(request.group_id, topics=None)
    if request.topics is not None:
        group.topics = [
            OffsetFetchRequestTopics(each.name, bytes(16), each.partition_indexes) for each in request.topics
        ]
    return OffsetFetchRequest(groups=[group], require_stable=request.require_stable)


def encode_old_offset_fetch(version: int, response: OffsetFetchResponse) -> bytes:
    """The handler's answer, made from one of the form before KIP-709."""
    if version >= 8:
        return encode_offset_fetch_response(version, response)
    topics = [
        OffsetFetchResponseTopics(
            topic.name,
            partitions=[
                OffsetFetchResponsePartitions(
                    each.partition_index,
                    each.committed_offset,
                    each.committed_leader_epoch,
                    each.metadata,
                    each.error_code,
                )
                for each in topic.partitions
            ],
        )
        for topic in response.topics
    ]
    group = OffsetFetchResponseGroup(topics=topics, error_code=response.error_code)
    return encode_offset_fetch_response(version, OffsetFetchResponse(response.throttle_time_ms, groups=[group]))


DECODERS: list[tuple[ApiKey, Decode, Callable[[Any, int], Any]]] = [
    (ApiKey.LIST_OFFSETS, decode_list_offsets_request, unchanged),
    (ApiKey.OFFSET_COMMIT, decode_offset_commit_request, unchanged),
    (ApiKey.OFFSET_FETCH, decode_offset_fetch_request, as_one_group),
    (ApiKey.HEARTBEAT, decode_heartbeat_request, unchanged),
    (ApiKey.API_VERSIONS, decode_api_versions_request, unchanged),
]
ENCODERS: list[tuple[ApiKey, Callable[[int, Any], bytes]]] = [
    (ApiKey.METADATA, encode_metadata_response),
    (ApiKey.LIST_OFFSETS, encode_list_offsets_response),
    (ApiKey.OFFSET_COMMIT, encode_offset_commit_response),
    (ApiKey.OFFSET_FETCH, encode_old_offset_fetch),
    (ApiKey.HEARTBEAT, encode_heartbeat_response),
    (ApiKey.API_VERSIONS, encode_api_versions_response),
]
EVERY_DECODER = [(*entry, version) for entry in DECODERS for version in versions(entry[0])]
EVERY_ENCODER = [(*entry, version) for entry in ENCODERS for version in versions(entry[0])]


@pytest.mark.parametrize(("key", "decode_request", "normalised", "version"), EVERY_DECODER)
def test_requests_are_read_as_kafka_writes_them(
    key: int, decode_request: Decode, normalised: Callable[[Any, int], Any], version: int
) -> None:
    check_decoder(key, version, decode_request, normalised)


@pytest.mark.parametrize(
    ("key", "decode_request", "normalised", "version"),
    [entry for entry in EVERY_DECODER if entry[0] != ApiKey.API_VERSIONS or entry[3] >= 3],  # others are empty
)
def test_malformed_requests_end_the_connection(
    key: int, decode_request: Decode, normalised: Callable[[Any, int], Any], version: int
) -> None:
    check_malformed(key, version, decode_request, normalised)


@pytest.mark.parametrize(("key", "encode_response", "version"), EVERY_ENCODER)
def test_responses_are_kafkas_bytes(key: int, encode_response: Callable[[int, Any], bytes], version: int) -> None:
    check_encoder(key, version, encode_response)


def test_an_unknown_version_of_api_versions_is_answered_with_the_range_to_ask_in() -> None:
    """KIP-511: error 35, in version 0, which every client can read."""
    response = decode(ApiVersionsResponse, 0, unsupported_version_response())
    assert response == ApiVersionsResponse(35, [ApiVersion(18, 0, 4)])


def test_an_old_offset_fetch_answers_for_one_group() -> None:
    with pytest.raises(BrokenInvariant, match="version 7 answers for one group"):
        encode_offset_fetch_response(7, OffsetFetchResponse())
