"""SPEC L2: message sets of v0 and v1 are read and up-converted, wrappers with relative offsets too."""

from __future__ import annotations

import random
import struct
from contextlib import suppress
from zlib import crc32

import lz4.frame
import pytest
from hypothesis import given
from hypothesis import strategies as st

from strandline.model.failures import BrokenInvariant, CorruptData
from strandline.records import legacy
from strandline.records.batch import split_batches, verify_batch
from strandline.records.compression import Codec, compress
from strandline.records.heads import head_of, verified_head_of
from strandline.records.legacy import (
    build_legacy,
    read_checked_records,
    read_legacy_head,
    read_legacy_records,
    up_convert,
    verify_legacy,
)
from strandline.records.lz4_header import short_xxhash32, with_right_checksum, with_v0_checksum
from strandline.records.record import Record, read_records

CODECS = [Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4]
THREE = [Record(10, 100, b"a", b"1"), Record(11, 300, None, b"2"), Record(14, 200, b"c", None)]

every_format = pytest.mark.parametrize("magic", [0, 1])
every_codec = pytest.mark.parametrize("codec", CODECS, ids=lambda codec: codec.name.lower())
compressing = pytest.mark.parametrize("codec", CODECS[1:], ids=lambda codec: codec.name.lower())


@st.composite
def runs_of_records(draw: st.DrawFn) -> list[Record]:
    offset = draw(st.integers(0, 2**60))
    found = []
    for gap in draw(st.lists(st.integers(1, 2**20), min_size=1, max_size=8)):
        offset += gap
        key, value = draw(st.none() | st.binary(max_size=30)), draw(st.none() | st.binary(max_size=90))
        found.append(Record(offset, draw(st.integers(-1, 2**62)), key, value))
    return found


def as_kept_by(magic: int, entries: list[Record]) -> list[Record]:
    return entries if magic == 1 else [entry._replace(timestamp=-1) for entry in entries]


def read_all(message_set: bytes | bytearray) -> list[Record]:
    return [record for message in split_batches(message_set) for record in read_records(message)]


def message_of(offset: int, magic: int, attributes: int, value: bytes, timestamp: int = 0) -> bytes:
    """Built here once more, without the code under test."""
    fields = struct.pack(">bb", magic, attributes) + (struct.pack(">q", timestamp) if magic else b"")
    fields += struct.pack(">ii", -1, len(value)) + value
    return struct.pack(">qiI", offset, len(fields) + 4, crc32(fields)) + fields


def test_messages_by_hand() -> None:
    v0 = bytes.fromhex("0000000000000005 00000012 00000000 00 00 00000001 6b 00000003 763030")
    v1 = bytes.fromhex("0000000000000006 0000001a 00000000 01 00 0000000000000007 ffffffff 00000004 76616c31")
    expected = b"".join(message[:12] + struct.pack(">I", crc32(message[16:])) + message[16:] for message in (v0, v1))
    built = build_legacy([Record(5, 0, b"k", b"v00")], magic=0) + build_legacy([Record(6, 7, None, b"val1")], magic=1)
    assert built.hex() == expected.hex()
    assert read_all(expected) == [Record(5, -1, b"k", b"v00"), Record(6, 7, None, b"val1")]


@given(runs_of_records(), st.sampled_from([0, 1]), st.sampled_from(CODECS))
def test_round_trip(entries: list[Record], magic: int, codec: Codec) -> None:
    message_set = build_legacy(entries, magic=magic, codec=codec)
    assert read_all(message_set) == as_kept_by(magic, entries)
    for message in split_batches(message_set):
        assert verified_head_of(message) == head_of(message)


@given(runs_of_records(), st.sampled_from([0, 1]), st.sampled_from(CODECS))
def test_up_conversion_keeps_everything(entries: list[Record], magic: int, codec: Codec) -> None:
    batches = up_convert(build_legacy(entries, magic=magic, codec=codec))
    heads = [verify_batch(batch) for batch in batches]
    assert [record for batch in batches for record in read_records(batch)] == as_kept_by(magic, entries)
    assert {head.codec for head in heads} == {codec}
    assert not any(head.is_log_append_time or head.producer_id >= 0 for head in heads)


@every_format
@compressing
def test_the_head_of_a_wrapper(magic: int, codec: Codec) -> None:
    wrapper = build_legacy(THREE, magic=magic, codec=codec)
    head = verify_legacy(wrapper)
    assert (head.magic, head.codec, head.size_bytes) == (magic, codec, len(wrapper))
    assert (head.base_offset, head.last_offset, head.next_offset) == (10, 14, 15)
    assert head.record_count == 3
    assert (head.base_timestamp, head.max_timestamp) == ((100, 300) if magic else (-1, -1))
    assert (head.producer_id, head.producer_epoch, head.base_sequence, head.leader_epoch) == (-1, -1, -1, -1)
    assert (head.is_transactional, head.is_control, head.delete_horizon_ms) == (False, False, None)


