"""What Kafka's builders wrote, we read as Kafka does (SPEC L2)."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from strandline.records.batch import set_leader_epoch, split_batches
from strandline.records.builder import build_batch
from strandline.records.compression import Codec
from strandline.records.control import ABORT, COMMIT, control_type, read_marker
from strandline.records.heads import verified_head_of
from strandline.records.legacy import build_legacy, up_convert
from strandline.records.record import Headers, Record, read_records

BATCHES = Path(__file__).with_name("batches")
NAMES = sorted(path.stem for path in BATCHES.glob("*.json"))
V2_FIELDS = (
    "base_timestamp",
    "leader_epoch",
    "producer_id",
    "producer_epoch",
    "base_sequence",
    "last_sequence",
    "is_transactional",
    "is_control",
    "delete_horizon_ms",
)
TOLD_IN_FULL = 256
MARKERS = {"ABORT": ABORT, "COMMIT": COMMIT}


def bytes_of(name: str) -> bytes:
    return (BATCHES / f"{name}.bin").read_bytes()


def expected_of(name: str) -> list[dict[str, Any]]:
    batches: list[dict[str, Any]] = json.loads((BATCHES / f"{name}.json").read_text())["batches"]
    return batches


def test_there_is_golden_data() -> None:
    assert len(NAMES) == 62


@pytest.mark.parametrize("name", NAMES)
def test_heads(name: str) -> None:
    batches = list(split_batches(bytes_of(name)))
    for batch, expected in zip(batches, expected_of(name), strict=True):
        head = verified_head_of(batch)
        assert len(batch) == expected["size"] == head.size_bytes
        assert head.magic == expected["magic"]
        assert head.crc == expected["crc"]
        assert head.base_offset == expected["base_offset"]
        assert head.last_offset == expected["last_offset"]
        assert head.next_offset == expected["next_offset"]
        assert head.max_timestamp == expected["max_timestamp"]
        assert Codec(head.codec).name.lower() == expected["compression"]
        assert head.is_log_append_time == (expected["timestamp_type"] == "LogAppendTime")
        if head.magic == 2:
            assert head.record_count == expected["count"]
            for field in V2_FIELDS:
                assert getattr(head, field) == expected[field], field


@pytest.mark.parametrize("name", NAMES)
def test_records(name: str) -> None:
    for batch, expected in zip(split_batches(bytes_of(name)), expected_of(name), strict=True):
        for record, told in zip(read_records(batch), expected["records"], strict=True):
            assert (record.offset, record.timestamp) == (told["offset"], told["timestamp"])
            assert tell(record.key) == told["key"]
            assert tell(record.value) == told["value"]
            assert record.headers == headers_in(told)
            if "control" in told:
                check_control(batch, record, told["control"])


def check_control(batch: memoryview, record: Record, told: dict[str, Any]) -> None:
    marker = read_marker(batch)
    if told["type"] in MARKERS:
        assert control_type(record.key) == MARKERS[told["type"]]
        assert marker is not None
        assert marker.is_commit == (told["type"] == "COMMIT")
        assert marker.coordinator_epoch == told["coordinator_epoch"]
    else:
        assert marker is None


def tell(content: bytes | None) -> Any:
    """Bytes in the words of the JSON files."""
    if content is None:
        return None
    if len(content) <= TOLD_IN_FULL:
        return content.hex()
    return {"size": len(content), "sha256": sha256(content).hexdigest()}


def headers_in(told: dict[str, Any]) -> Headers:
    return tuple(
        (header["key"], None if header["value"] is None else bytes.fromhex(header["value"]))
        for header in told.get("headers", ())
    )


def has_one_form(name: str) -> bool:
    """Codecs pack the same bytes in many ways; log append time hides the records' own times."""
    return all(
        batch["magic"] == 2 and batch["compression"] == "none" and batch["timestamp_type"] == "CreateTime"
        for batch in expected_of(name)
    )


@pytest.mark.parametrize("name", [name for name in NAMES if has_one_form(name)])
def test_built_as_kafka_builds(name: str) -> None:
    for batch in split_batches(bytes_of(name)):
        assert bytes(rebuilt(batch)) == bytes(batch)


def rebuilt(batch: memoryview) -> bytearray:
    head = verified_head_of(batch)
    return build_batch(
        list(read_records(batch)),
        base_offset=head.base_offset,
        last_offset=head.last_offset,
        base_timestamp=head.base_timestamp,
        max_timestamp=head.max_timestamp,
        delete_horizon_ms=head.delete_horizon_ms,
        leader_epoch=head.leader_epoch,
        producer_id=head.producer_id,
        producer_epoch=head.producer_epoch,
        base_sequence=head.base_sequence,
        is_transactional=head.is_transactional,
        is_control=head.is_control,
    )


@pytest.mark.parametrize("magic", [0, 1])
def test_old_message_sets_built_as_kafka_builds(magic: int) -> None:
    for name in (f"v{magic}-plain", f"v{magic}-nulls"):
        records = [record for batch in split_batches(bytes_of(name)) for record in read_records(batch)]
        assert build_legacy(records, magic=magic) == bytes_of(name)


@pytest.mark.parametrize("name", ["v0-plain", "v1-plain"])
def test_up_converted_as_a_broker_does(name: str) -> None:
    (batch,) = up_convert(bytes_of(name), base_offset=1000)
    set_leader_epoch(batch, 8)
    assert batch == bytes_of(f"up-converted-{name}")


def test_up_converted_wrapper_holds_the_same_records() -> None:
    """Deflate may pack the same bytes in another way, so records are compared and not bytes."""
    (batch,) = up_convert(bytes_of("v1-gzip"), base_offset=1000)
    assert list(read_records(batch)) == list(read_records(bytes_of("up-converted-v1-gzip")))
