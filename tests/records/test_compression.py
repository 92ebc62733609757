"""SPEC L2: every codec round trips, reads what others write, and cannot be made to swallow the machine."""

from __future__ import annotations

import random
import tracemalloc
import zlib
from contextlib import suppress

import cramjam
import lz4.frame
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from strandline.model.failures import CorruptData
from strandline.records.compression import Codec, codec_of, compress, decompress
from strandline.records.zstd_frames import WINDOW_BYTES_MAX

CODECS = [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD]
MEGABYTE = 2**20
# Long enough for several snappy blocks and several lz4 blocks.
TEXT = b"the high watermark lies below the log end offset; " * 2000

every_codec = pytest.mark.parametrize("codec", CODECS, ids=lambda codec: codec.name.lower())


@given(st.sampled_from(list(Codec)), st.binary(max_size=2000), st.integers(1, 60))
def test_round_trip(codec: Codec, data: bytes, repeated: int) -> None:
    data *= repeated
    assert decompress(codec, compress(codec, data)) == data
    assert decompress(codec, memoryview(compress(codec, bytearray(data))), len(data)) == data


@every_codec
def test_frames_that_follow_one_another_are_one(codec: Codec) -> None:
    """Some producers end a frame in the middle of a batch and begin another."""
    data = compress(codec, b"one ") + compress(codec, b"") + compress(codec, TEXT)
    assert decompress(codec, data) == b"one " + TEXT


@every_codec
def test_the_same_input_gives_the_same_bytes(codec: Codec) -> None:
    assert compress(codec, TEXT) == compress(codec, TEXT)


def test_gzip_carries_no_time() -> None:
    assert compress(Codec.GZIP, b"x")[:8] == bytes.fromhex("1f8b080000000000")


@pytest.mark.parametrize(("codec", "levels"), [(Codec.GZIP, (1, 9)), (Codec.LZ4, (1, 17)), (Codec.ZSTD, (-5, 19))])
def test_levels(codec: Codec, levels: tuple[int, int]) -> None:
    quick, small = (compress(codec, TEXT, level) for level in levels)
    assert len(small) < len(quick)
    assert decompress(codec, quick) == decompress(codec, small) == TEXT


def test_snappy_is_written_as_snappy_java_writes_it() -> None:
    data = bytes(range(256)) * 200  # 51,200 bytes: one block of 32 KiB and a rest
    compressed = compress(Codec.SNAPPY, data)
    assert compressed[:16] == b"\x82SNAPPY\x00" + bytes.fromhex("0000000100000001")
    first = int.from_bytes(compressed[16:20], "big")
    assert bytes(cramjam.snappy.decompress_raw(compressed[20 : 20 + first])) == data[: 32 * 1024]


def test_raw_snappy_is_read_too() -> None:
    assert decompress(Codec.SNAPPY, bytes(cramjam.snappy.compress_raw(TEXT))) == TEXT


def test_lz4_is_a_frame_of_independent_64_kib_blocks() -> None:
    """Kafka's reader refuses linked blocks. 60: version 1, independent, no checksums; 40: 64 KiB."""
    assert compress(Codec.LZ4, TEXT)[:7].hex() == "04224d18604082"


def test_lz4_frames_of_other_shapes_are_read() -> None:
    compressed = lz4.frame.compress(
        TEXT, block_linked=True, content_checksum=True, block_checksum=True, store_size=True
    )
    assert decompress(Codec.LZ4, compressed) == TEXT


def test_zstd_frames_without_a_content_size_are_read() -> None:
    """Kafka's producer streams, so its frames state no size; at level 22 the window is the largest."""
    parameters = zstandard.ZstdCompressionParameters.from_level(1, window_log=27)
    stream = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    compressed = stream.compress(TEXT) + stream.flush()
    written = zstandard.get_frame_parameters(compressed)
    assert written.content_size == zstandard.CONTENTSIZE_UNKNOWN
    assert written.window_size == WINDOW_BYTES_MAX
    assert decompress(Codec.ZSTD, compressed) == TEXT


@every_codec
def test_the_bound_is_exact(codec: Codec) -> None:
    compressed = compress(codec, TEXT)
    assert decompress(codec, compressed, len(TEXT)) == TEXT
    with pytest.raises(CorruptData, match=f"exceeds the bound of {len(TEXT) - 1} bytes"):
        decompress(codec, compressed, len(TEXT) - 1)
    with pytest.raises(CorruptData, match="exceeds the bound"):
        decompress(codec, compressed + compressed, len(TEXT) + 10)


def gzip_bomb() -> bytes:
    return compress(Codec.GZIP, bytes(100 * MEGABYTE), 9)


def snappy_bomb() -> bytes:
    """One raw block that declares 4 GiB - 1; a stream of honest blocks is caught by the sum."""
    return b"\xff\xff\xff\xff\x0f" + bytes(10_000)


def lz4_bomb() -> bytes:
    return lz4.frame.compress(bytes(100 * MEGABYTE), block_size=lz4.frame.BLOCKSIZE_MAX4MB)  # type: ignore[no-any-return]