@every_format
def test_the_head_of_a_message(magic: int) -> None:
    message = build_legacy(THREE[:1], magic=magic)
    head = read_legacy_head(message)
    assert (head.base_offset, head.last_offset, head.record_count, head.codec) == (10, 10, 1, Codec.NONE)
    assert head.max_timestamp == (100 if magic else -1)
    assert head.crc == int.from_bytes(message[12:16], "big")


def test_inner_offsets_are_relative_in_v1_and_absolute_in_v0() -> None:
    inner = b"".join(message_of(offset, 1, 0, b"x", 50 + offset) for offset in (0, 1, 3))
    v1 = message_of(1003, 1, Codec.GZIP, compress(Codec.GZIP, inner), 53)
    assert [(record.offset, record.timestamp) for record in read_legacy_records(v1)] == [
        (1000, 50),
        (1001, 51),
        (1003, 53),
    ]
    inner = b"".join(message_of(offset, 0, 0, b"x") for offset in (1000, 1001, 1003))
    v0 = message_of(1003, 0, Codec.GZIP, compress(Codec.GZIP, inner))
    assert [record.offset for record in read_legacy_records(v0)] == [1000, 1001, 1003]


def test_a_v1_wrapper_whose_first_messages_were_compacted_away() -> None:
    """Inner offsets then no longer begin at 0; they still count back from the wrapper's."""
    inner = message_of(4, 1, 0, b"x") + message_of(9, 1, 0, b"y")
    wrapper = message_of(109, 1, Codec.LZ4, compress(Codec.LZ4, inner))
    assert [record.offset for record in read_legacy_records(wrapper)] == [104, 109]


def test_a_wrapper_with_offset_zero_is_librdkafkas() -> None:
    inner = message_of(0, 1, 0, b"x") + message_of(1, 1, 0, b"y")
    wrapper = message_of(0, 1, Codec.GZIP, compress(Codec.GZIP, inner))
    assert [record.offset for record in read_legacy_records(wrapper)] == [0, 1]


def test_a_wrapper_below_its_last_inner_offset_is_corrupt() -> None:
    inner = message_of(0, 1, 0, b"x") + message_of(8, 1, 0, b"y")
    wrapper = message_of(7, 1, Codec.GZIP, compress(Codec.GZIP, inner))
    with pytest.raises(CorruptData, match="ends with inner offset 8"):
        list(read_legacy_records(wrapper))


@compressing
def test_log_append_time_of_the_wrapper_is_that_of_all(codec: Codec) -> None:
    """The broker sets it on the wrapper alone; the inner timestamps still are the producer's."""
    inner = message_of(0, 1, 0, b"x", 1) + message_of(1, 1, 0, b"y", 2)
    wrapper = message_of(21, 1, codec | 0x08, compress(codec, inner), 9_000)
    assert [record.timestamp for record in read_legacy_records(wrapper)] == [9_000, 9_000]
    (batch,) = up_convert(wrapper)
    head = verify_batch(batch)
    assert (head.is_log_append_time, head.max_timestamp, head.codec) == (True, 9_000, codec)
    assert [(record.offset, record.timestamp) for record in read_records(batch)] == [(20, 9_000), (21, 9_000)]


def test_log_append_time_of_single_messages() -> None:
    message_set = build_legacy(THREE, magic=1, log_append_time_ms=77) + build_legacy(
        [Record(20, 5, b"k", b"v")], magic=1
    )
    batches = up_convert(message_set)
    assert [verify_batch(batch).is_log_append_time for batch in batches] == [True, False]
    assert [record.timestamp for batch in batches for record in read_records(batch)] == [77, 77, 77, 5]


def test_v0_has_no_timestamp_type() -> None:
    message = message_of(3, 0, 0x08, b"x")
    assert not verify_legacy(message).is_log_append_time
    assert verify_batch(up_convert(message)[0]).max_timestamp == -1


