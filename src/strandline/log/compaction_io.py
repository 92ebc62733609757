"""How compaction reads and writes: in large pieces, each of them reported to the throttle."""

from __future__ import annotations

from collections.abc import Callable

from strandline.log.aborted_index import AbortedTransaction
from strandline.log.compaction_filter import KeptBatch
from strandline.log.filesystem import File
from strandline.log.segment import Segment


class WatchedFile:
    """As much of a `File` as a walk needs, with its reads reported."""

    def __init__(self, file: File, note_read: Callable[[int, int], None]) -> None:
        self._file = file
        self._note_read = note_read

    def read(self, position: int, length: int) -> bytes:
        data = self._file.read(position, length)
        self._note_read(position, len(data))
        return data


class CleanedSegmentWriter:
    """Gathers batches to write many in one go. They are copied: a view would keep all of its chunk in memory."""

    def __init__(self, segment: Segment, buffer_bytes: int, throttle: Callable[[int], None]) -> None:
        self._segment = segment
        self._buffer_bytes = buffer_bytes
        self._throttle = throttle
        self._buffer = bytearray()
        self._notes: list[tuple[int, int, int]] = []
        self.record_count = 0

    def add(self, kept: KeptBatch) -> None:
        self._buffer += kept.data
        self._notes.append((len(kept.data), kept.last_offset, kept.max_timestamp))
        self.record_count += kept.record_count
        if len(self._buffer) >= self._buffer_bytes:
            self._write()

    def _write(self) -> None:
        if self._notes:
            self._segment.append([self._buffer], self._notes)
            self._throttle(len(self._buffer))
            self._buffer.clear()
            self._notes.clear()

    def close(self, aborted: list[AbortedTransaction]) -> None:
        """Everything on the disk, and no handle left open: a log may have thousands of segments."""
        self._write()
        segment = self._segment
        for transaction in aborted:
            segment.aborted.append(transaction)
        segment.finish()
        segment.sync()
        segment.forget()
