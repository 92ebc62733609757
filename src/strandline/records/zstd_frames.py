"""zstd data, decompressed frame by frame within a bound (RFC 8878).

    frame  magic 28 B5 2F FD, header (2 to 14 bytes), blocks, 4 bytes of checksum if the header says so
    block  3 bytes, little endian: bit 0 last block, bits 1-2 type (0 raw, 1 run of one byte, 2 compressed),
           then the size

The library decompresses one frame into a buffer of a given size. Kafka's producers write frames without a
content size, and a hostile frame can state any; so the block headers are walked first. They give the frame's
end, which shows a cut, and an upper limit of its output, because no block holds more than 128 KiB.
"""

from __future__ import annotations

from typing import NamedTuple

import zstandard

from strandline.model.failures import CorruptData, TooLargeDecompressed

FRAME_HEAD_BYTES_MAX = 18
BLOCK_HEAD_BYTES = 3
BLOCK_BYTES_MAX = 128 * 1024
CHECKSUM_BYTES = 4
RUN, COMPRESSED = 1, 2
# What zstd itself refuses to go beyond unless told, and what its highest level uses.
WINDOW_BYTES_MAX = 2**27


class Frame(NamedTuple):
    end: int
    output_bytes: int  # stated by the frame, or else the most its blocks can hold
    is_exact: bool


def decompress_zstd(data: memoryview, max_bytes: int) -> bytes:
    if not data:
        raise CorruptData("zstd data is cut short")
    decompressor = zstandard.ZstdDecompressor(max_window_size=WINDOW_BYTES_MAX)
    parts: list[bytes] = []
    left_bytes, position = max_bytes, 0
    try:
        while position < len(data):
            frame = _measure_frame(data, position)
            part = _decompress_frame(decompressor, data[position : frame.end], frame, left_bytes, max_bytes)
            left_bytes -= len(part)
            parts.append(part)
            position = frame.end
    except zstandard.ZstdError as error:
        raise CorruptData(f"zstd data is damaged: {error}") from None
    return b"".join(parts)


def _measure_frame(data: memoryview, start: int) -> Frame:
    head = data[start : start + FRAME_HEAD_BYTES_MAX]
    if head[:4] != zstandard.FRAME_HEADER:
        raise CorruptData("zstd data has something other than a frame in it")
    parameters = zstandard.get_frame_parameters(head)
    if parameters.window_size > WINDOW_BYTES_MAX:
        raise CorruptData(f"zstd frame asks for a window of {parameters.window_size} bytes")
    position, limit_bytes = _walk_blocks(data, start + zstandard.frame_header_size(head))
    end = position + CHECKSUM_BYTES * parameters.has_checksum
    if end > len(data):
        raise CorruptData("zstd data is cut short")
    if parameters.content_size == zstandard.CONTENTSIZE_UNKNOWN:
        return Frame(end, limit_bytes, is_exact=False)
    if parameters.content_size > limit_bytes:
        raise CorruptData(f"zstd frame states {parameters.content_size} bytes, its blocks hold {limit_bytes}")
    return Frame(end, parameters.content_size, is_exact=True)


def _walk_blocks(data: memoryview, position: int) -> tuple[int, int]:
    """The position after the last block, and the most that all blocks can hold."""
    limit_bytes = 0
    is_last = False
    while not is_last:
        head = int.from_bytes(data[position : position + BLOCK_HEAD_BYTES], "little")
        position += BLOCK_HEAD_BYTES
        if position > len(data):
            raise CorruptData("zstd data is cut short")
        is_last, kind, size_bytes = bool(head & 1), (head >> 1) & 3, head >> 3
        limit_bytes += BLOCK_BYTES_MAX if kind == COMPRESSED else size_bytes
        position += 1 if kind == RUN else size_bytes
    return position, limit_bytes


def _decompress_frame(
    decompressor: zstandard.ZstdDecompressor, data: memoryview, frame: Frame, left_bytes: int, max_bytes: int
) -> bytes:
    if frame.is_exact and frame.output_bytes > left_bytes:
        raise TooLargeDecompressed(f"zstd data exceeds the bound of {max_bytes} bytes when decompressed")
    try:
        # The library takes 0 for "no limit given", hence the 1.
        return decompressor.decompress(data, max_output_size=max(1, min(frame.output_bytes, left_bytes)))
    except zstandard.ZstdError as error:
        if frame.output_bytes <= left_bytes:
            raise
        # It does not say whether the output was too long or the input bad.
        raise TooLargeDecompressed(
            f"zstd data exceeds the bound of {max_bytes} bytes when decompressed, or is damaged: {error}"
        ) from None
