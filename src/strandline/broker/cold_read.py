"""Reading what is not in memory, in a thread, so that nobody else pays for it (SPEC P5).

A consumer far behind must not push out of the page cache what others read: each piece that it brings in is made to go
once it was read. The last piece of a slice stays until the next slice is read: the next request begins within it, and
to find where, the event loop must not wait for the disk.

A piece that was in memory before is somebody else's, and stays. For a single missing page the event loop sends the rest
of a slice the cold way, and it may have been told wrongly of that page (`page_cache.is_resident`): were all of it made
to go, the next reader would find more missing, and the one after that still more.
"""

from __future__ import annotations

from strandline.log import page_cache
from strandline.log.log_slice import LogSlice
from strandline.log.page_cache import PAGE_BYTES

COLD_BYTES_MAX = 256 * 1024  # read by a thread at once


class FileCutShort(Exception):
    """The file ended before the slice did: the answer cannot be completed."""


class ColdRead:
    """One piece. Made by the event loop, which looks at `left` again when the piece was read."""

    __slots__ = ("_is_last", "_piece", "left")

    def __init__(self, wanted: LogSlice, left: LogSlice | None) -> None:
        """The first piece of what is `wanted`; `left` is what the read before it has left in memory."""
        file, position, length = wanted
        self._piece = LogSlice(file, position, min(length, COLD_BYTES_MAX))
        self._is_last = length <= COLD_BYTES_MAX
        self.left = left

    def run(self) -> bytes:
        file, position, length = self._piece
        is_somebodys = page_cache.is_resident(file.fileno(), position, length)
        data = self._piece.read()
        if len(data) < length:
            raise FileCutShort(f"{length} bytes at {position} are not there")
        self._forget(is_somebodys)
        return data

    def _forget(self, is_somebodys: bool) -> None:
        file, position, length = self._piece
        start, end, left = position, position + length, self.left
        if left is not None and left.file is file and left.position <= position <= left.position + left.length:
            start = left.position  # or the page in which one ends and the other begins would stay
        elif left is not None:
            left.drop_from_page_cache()
        if is_somebodys:
            end, self.left = position, None
        elif self._is_last:
            end, self.left = position, self._piece
        else:
            self.left = LogSlice(file, end - end % PAGE_BYTES, end % PAGE_BYTES)
        LogSlice(file, start, end - start).drop_from_page_cache()
