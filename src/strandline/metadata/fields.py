"""The fields of the journal: big-endian integers, and bytes behind an int32 that counts them."""

from __future__ import annotations

from struct import Struct
from typing import Self

from strandline.model.failures import CorruptData

INT8 = Struct(">b")
INT32 = Struct(">i")
INT64 = Struct(">q")


class FieldWriter:
    __slots__ = ("_parts",)

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def int8(self, value: int) -> Self:
        self._parts.append(INT8.pack(value))
        return self

    def int32(self, value: int) -> Self:
        self._parts.append(INT32.pack(value))
        return self

    def int64(self, value: int) -> Self:
        self._parts.append(INT64.pack(value))
        return self

    def data(self, value: bytes) -> Self:
        self._parts += (INT32.pack(len(value)), value)
        return self

    def text(self, value: str) -> Self:
        return self.data(value.encode())

    def raw(self, value: bytes) -> Self:
        self._parts.append(value)
        return self

    def written(self) -> bytes:
        return b"".join(self._parts)


class FieldReader:
    __slots__ = ("_bytes", "_position")

    def __init__(self, content: bytes) -> None:
        self._bytes = content
        self._position = 0

    @property
    def is_at_end(self) -> bool:
        return self._position == len(self._bytes)

    def int8(self) -> int:
        return self._integer(INT8)

    def int32(self) -> int:
        return self._integer(INT32)

    def int64(self) -> int:
        return self._integer(INT64)

    def data(self) -> bytes:
        return self.raw(self.int32())

    def raw(self, length: int) -> bytes:
        start, end = self._position, self._position + length
        if length < 0 or end > len(self._bytes):
            raise CorruptData(f"a field of {length} bytes does not fit where it stands")
        self._position = end
        return self._bytes[start:end]

    def text(self) -> str:
        try:
            return self.data().decode()
        except UnicodeDecodeError:
            raise CorruptData("a text that is not UTF-8") from None

    def _integer(self, layout: Struct) -> int:
        if self._position + layout.size > len(self._bytes):
            raise CorruptData("the fields end too early")
        value: int = layout.unpack_from(self._bytes, self._position)[0]
        self._position += layout.size
        return value