def zstd_bomb() -> bytes:
    """A thousand runs of 128 KiB in four bytes each, and no word of the size."""
    run = (128 * 1024 << 3 | 1 << 1).to_bytes(3, "little") + b"\x00"
    last = (0 << 3 | 1).to_bytes(3, "little")
    return bytes.fromhex("28b52ffd0038") + run * 1000 + last


BOMBS = {Codec.GZIP: gzip_bomb, Codec.SNAPPY: snappy_bomb, Codec.LZ4: lz4_bomb, Codec.ZSTD: zstd_bomb}


@every_codec
def test_a_bomb_is_an_error_and_costs_no_more_than_the_bound(codec: Codec) -> None:
    data = BOMBS[codec]()
    assert len(data) < 500_000
    tracemalloc.start()
    try:
        with pytest.raises(CorruptData, match="exceeds the bound"):
            decompress(codec, data, 8 * MEGABYTE)
        assert tracemalloc.get_traced_memory()[1] < 24 * MEGABYTE
    finally:
        tracemalloc.stop()


def test_the_zstd_bomb_would_go_off() -> None:
    assert decompress(Codec.ZSTD, zstd_bomb()) == bytes(1000 * 128 * 1024)


def test_many_small_snappy_blocks_add_up() -> None:
    compressed = compress(Codec.SNAPPY, bytes(MEGABYTE))
    with pytest.raises(CorruptData, match="exceeds the bound"):
        decompress(Codec.SNAPPY, compressed, MEGABYTE - 1)


def test_zstd_content_sizes_may_lie() -> None:
    honest = zstandard.ZstdCompressor().compress(TEXT)
    assert honest[4] == 0xA0  # a size of four bytes, at once after the descriptor
    for stated, sentence in (
        (WINDOW_BYTES_MAX, "its blocks hold"),
        (len(TEXT) - 1, "damaged"),
        (len(TEXT) + 1, "damaged"),
    ):
        liar = honest[:5] + stated.to_bytes(4, "little") + honest[9:]
        with pytest.raises(CorruptData, match=sentence):
            decompress(Codec.ZSTD, liar)


def test_zstd_windows_have_a_bound() -> None:
    wide = bytes.fromhex("28b52ffd00" + "90") + (0 << 3 | 1).to_bytes(3, "little")
    assert zstandard.get_frame_parameters(wide).window_size == 2**28
    with pytest.raises(CorruptData, match="window of 268435456 bytes"):
        decompress(Codec.ZSTD, wide)


@every_codec
def test_nothing_at_all_is_not_a_compressed_nothing(codec: Codec) -> None:
    with pytest.raises(CorruptData, match="cut short"):
        decompress(codec, b"")


@every_codec
def test_a_cut_is_told(codec: Codec) -> None:
    """Between two blocks of a snappy stream a cut does not show; the record count tells it then."""
    compressed = compress(codec, TEXT[:3000])
    for kept in range(len(compressed)):
        if codec is Codec.SNAPPY and kept == 16:
            continue
        with pytest.raises(CorruptData):
            decompress(codec, compressed[:kept])


@every_codec
@pytest.mark.parametrize("tail", [b"\x00", b"garbage", b"\xff" * 40])
def test_garbage_after_the_end_is_told(codec: Codec, tail: bytes) -> None:
    with pytest.raises(CorruptData):
        decompress(codec, compress(codec, TEXT) + tail)


@every_codec
def test_damaged_bytes_never_raise_anything_else(codec: Codec) -> None:
    compressed = compress(codec, random.Random(1).randbytes(60) * 40)
    generator = random.Random(codec)
    for _ in range(1500):
        damaged = bytearray(compressed)
        for _ in range(generator.randint(1, 4)):
            damaged[generator.randrange(len(damaged))] = generator.randrange(256)
        with suppress(CorruptData):
            decompress(codec, damaged, 10 * MEGABYTE)


@settings(max_examples=300)
@given(
    st.sampled_from(CODECS),
    st.sampled_from([b"", b"\x1f\x8b\x08", b"\x82SNAPPY\x00" + bytes(8), b"\x04\x22\x4d\x18", b"\x28\xb5\x2f\xfd"]),
    st.binary(max_size=64),
)
def test_garbage_never_raises_anything_else(codec: Codec, magic: bytes, garbage: bytes) -> None:
    with suppress(CorruptData):
        decompress(codec, magic + garbage, MEGABYTE)


def test_codecs_of_attributes() -> None:
    assert [codec_of(bits | 0x38) for bits in range(5)] == list(Codec)
    assert [codec.name.lower() for codec in Codec] == ["none", "gzip", "snappy", "lz4", "zstd"]
    with pytest.raises(CorruptData, match="no codec 5"):
        codec_of(5)


def test_uncompressed_data_is_bounded_as_well() -> None:
    with pytest.raises(CorruptData, match="exceeds the bound"):
        decompress(Codec.NONE, b"four", 3)


def test_gzip_of_a_member_with_a_wrong_checksum() -> None:
    compressed = bytearray(compress(Codec.GZIP, TEXT))
    compressed[-8:-4] = (zlib.crc32(TEXT) ^ 1).to_bytes(4, "little")
    with pytest.raises(CorruptData, match="gzip data is damaged"):
        decompress(Codec.GZIP, compressed)
