"""Batches on their way into the file."""

from __future__ import annotations

from strandline.log.filesystem import Buffer


class Pending:
    """Batches that have their offsets but are not yet in the file: written together."""

    __slots__ = ("buffers", "notes", "size_bytes")

    def __init__(self) -> None:
        self.buffers: list[Buffer] = []
        self.notes: list[tuple[int, int, int]] = []  # size, last offset, max timestamp of each
        self.size_bytes = 0

    def clear(self) -> None:
        self.buffers.clear()
        self.notes.clear()
        self.size_bytes = 0
