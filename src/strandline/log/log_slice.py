"""What a read returns: a range of a segment file, for `sendfile` and not yet a copy (SPEC P5)."""

from __future__ import annotations

from typing import NamedTuple

from strandline.log import page_cache
from strandline.log.filesystem import File


class LogSlice(NamedTuple):
    """Holds the open file: it stays readable while its segment is being deleted or compacted away."""

    file: File
    position: int
    length: int

    def read(self) -> bytes:
        return self.file.read(self.position, self.length) if self.length else b""

    def read_resident(self) -> bytearray | None:
        """A copy, if that needs no disk."""
        return page_cache.read_resident(self.file.fileno(), self.position, self.length)

    def drop_from_page_cache(self) -> None:
        """After a cold read: give the memory back to those who read at the tail."""
        page_cache.drop(self.file.fileno(), self.position, self.length)
