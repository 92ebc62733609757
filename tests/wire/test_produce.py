"""Produce by hand: kio's bytes in every version, records left where they lie."""

from __future__ import annotations

import pytest
from tests.wire.kio_twin import kio_bytes, messages
from tests.wire.quick_twins import check_decoder, check_encoder, check_malformed, versions

from strandline.wire.codec import encode
from strandline.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from strandline.wire.produce import decode_produce_request, encode_produce_response
from strandline.wire.produce_request import encode_produce_request


@pytest.mark.parametrize("version", versions(0))
def test_requests_are_read_as_kafka_writes_them(version: int) -> None:
    check_decoder(0, version, decode_produce_request)


@pytest.mark.parametrize("version", versions(0))
def test_responses_are_kafkas_bytes(version: int) -> None:
    check_encoder(0, version, encode_produce_response)


@pytest.mark.parametrize("version", versions(0))
def test_malformed_requests_end_the_connection(version: int) -> None:
    check_malformed(0, version, decode_produce_request)


@pytest.mark.parametrize("version", [8, 12])
def test_records_are_views_of_the_request(version: int) -> None:
    topic = TopicProduceData("t", partition_data=[PartitionProduceData(3, b"batch")])
    body = bytearray(encode(ProduceRequest(None, -1, 1000, [topic]), version))
    (partition,) = decode_produce_request(version, memoryview(body)).topic_data[0].partition_data
    body[body.index(b"batch")] = ord("B")
    assert partition.records == b"Batch"


@pytest.mark.parametrize("version", versions(0))
def test_requests_are_written_as_kafka_writes_them(version: int) -> None:
    for value in messages(0, "request", version, 60):
        assert b"".join(encode_produce_request(version, value)) == kio_bytes(value, "request", version)


@pytest.mark.parametrize("version", [8, 12])
def test_records_are_sent_from_where_they_are(version: int) -> None:
    batches = [memoryview(b"first"), memoryview(b"second")]
    topics = [TopicProduceData("t", partition_data=[PartitionProduceData(3, batch)]) for batch in batches]
    parts = encode_produce_request(version, ProduceRequest(None, -1, 1000, topics))
    assert [part for part in parts if any(part is batch for batch in batches)] == batches
