"""SPEC L2: batches built, down to the byte, and read again."""

from __future__ import annotations

import random
import struct
from contextlib import suppress

import pytest
from crc32c import crc32c
from hypothesis import given, settings
from hypothesis import strategies as st

from strandline.model.failures import BrokenInvariant, CorruptData
from strandline.records.batch import HEAD_BYTES, read_head, verify_batch
from strandline.records.builder import build_batch, encode_record, seal_batch
from strandline.records.compression import Codec
from strandline.records.control import read_marker
from strandline.records.heads import head_of, verified_head_of
from strandline.records.record import Record, read_headers, read_records, records_section
from strandline.records.walk import HEADER_COUNT, HEADERS_POSITION, walk_records

headers = st.lists(st.tuples(st.text(max_size=6), st.none() | st.binary(max_size=6)), max_size=3).map(tuple)


@st.composite
def runs_of_records(draw: st.DrawFn) -> list[Record]:
    """Rising offsets with gaps, as compaction leaves them; any timestamps Kafka would take."""
    offset = draw(st.integers(0, 2**62))
    found = []
    for gap in draw(st.lists(st.integers(1, 2**20), min_size=1, max_size=10)):
        offset += gap
        found.append(
            Record(
                offset,
                draw(st.integers(-1, 2**62)),
                draw(st.none() | st.binary(max_size=40)),
                draw(st.none() | st.binary(max_size=200)),
                draw(headers),
            )
        )
    return found


def test_a_batch_by_hand() -> None:
    """Every byte worked out from the format."""
    batch = build_batch(
        [
            Record(1000, 1_700_000_000_000, b"k1", b"hello", (("h", b"\x01"), ("n", None))),
            Record(1001, 1_700_000_000_005, None, b""),
            Record(1003, 1_699_999_999_999, b"", None),
        ],
        leader_epoch=7,
        producer_id=4242,
        producer_epoch=3,
        base_sequence=11,
        is_transactional=True,
    )
    section = bytes.fromhex(
        "28 00 00 00 04 6b31 0a 68656c6c6f 04 02 68 02 01 02 6e 01"  # 20 bytes, deltas 0 and 0, two headers
        "0c 00 0a 02 01 00 00"  # 5 ms and 1 offset later, null key, empty value
        "0c 00 01 06 00 01 00"  # 1 ms before the first, offset 3, empty key, null value
    )
    covered = struct.pack(">hiqqqhii", 0x10, 3, 1_700_000_000_000, 1_700_000_000_005, 4242, 3, 11, 3) + section
    head = struct.pack(">qiibI", 1000, 49 + len(section), 7, 2, crc32c(covered))
    assert batch.hex() == (head + covered).hex()


def test_the_empty_batch_that_compaction_keeps() -> None:
    """As Kafka writes it: no codec, base timestamp -1, the offsets and the sequence stay."""
    batch = build_batch(
        [],
        codec=Codec.ZSTD,
        base_offset=50,
        last_offset=59,
        max_timestamp=777,
        delete_horizon_ms=999,
        producer_id=9,
        producer_epoch=1,
        base_sequence=40,
        leader_epoch=2,
        is_transactional=True,
    )
    head = verify_batch(batch)
    assert len(batch) == HEAD_BYTES
    assert (head.base_offset, head.last_offset, head.record_count) == (50, 59, 0)
    assert (head.attributes, head.base_timestamp, head.max_timestamp) == (0x10, -1, 777)
    assert (head.base_sequence, head.last_sequence) == (40, 49)
    assert list(read_records(batch)) == []


def test_an_emptied_batch_that_kept_its_codec_is_read() -> None:
    batch = seal_batch(b"", base_offset=0, last_offset_delta=3, base_timestamp=-1, max_timestamp=-1, record_count=0)
    compressed = seal_batch(
        b"",
        base_offset=0,
        last_offset_delta=3,
        base_timestamp=-1,
        max_timestamp=-1,
        record_count=0,
        codec=Codec.GZIP,
    )
    batch[22] |= Codec.GZIP
    assert list(read_records(batch)) == list(read_records(compressed)) == []


def test_an_empty_batch_must_be_told_its_offsets() -> None:
    with pytest.raises(BrokenInvariant, match="needs its offsets"):
        build_batch([], base_offset=5)


@given(runs_of_records(), st.sampled_from(list(Codec)))
def test_round_trip(entries: list[Record], codec: Codec) -> None:
    batch = build_batch(iter(entries), codec=codec)
    head = verify_batch(batch)
    assert list(read_records(batch)) == list(read_records(memoryview(bytes(batch)))) == entries
    assert (head.base_offset, head.last_offset) == (entries[0].offset, entries[-1].offset)
    assert (head.codec, head.record_count) == (codec, len(entries))
    assert head.base_timestamp == entries[0].timestamp
    assert head.max_timestamp == max(entry.timestamp for entry in entries)


@given(runs_of_records(), st.sampled_from(list(Codec)), st.integers(0, 2**62))
def test_a_delete_horizon_takes_the_place_of_the_base_timestamp(
    entries: list[Record], codec: Codec, horizon: int
) -> None:
    """KIP-534: record timestamps do not change, they only count from the horizon."""
    batch = build_batch(entries, codec=codec, delete_horizon_ms=horizon)
    head = verify_batch(batch)
    assert head.delete_horizon_ms == head.base_timestamp == horizon
    assert list(read_records(batch)) == entries


def test_log_append_time_is_every_records_time() -> None:
    batch = build_batch([Record(0, 10, b"a", b"b"), Record(1, 20, b"a", b"b")], log_append_time_ms=500)
    head = verify_batch(batch)
    assert (head.is_log_append_time, head.base_timestamp, head.max_timestamp) == (True, 10, 500)
    assert [record.timestamp for record in read_records(batch)] == [500, 500]


