"""The largest timestamp and the end of a segment, read from its files without changing any.

A closed segment's time index ends with the entry of its largest timestamp. The last segment of a log that was not
closed has indexes that are preallocated: entries, then zeros. Its tail, from the last entry on, is read from the log.
Wherever an index does not make sense, the heads of all batches are read instead.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

from strandline.log import names, offset_index, time_index
from strandline.log.filesystem import File, FileSystem, read_whole
from strandline.log.scan import find_batch, scan_heads
from strandline.model.failures import CorruptData
from strandline.records.batch import NO_TIMESTAMP


class Tail(NamedTuple):
    end_offset: int
    max_timestamp: int


class StoredTimestamps:
    def __init__(self, filesystem: FileSystem, path: str, base_offset: int, size_bytes: int, *, is_last: bool) -> None:
        self.filesystem = filesystem
        self.path = path  # of the `.log` file
        self.base_offset = base_offset
        self.size_bytes = size_bytes
        self.is_last = is_last

    @cached_property
    def max_timestamp(self) -> int:
        entry = None if self.is_last else self._last_entry_of_closed()
        return self.tail.max_timestamp if entry is None else entry

    @cached_property
    def first_timestamp(self) -> int:
        file = self.filesystem.open(self.path, writable=False)
        try:
            for _, head in scan_heads(file, 0, self.size_bytes):
                return head.max_timestamp
        except CorruptData:
            pass  # whoever reads the records will say so
        finally:
            file.close()
        return NO_TIMESTAMP

    @cached_property
    def tail(self) -> Tail:
        file = self.filesystem.open(self.path, writable=False)
        try:
            return self._read_tail(file)
        finally:
            file.close()

    def _last_entry_of_closed(self) -> int | None:
        path = self._index_path(names.TIME_INDEX)
        if not self.filesystem.exists(path):
            return None
        file = self.filesystem.open(path, writable=False)
        try:
            size = file.size()
            if size == 0 or size % time_index.ENTRY_BYTES:
                return None
            timestamp, _ = time_index.ENTRY.unpack(file.read(size - time_index.ENTRY_BYTES, time_index.ENTRY_BYTES))
        finally:
            file.close()
        return int(timestamp) if timestamp > 0 else None

    def _read_tail(self, file: File) -> Tail:
        position, max_timestamp = self._start_of_tail(file)
        end_offset = self.base_offset
        try:
            for _, head in scan_heads(file, position, self.size_bytes):
                end_offset = head.next_offset
                max_timestamp = max(max_timestamp, head.max_timestamp)
        except CorruptData:
            pass  # the log ends here, as recovery will find
        return Tail(end_offset, max_timestamp)

    def _start_of_tail(self, file: File) -> tuple[int, int]:
        """From which position on to read, and the largest timestamp before it."""
        offset_entry = self._last_nonzero(names.OFFSET_INDEX, offset_index.ENTRY_BYTES)
        time_entry = self._last_nonzero(names.TIME_INDEX, time_index.ENTRY_BYTES)
        if offset_entry is None or time_entry is None:
            return 0, NO_TIMESTAMP
        relative_offset, position = offset_index.ENTRY.unpack(offset_entry)
        offset = self.base_offset + relative_offset
        try:
            found = find_batch(file, position, self.size_bytes, offset, expected=range(self.base_offset, offset + 1))
        except CorruptData:
            found = None
        timestamp, _ = time_index.ENTRY.unpack(time_entry)
        if found is None or found[0] != position or timestamp <= 0:
            return 0, NO_TIMESTAMP
        return position, timestamp

    def _last_nonzero(self, kind: str, entry_bytes: int) -> bytes | None:
        path = self._index_path(kind)
        if not self.filesystem.exists(path):
            return None
        try:
            data = read_whole(self.filesystem, path)
        except CorruptData:
            return None
        count = -(-len(data.rstrip(b"\0")) // entry_bytes)
        entry = data[(count - 1) * entry_bytes : count * entry_bytes] if count else b""
        return entry if len(entry) == entry_bytes else None

    def _index_path(self, kind: str) -> str:
        return self.path.removesuffix(names.LOG) + kind
