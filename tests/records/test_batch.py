"""SPEC L2: the head of a batch, read and edited in place; batches told apart in a buffer."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strandline.model.failures import CorruptData
from strandline.records.batch import (
    CRC_POSITION,
    HEAD_BYTES,
    LENGTH_POSITION,
    MAGIC_POSITION,
    magic_of,
    read_head,
    set_base_offset,
    set_leader_epoch,
    set_max_timestamp,
    split_batches,
    verify_batch,
)
from strandline.records.builder import build_batch
from strandline.records.control import build_marker
from strandline.records.heads import head_of, verified_head_of
from strandline.records.legacy import build_legacy
from strandline.records.record import Record, read_records

THREE = [Record(100 + index, 1_000 + index, b"key", b"value %d" % index) for index in range(3)]


def test_base_offset_and_epoch_change_without_the_crc() -> None:
    batch = build_batch(THREE)
    crc = read_head(batch).crc
    set_base_offset(batch, 7_000)
    set_leader_epoch(batch, 12)
    head = verify_batch(batch)
    assert (head.crc, head.base_offset, head.last_offset, head.next_offset) == (crc, 7_000, 7_002, 7_003)
    assert head.leader_epoch == 12
    assert [record.offset for record in read_records(batch)] == [7_000, 7_001, 7_002]


def test_log_append_time_changes_the_crc_and_every_record() -> None:
    batch = build_batch(THREE)
    set_max_timestamp(batch, 5_000, log_append_time=True)
    assert verify_batch(batch).is_log_append_time
    assert [record.timestamp for record in read_records(batch)] == [5_000] * 3
    set_max_timestamp(batch, 1_002, log_append_time=False)
    assert batch == build_batch(THREE)


def test_sequences_wrap() -> None:
    batch = build_batch(THREE, producer_id=1, producer_epoch=0, base_sequence=2**31 - 2)
    assert read_head(batch).last_sequence == 0
    assert read_head(build_batch(THREE)).last_sequence == -1


@given(st.integers(0, 10**6), st.integers(1, 255))
def test_any_changed_byte_is_noticed(position: int, change: int) -> None:
    batch = build_batch(THREE)
    position %= len(batch)
    batch[position] ^= change
    # Base offset and leader epoch are outside the CRC; that an offset is not negative can still be seen.
    is_negative = batch[0] >= 0x80
    if (position < 8 and not is_negative) or 12 <= position < MAGIC_POSITION:
        verified_head_of(batch)
    else:
        with pytest.raises(CorruptData):
            verified_head_of(batch)


def test_negative_counts_are_refused_even_with_a_sound_crc() -> None:
    batch = build_batch([], base_offset=5, last_offset=9)
    assert verify_batch(batch).record_count == 0
    for position in (23, 57):
        bad = bytearray(batch)
        bad[position] = 0x80
        set_max_timestamp(bad, -1, log_append_time=False)  # renews the CRC
        with pytest.raises(CorruptData, match="negative count"):
            verify_batch(bad)


def test_every_format_is_told_by_its_magic() -> None:
    batches = [
        build_legacy([Record(0, -1, b"k", b"v")], magic=0),
        build_legacy([Record(1, 10, b"k", b"v")], magic=1),
        build_batch([Record(2, 20, b"k", b"v")]),
        build_marker(producer_id=1, producer_epoch=0, is_commit=True, coordinator_epoch=0, timestamp=0, base_offset=3),
    ]
    found = list(split_batches(b"".join(batches)))
    assert found == batches
    assert [magic_of(batch) for batch in found] == [0, 1, 2, 2]
    assert [head_of(batch).base_offset for batch in found] == [0, 1, 2, 3]
    assert [verified_head_of(batch) for batch in found] == [head_of(batch) for batch in found]


@pytest.mark.parametrize("magic", [3, 127, 255])
def test_an_unknown_magic_is_corrupt(magic: int) -> None:
    batch = build_batch(THREE)
    batch[MAGIC_POSITION] = magic
    for read in (head_of, verified_head_of, read_records):
        with pytest.raises(CorruptData, match=f"no batch format with magic {magic}"):
            read(batch)


@pytest.mark.parametrize("kept", [0, 16, 17, HEAD_BYTES - 1])
def test_a_head_that_is_cut_short_is_corrupt(kept: int) -> None:
    with pytest.raises(CorruptData):
        head_of(build_batch(THREE)[:kept])


def test_splitting_stops_before_a_cut_batch() -> None:
    batch = build_batch(THREE)
    for kept in range(len(batch)):
        assert list(split_batches(batch + batch[:kept])) == [batch]


def test_splitting_refuses_an_impossible_length() -> None:
    batch = build_batch(THREE)
    batch[LENGTH_POSITION : LENGTH_POSITION + 4] = (13).to_bytes(4, "big")
    with pytest.raises(CorruptData, match="too small"):
        list(split_batches(batch))


def test_the_length_must_be_that_of_the_bytes() -> None:
    batch = build_batch(THREE)
    for bad in (batch + b"\x00", batch[:-1]):
        with pytest.raises(CorruptData, match="says"):
            verify_batch(bad)
        with pytest.raises(CorruptData, match="says"):
            list(read_records(bad))
    assert CRC_POSITION == 17