def test_offsets_may_go_beyond_the_records() -> None:
    """Compaction removes records at either end; the batch keeps its range."""
    batch = build_batch([Record(105, 1, b"k", b"v")], base_offset=100, last_offset=109)
    head = verify_batch(batch)
    assert (head.base_offset, head.last_offset) == (100, 109)
    assert [record.offset for record in read_records(batch)] == [105]


def test_the_widest_timestamps() -> None:
    entries = [Record(0, -1, None, None), Record(1, 2**63 - 2, None, None)]
    assert list(read_records(build_batch(entries))) == entries


def test_a_timestamp_beyond_64_bits_is_corrupt() -> None:
    batch = build_batch([Record(0, 2**62, None, None)], base_timestamp=0)
    struct.pack_into(">q", batch, 27, 2**62 + 2**61)
    with pytest.raises(CorruptData, match="out of range"):
        list(read_records(batch))


def test_huge_keys_and_values() -> None:
    entries = [Record(0, 0, b"k" * 300_000, b"v" * 2_000_000, (("h" * 70_000, b"x" * 70_000),))]
    for codec in Codec:
        assert list(read_records(build_batch(entries, codec=codec))) == entries


def test_header_keys_that_are_not_utf8_survive() -> None:
    section = bytearray()
    encode_record(section, 0, 0, None, None, (("caf\udce9", b""), ("日本", None)))
    batch = seal_batch(section, base_offset=0, last_offset_delta=0, base_timestamp=0, max_timestamp=0, record_count=1)
    assert b"caf\xe9" in batch
    (record,) = read_records(batch)
    assert record.headers == (("caf\udce9", b""), ("日本", None))
    assert build_batch([record]) == batch


def test_headers_are_read_alone() -> None:
    batch = build_batch([Record(0, 0, b"k", b"v", (("a", b"1"), ("a", None)))])
    section = records_section(batch)
    columns = walk_records(section, 1)
    found = read_headers(section, columns[HEADERS_POSITION], columns[HEADER_COUNT])
    assert found == (("a", b"1"), ("a", None))


def test_a_section_can_be_sealed_again_with_another_codec() -> None:
    """What compaction does: raw record bytes under the head they had."""
    entries = [Record(10 + index, 100, b"key", b"value" * 50) for index in range(20)]
    batch = build_batch(entries, codec=Codec.LZ4, is_transactional=True, producer_id=5, producer_epoch=0)
    head = read_head(batch)
    section = records_section(batch)
    sealed = seal_batch(
        section,
        base_offset=head.base_offset,
        last_offset_delta=head.last_offset_delta,
        base_timestamp=head.base_timestamp,
        max_timestamp=head.max_timestamp,
        record_count=head.record_count,
        attributes=head.attributes,
        codec=Codec.ZSTD,
        producer_id=head.producer_id,
        producer_epoch=head.producer_epoch,
    )
    assert verify_batch(sealed).attributes == 0x10 | Codec.ZSTD
    assert list(read_records(sealed)) == entries


@pytest.mark.parametrize("codec", list(Codec))
@pytest.mark.parametrize("count", [0, 1, 3, 2**31 - 1, -1])
def test_a_wrong_record_count_is_corrupt(codec: Codec, count: int) -> None:
    batch = build_batch([Record(0, 0, b"k", b"v"), Record(1, 0, b"k", b"v")], codec=codec)
    struct.pack_into(">i", batch, 57, count)
    with pytest.raises(CorruptData):
        list(read_records(batch))


def test_a_batch_is_bounded_when_read() -> None:
    batch = build_batch([Record(0, 0, None, bytes(10**6))], codec=Codec.GZIP)
    with pytest.raises(CorruptData, match="exceeds the bound of 999999 bytes"):
        list(read_records(batch, 999_999))
    with pytest.raises(CorruptData, match="exceeds the bound"):
        records_section(batch, 1000)


def test_reading_is_lazy() -> None:
    damaged = build_batch([Record(0, 0, None, bytes(1000))], codec=Codec.GZIP)
    damaged[HEAD_BYTES] ^= 0xFF
    records = read_records(damaged)
    with pytest.raises(CorruptData):
        next(records)


def test_offsets_before_the_base_are_our_own_mistake() -> None:
    with pytest.raises(BrokenInvariant, match="offset delta -1"):
        build_batch([Record(4, 0, None, None)], base_offset=5, last_offset=6)


@pytest.mark.parametrize("codec", list(Codec))
def test_damaged_batches_never_raise_anything_but_corrupt_data(codec: Codec) -> None:
    entries = [Record(index, index * 1000, b"key %d" % index, b"value" * 9, (("h", b"x"),)) for index in range(8)]
    sound = build_batch(entries, codec=codec, is_control=True)
    generator = random.Random(f"damage {codec.name}")
    for _ in range(1200):
        damaged = bytearray(sound)
        for _ in range(generator.randint(1, 5)):
            damaged[generator.randrange(len(damaged))] = generator.randrange(256)
        damaged = damaged[: generator.choice([len(damaged), generator.randrange(len(damaged))])]
        for read in (read_records, head_of, verified_head_of, read_marker):
            with suppress(CorruptData):
                list(read(damaged) or ())


@settings(max_examples=200)
@given(st.binary(max_size=120), st.sampled_from([0, 1, 2]))
def test_garbage_never_raises_anything_but_corrupt_data(garbage: bytes, magic: int) -> None:
    batch = bytearray(garbage)
    if len(batch) > 17:
        batch[8:12] = (len(batch) - 12).to_bytes(4, "big")
        batch[16] = magic
    with suppress(CorruptData):
        list(read_records(batch, 10**6))
