"""How compaction reads and writes: in large pieces, each of them reported to the throttle."""

from __future__ import annotations

from collections.abc import Callable

from strandline.log.aborted_index import AbortedTransaction
from strandline.log.compaction_filter import KeptBatch
from strandline.log.filesystem import File
from strandline.log.segment import Segment


class WatchedFile:
    """As much of a `File` as a walk needs, with its reads reported."""

    def __init__(self, file: File, note_read: Callable[[int], None]) -> None:
        self._file = file
        self._note_read = note_read

    def read(self, position: int, length: int) -> bytes:
        data = self._file.read(position, length)
        self._note_read(len(data))
        return data


class CleanedSegmentWriter:
    """Gathers batches to write many in one go."""

    def __init__(self, segment: Segment, buffer_bytes: int, throttle: Callable[[int], None]) -> None:
        self._segment = segment
        self._buffer_bytes = buffer_bytes
        self._throttle = throttle
        self._batches: list[KeptBatch] = []
        self._size_bytes = 0
        self.record_count = 0

    def add(self, kept: KeptBatch) -> None:
        self._batches.append(kept)
        self._size_bytes += len(kept.data)
        self.record_count += kept.record_count
        if self._size_bytes >= self._buffer_bytes:
            self._write()

    def _write(self) -> None:
        if self._batches:
            notes = [(len(kept.data), kept.last_offset, kept.max_timestamp) for kept in self._batches]
            self._segment.append([kept.data for kept in self._batches], notes)
            self._throttle(self._size_bytes)
            self._batches.clear()
            self._size_bytes = 0

    def close(self, aborted: list[AbortedTransaction]) -> None:
        """Everything on the disk, and no handle left open: a log may have thousands of segments."""
        self._write()
        segment = self._segment
        for transaction in aborted:
            segment.aborted.append(transaction)
        segment.finish()
        segment.file.sync()
        segment.offset_index.sync()
        segment.time_index.sync()
        segment.aborted.sync()
        segment.forget()
