"""The two ways to write lengths, before and since the flexible versions (KIP-482), side by side.

For messages by hand whose versions differ in little else. `tags` is what ends a structure that has none to send.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from struct import pack
from typing import NamedTuple

from strandline.wire import primitives
from strandline.wire.primitives import Buffer


class Dialect(NamedTuple):
    read_string: Callable[[Buffer, int], tuple[str, int]]
    read_nullable_string: Callable[[Buffer, int], tuple[str | None, int]]
    read_count: Callable[[Buffer, int], tuple[int, int]]
    read_nullable_count: Callable[[Buffer, int], tuple[int, int]]
    skip_tags: Callable[[Buffer, int], int]
    encode_string: Callable[[str], bytes]
    encode_nullable_string: Callable[[str | None], bytes]
    encode_count: Callable[[int], bytes]
    tags: bytes

    def encode_int32s(self, values: Sequence[int]) -> bytes:
        return self.encode_count(len(values)) + pack(f">{len(values)}i", *values)


def no_tags(buffer: Buffer, position: int) -> int:  # noqa: ARG001
    return position


LEGACY = Dialect(
    primitives.read_string,
    primitives.read_nullable_string,
    primitives.read_present_count,
    primitives.read_count,
    no_tags,
    primitives.encode_string,
    primitives.encode_nullable_string,
    primitives.encode_count,
    b"",
)
FLEXIBLE = Dialect(
    primitives.read_compact_string,
    primitives.read_compact_nullable_string,
    primitives.read_compact_present_count,
    primitives.read_compact_count,
    primitives.skip_tags,
    primitives.encode_compact_string,
    primitives.encode_compact_nullable_string,
    primitives.encode_compact_count,
    primitives.TAGS_NONE,
)