def test_neighbours_share_a_batch_and_wrappers_keep_their_own() -> None:
    message_set = (
        build_legacy(THREE, magic=0)
        + build_legacy([Record(20, 1, b"k", b"v")], magic=1)
        + build_legacy([Record(21, 1, b"k", b"v"), Record(22, 1, b"k", b"v")], magic=1, codec=Codec.GZIP)
        + build_legacy([Record(23, 1, b"k", b"v"), Record(24, 1, b"k", b"v")], magic=1, codec=Codec.GZIP)
        + build_legacy([Record(25, 1, b"k", b"v")], magic=1)
    )
    heads = [verify_batch(batch) for batch in up_convert(message_set)]
    assert [(head.base_offset, head.last_offset) for head in heads] == [
        (10, 20),
        (21, 22),
        (23, 24),
        (25, 25),
    ]


def test_messages_further_apart_than_a_batch_can_say() -> None:
    message_set = build_legacy([Record(1, 1, b"k", b"v"), Record(2**33, 1, b"k", b"v")], magic=1)
    heads = [verify_batch(batch) for batch in up_convert(message_set)]
    assert [head.base_offset for head in heads] == [1, 2**33]


@every_format
@every_codec
def test_up_conversion_can_number_anew(magic: int, codec: Codec) -> None:
    """For messages that come from a producer: their own offsets mean nothing."""
    message_set = build_legacy(THREE, magic=magic, codec=codec) * 2
    batches = up_convert(message_set, base_offset=500)
    assert [record.offset for batch in batches for record in read_records(batch)] == list(range(500, 506))


def test_up_conversion_stops_before_a_cut_message() -> None:
    whole = build_legacy(THREE, magic=1)
    (batch,) = up_convert(whole + whole[:20])
    assert verify_batch(batch).record_count == 3
    assert up_convert(b"") == []


def test_up_conversion_checks_the_crc_first() -> None:
    message_set = build_legacy(THREE, magic=1)
    message_set[-1] ^= 1
    with pytest.raises(CorruptData, match="CRC of the message at offset 14"):
        up_convert(message_set)


def test_up_conversion_refuses_what_v2_cannot_hold() -> None:
    backwards = build_legacy(THREE[1:], magic=1) + build_legacy(THREE[:1], magic=1)
    with pytest.raises(CorruptData, match="does not follow"):
        up_convert(backwards)
    with pytest.raises(CorruptData, match="has timestamp -2"):
        up_convert(message_of(0, 1, 0, b"x", -2))


def test_wrappers_do_not_nest() -> None:
    innermost = message_of(0, 1, 0, b"x")
    inner = message_of(0, 1, Codec.GZIP, compress(Codec.GZIP, innermost))
    wrapper = message_of(0, 1, Codec.GZIP, compress(Codec.GZIP, inner))
    for read in (read_legacy_head, verify_legacy, up_convert):
        with pytest.raises(CorruptData, match="holds another wrapper"):
            read(wrapper)


@pytest.mark.parametrize(
    ("message", "sentence"),
    [
        (
            message_of(5, 1, Codec.ZSTD, compress(Codec.ZSTD, message_of(0, 1, 0, b"x"))),
            "codec of a later format",
        ),
        (message_of(5, 1, Codec.GZIP, compress(Codec.GZIP, b"")), "is empty"),
        (message_of(5, 1, Codec.GZIP, compress(Codec.GZIP, message_of(0, 1, 0, b"x")[:-1])), "ends amid"),
        (message_of(5, 1, Codec.GZIP, b"no gzip"), "gzip data is damaged"),
        (message_of(5, 0, Codec.LZ4, b"x"), "lz4 data is cut short"),
        (message_of(5, 0, Codec.LZ4, b"\x04\x22\x4d\x18\x68\x40"), "lz4 data is cut short"),
        (message_of(5, 1, 6, b"x"), "no codec 6"),
        (message_of(5, 1, 0, b"x")[:-1], "says 35 bytes, has 34"),
        (message_of(5, 0, 0, b"")[:-3] + b"\x00\x00\x09", "field of 9 bytes that runs beyond its end"),
        (message_of(5, 0, 0, b"")[:-3] + b"\xff\xff\xff", "field of 16777215 bytes that runs beyond its end"),
        (struct.pack(">qiIbb", 5, 6, 0, 1, 0), "is cut short"),
        (struct.pack(">qiIbb", 5, 6, 0, 0, 0), "is cut short"),
        (struct.pack(">qiIbbiii", 5, 18, 0, 0, 0, -1, -1, 0), "4 bytes too many"),
    ],
    ids=lambda part: part if isinstance(part, str) else "",
)
def test_malformed_messages_are_corrupt(message: bytes, sentence: str) -> None:
    with pytest.raises(CorruptData, match=sentence):
        list(read_legacy_records(message))


def test_wrapper_without_a_value_is_corrupt() -> None:
    fields = struct.pack(">bbqii", 1, Codec.GZIP, 0, -1, -1)
    message = struct.pack(">qiI", 0, len(fields) + 4, crc32(fields)) + fields
    with pytest.raises(CorruptData, match="has no value"):
        verify_legacy(message)


