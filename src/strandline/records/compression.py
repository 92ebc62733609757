"""The codecs of a record section, with bounded decompression.

What each codec looks like inside a batch:

    gzip    RFC 1952 members
    snappy  snappy-java's stream ("xerial"): 82 'SNAPPY' 00, int32 version, int32 compatible version, then
            blocks of int32 length + raw snappy. Some clients write one raw block with no frame around it;
            both are read
    lz4     LZ4 frames of independent blocks of 64 KiB: Kafka's reader accepts no linked blocks
    zstd    zstd frames

A few bytes can ask for gigabytes. So every decompression has a bound, and more output than that is
`CorruptData`: no decoder here allocates by a declared size that has not been compared with the bound first.
The libraries are imported when a codec is first met; their exceptions never leave this module.
"""

from __future__ import annotations

import zlib
from enum import IntEnum
from struct import Struct

from strandline.model.failures import CorruptData, TooLargeDecompressed
from strandline.records.batch import CODEC_MASK, Buffer

# Far above what a batch should hold (`max.message.bytes` is 1 MiB by default), below what hurts a machine.
DECOMPRESSED_BYTES_MAX = 256 * 2**20

PIECE_BYTES = 64 * 1024
GZIP_WINDOW_BITS = 31  # 15 for the largest window, 16 for a gzip frame
XERIAL_MAGIC = b"\x82SNAPPY\x00"
XERIAL_HEAD = Struct(">8sii")
XERIAL_VERSION = 1
XERIAL_BLOCK_BYTES = 32 * 1024
XERIAL_BLOCK_LENGTH = Struct(">i")


class Codec(IntEnum):
    """Bits 0 to 2 of a batch's attributes. The names in lower case are those of `compression.type`."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


def codec_named(compression_type: str) -> Codec:
    return Codec.NONE if compression_type == "uncompressed" else Codec[compression_type.upper()]


def codec_of(attributes: int) -> Codec:
    try:
        return Codec(attributes & CODEC_MASK)
    except ValueError:
        raise CorruptData(f"there is no codec {attributes & CODEC_MASK}") from None


def compress(codec: Codec, data: Buffer, level: int | None = None) -> bytes:
    """`data` as `codec` stores it; no level is Kafka's default level. Snappy has none."""
    if codec is Codec.NONE:
        return bytes(data)
    if codec is Codec.GZIP:
        compressor = zlib.compressobj(-1 if level is None else level, wbits=GZIP_WINDOW_BITS)
        return compressor.compress(data) + compressor.flush()
    if codec is Codec.SNAPPY:
        return _compress_snappy(data)
    if codec is Codec.LZ4:
        import lz4.frame

        compressed: bytes = lz4.frame.compress(
            data,
            compression_level=level or 0,
            block_size=lz4.frame.BLOCKSIZE_MAX64KB,
            block_linked=False,
            store_size=False,
        )
        return compressed
    import zstandard

    return zstandard.ZstdCompressor(level=3 if level is None else level).compress(data)


def decompress(codec: Codec, data: Buffer, max_bytes: int = DECOMPRESSED_BYTES_MAX) -> bytes:
    """What was compressed, all frames of it. Garbage, a cut, or more than `max_bytes` is `CorruptData`."""
    if codec is Codec.NONE:
        _check_bound(codec, len(data), max_bytes)
        return bytes(data)
    if codec is Codec.GZIP:
        return _decompress_gzip(memoryview(data), max_bytes)
    if codec is Codec.SNAPPY:
        return _decompress_snappy(memoryview(data), max_bytes)
    if codec is Codec.LZ4:
        return _decompress_lz4(memoryview(data), max_bytes)
    from strandline.records.zstd_frames import decompress_zstd

    return decompress_zstd(memoryview(data), max_bytes)


def _check_bound(codec: Codec, size_bytes: int, max_bytes: int) -> None:
    if size_bytes > max_bytes:
        raise TooLargeDecompressed(
            f"{codec.name.lower()} data exceeds the bound of {max_bytes} bytes when decompressed"
        )


def _cut_short(codec: Codec) -> CorruptData:
    return CorruptData(f"{codec.name.lower()} data is cut short")


