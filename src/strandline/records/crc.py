"""CRC-32C, the checksum of everything Kafka writes since format v2.

The library uses the processor's crc32 instruction, 27 GB/s. That is a fifth of what it takes to write a batch of 1 MiB,
so the compiled module has a quicker one for processors with AVX-512, 57 GB/s. For others it has one by the instruction,
too: what places and takes batches needs it where Python cannot be asked. A test holds all of them equal.
"""

from __future__ import annotations

try:
    from strandline.records import _native
except ImportError:  # installed where there was no C compiler
    _native = None  # type: ignore[assignment]

IS_FAST = _native is not None and _native.HAS_FAST_CRC32C

if IS_FAST:
    crc32c = _native.crc32c
else:
    # Not above: it looks up its own version, which takes longer than all else in `records`.
    from crc32c import crc32c as crc32c
