"""SPEC L2: control batches. Commit and abort are understood, leader changes and newer types passed over."""

from __future__ import annotations

import struct

import pytest

from strandline.model.failures import CorruptData
from strandline.records.batch import verify_batch
from strandline.records.builder import build_batch
from strandline.records.control import EndTransactionMarker, build_marker, read_marker
from strandline.records.record import Record, read_records


def control_batch(key: bytes | None, value: bytes | None) -> bytearray:
    return build_batch([Record(0, 0, key, value)], producer_id=1, producer_epoch=0, is_control=True)


@pytest.mark.parametrize("is_commit", [True, False])
def test_markers_round_trip(is_commit: bool) -> None:
    marker = build_marker(
        producer_id=77,
        producer_epoch=5,
        is_commit=is_commit,
        coordinator_epoch=13,
        timestamp=1_000,
        base_offset=42,
        leader_epoch=3,
    )
    head = verify_batch(marker)
    assert read_marker(marker) == EndTransactionMarker(is_commit, 13)
    assert (head.is_control, head.is_transactional) == (True, True)
    assert (head.base_offset, head.last_offset, head.leader_epoch) == (42, 42, 3)
    assert (head.producer_id, head.producer_epoch, head.base_sequence) == (77, 5, -1)
    assert (head.base_timestamp, head.max_timestamp, head.record_count) == (1_000, 1_000, 1)


def test_a_marker_by_hand() -> None:
    marker = build_marker(producer_id=1, producer_epoch=0, is_commit=True, coordinator_epoch=9, timestamp=8)
    (record,) = read_records(marker)
    assert (record.key, record.value) == (bytes.fromhex("00000001"), bytes.fromhex("000000000009"))
    assert marker[61:].hex() == "20000000" + "0800000001" + "0c000000000009" + "00"
    assert len(marker) == 78


@pytest.mark.parametrize("kind", [2, 3, 6, 99, -1])
def test_other_types_are_passed_over(kind: int) -> None:
    assert read_marker(control_batch(struct.pack(">hh", 0, kind), b"whatever")) is None


def test_newer_versions_are_read_as_far_as_we_know_them() -> None:
    batch = control_batch(struct.pack(">hhq", 1, 1, 0), struct.pack(">hiq", 4, 21, 0))
    assert read_marker(batch) == EndTransactionMarker(True, 21)


def test_an_emptied_control_batch_says_nothing() -> None:
    batch = build_batch([], base_offset=4, last_offset=4, producer_id=1, producer_epoch=0, is_control=True)
    assert read_marker(batch) is None


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (None, b""),
        (b"\x00\x00\x00", b""),
        (struct.pack(">hh", -1, 1), struct.pack(">hi", 0, 1)),
        (struct.pack(">hh", 0, 1), None),
        (struct.pack(">hh", 0, 0), b"\x00\x00\x00\x00\x00"),
        (struct.pack(">hh", 0, 1), struct.pack(">hi", -1, 1)),
    ],
)
def test_malformed_markers_are_corrupt(key: bytes | None, value: bytes | None) -> None:
    with pytest.raises(CorruptData):
        read_marker(control_batch(key, value))


def test_a_batch_of_data_is_no_marker() -> None:
    with pytest.raises(CorruptData, match="not a control batch"):
        read_marker(build_batch([Record(0, 0, struct.pack(">hh", 0, 1), struct.pack(">hi", 0, 1))]))