def _decompress_gzip(data: memoryview, max_bytes: int) -> bytes:
    parts: list[bytes] = []
    total_bytes = position = 0
    decompressor = None
    # Fed in pieces because the decompressor copies what it leaves over, once per member.
    while position < len(data):
        if decompressor is None or decompressor.eof:
            decompressor = zlib.decompressobj(wbits=GZIP_WINDOW_BITS)
        piece = data[position : position + PIECE_BYTES]
        try:
            part = decompressor.decompress(piece, max_bytes - total_bytes + 1)
        except zlib.error as error:
            raise CorruptData(f"gzip data is damaged: {error}") from None
        total_bytes += len(part)
        _check_bound(Codec.GZIP, total_bytes, max_bytes)
        parts.append(part)
        position += len(piece) - len(decompressor.unused_data) - len(decompressor.unconsumed_tail)
    if decompressor is None or not decompressor.eof:
        raise _cut_short(Codec.GZIP)
    return b"".join(parts)


def _compress_snappy(data: Buffer) -> bytes:
    import cramjam

    view = memoryview(data)
    parts = [XERIAL_HEAD.pack(XERIAL_MAGIC, XERIAL_VERSION, XERIAL_VERSION)]
    for start in range(0, len(view), XERIAL_BLOCK_BYTES):
        block = bytes(cramjam.snappy.compress_raw(view[start : start + XERIAL_BLOCK_BYTES]))
        parts += (XERIAL_BLOCK_LENGTH.pack(len(block)), block)
    return b"".join(parts)


def _decompress_snappy(data: memoryview, max_bytes: int) -> bytes:
    if data[: len(XERIAL_MAGIC)] != XERIAL_MAGIC:
        return _decompress_snappy_block(data, max_bytes, max_bytes)
    parts: list[bytes] = []
    left_bytes, position = max_bytes, 0
    while position < len(data):
        if data[position : position + len(XERIAL_MAGIC)] == XERIAL_MAGIC:  # streams may follow one another
            position += XERIAL_HEAD.size
            continue
        block_start = position + XERIAL_BLOCK_LENGTH.size
        if block_start > len(data):
            raise _cut_short(Codec.SNAPPY)
        (length,) = XERIAL_BLOCK_LENGTH.unpack_from(data, position)
        position = block_start + length
        if length < 0 or position > len(data):
            raise CorruptData(f"snappy block of {length} bytes does not fit in its data")
        part = _decompress_snappy_block(data[block_start:position], left_bytes, max_bytes)
        left_bytes -= len(part)
        parts.append(part)
    if position > len(data):
        raise _cut_short(Codec.SNAPPY)
    return b"".join(parts)


def _decompress_snappy_block(block: memoryview, left_bytes: int, max_bytes: int) -> bytes:
    import cramjam

    if not block:
        raise _cut_short(Codec.SNAPPY)
    try:
        declared_bytes = cramjam.snappy.decompress_raw_len(block)
        _check_bound(Codec.SNAPPY, declared_bytes + max_bytes - left_bytes, max_bytes)
        return bytes(cramjam.snappy.decompress_raw(block))
    except cramjam.DecompressionError as error:
        raise CorruptData(f"snappy data is damaged: {error}") from None


def _decompress_lz4(data: memoryview, max_bytes: int) -> bytes:
    import lz4.frame

    if not data:
        raise _cut_short(Codec.LZ4)
    context = lz4.frame.create_decompression_context()
    parts: list[bytes] = []
    total_bytes = position = 0
    frame_ended = True
    step_bytes = max(PIECE_BYTES, 4 * len(data))
    while position < len(data) or not frame_ended:
        try:
            part, read_bytes, frame_ended = lz4.frame.decompress_chunk(
                context, data[position:], max_length=min(step_bytes, max_bytes - total_bytes + 1)
            )
        except RuntimeError as error:
            raise CorruptData(f"lz4 data is damaged: {error}") from None
        if not read_bytes and not part:
            raise _cut_short(Codec.LZ4)
        position += read_bytes
        total_bytes += len(part)
        _check_bound(Codec.LZ4, total_bytes, max_bytes)
        parts.append(part)
    return b"".join(parts)