def test_decompression_is_bounded_here_too() -> None:
    wrapper = build_legacy([Record(0, 0, None, bytes(10**6))], magic=1, codec=Codec.GZIP)
    for read in (
        read_legacy_head,
        verify_legacy,
        lambda message, bound: list(read_legacy_records(message, bound)),
    ):
        with pytest.raises(CorruptData, match="exceeds the bound of 1000 bytes"):
            read(wrapper, 1000)
    with pytest.raises(CorruptData, match="exceeds the bound"):
        up_convert(wrapper, max_bytes=1000)


def test_a_wrapper_of_more_messages_than_memory_should_hold_is_corrupt(monkeypatch: pytest.MonkeyPatch) -> None:
    wrapper = build_legacy(THREE, magic=1, codec=Codec.GZIP)
    monkeypatch.setattr(legacy, "INNER_MESSAGES_MAX", 3)
    assert list(read_records(wrapper)) == THREE
    monkeypatch.setattr(legacy, "INNER_MESSAGES_MAX", 2)
    with pytest.raises(CorruptData, match="more than 2 messages"):
        head_of(wrapper)


def test_lz4_in_v0_has_kafkas_wrong_header_checksum() -> None:
    """KAFKA-3160. A v0 writer hashed the magic as well; v1 and later are right."""
    inner = message_of(0, 0, 0, b"x" * 100)
    right = compress(Codec.LZ4, inner)
    wrong = with_v0_checksum(right)
    assert [index for index in range(len(right)) if right[index] != wrong[index]] == [6]
    with pytest.raises(RuntimeError):
        lz4.frame.decompress(bytes(wrong))
    for frame in (wrong, right):
        assert len(list(read_legacy_records(message_of(0, 0, Codec.LZ4, bytes(frame))))) == 1
    with pytest.raises(CorruptData):
        list(read_legacy_records(message_of(0, 1, Codec.LZ4, bytes(wrong))))
    built = build_legacy([Record(0, 0, None, b"x" * 100)], magic=0, codec=Codec.LZ4)
    assert bytes(wrong) in built


@given(st.booleans(), st.booleans(), st.binary(max_size=50))
def test_the_right_header_checksum_is_lz4s_own(content_size: bool, linked: bool, data: bytes) -> None:
    frame = lz4.frame.compress(data, store_size=content_size, block_linked=linked)
    assert with_right_checksum(with_v0_checksum(frame)) == frame


def test_short_xxhash32() -> None:
    """Known answers of the reference implementation, seed 0."""
    assert short_xxhash32(b"") == 0x02CC5D05
    assert short_xxhash32(b"a") == 0x550D7456
    assert short_xxhash32(b"abc") == 0x32D153FF


def test_what_a_message_set_cannot_say_is_not_written() -> None:
    for entries, codec in (
        ([], Codec.NONE),
        (THREE, Codec.ZSTD),
        ([Record(0, 0, None, None, (("h", None),))], Codec.NONE),
    ):
        with pytest.raises(BrokenInvariant):
            build_legacy(entries, magic=1, codec=codec)


@every_format
@every_codec
def test_each_message_tells_whether_its_own_crc_holds(magic: int, codec: Codec) -> None:
    sound = build_legacy(THREE, magic=magic, codec=codec)
    messages = [sound] if codec is not Codec.NONE else list(split_batches(sound))
    checked = [each for message in messages for each in read_checked_records(message)]
    assert [each.record for each in checked] == read_all(sound)
    assert all(each.is_valid for each in checked)
    last = bytearray(messages[-1])
    if codec is Codec.NONE:
        last[12] ^= 1
        assert [each.is_valid for each in read_checked_records(last)] == [False]


@every_format
@every_codec
def test_damaged_messages_never_raise_anything_but_corrupt_data(magic: int, codec: Codec) -> None:
    sound = build_legacy(THREE, magic=magic, codec=codec)
    generator = random.Random(f"damage {magic} {codec.name}")
    for _ in range(600):
        damaged = bytearray(sound)
        for _ in range(generator.randint(1, 4)):
            damaged[generator.randrange(len(damaged))] = generator.randrange(256)
        # The CRC is made right again, so that the damage is looked at.
        damaged[12:16] = crc32(damaged[16:]).to_bytes(4, "big")
        for read in (head_of, verified_head_of, read_records, read_checked_records, up_convert):
            with suppress(CorruptData):
                list(read(damaged))
        with suppress(CorruptData):
            read_all(damaged)
