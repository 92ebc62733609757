"""A file of fixed-size ascending entries, memory-mapped: what the offset index and the time index share.

The index of the segment being written is preallocated: its file is as long as `segment.index.bytes` allows,
a sparse hole, and how many entries are valid is known in memory only. `trim` cuts it to the valid entries
when the segment is rolled or closed cleanly, so a file found on disk is taken to be full of entries. After
a crash that is not so: the rest is zeros, or entries of a truncated past. `sanity_check` sees most of it,
and recovery rebuilds the index from the log (SPEC L7). Nothing is checksummed, because everything can be
rebuilt.

A store into a hole needs room on the disk, and where there is none the process is killed without a word. So the
hole is given its place a piece at a time, just ahead of the entries: a full disk is then an `OSError` like any.

No file is touched before the first use, so that a log of many segments opens quickly. Nothing is unmapped
by hand: a mapping ends with its last reference. An index belongs to one thread.

Searches try the last 8 KiB first. Nearly all of them end there, and a plain binary search would each time
touch pages in the middle of the file that are otherwise cold, and wait for the disk (KAFKA-6432).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from struct import Struct
from typing import Any, ClassVar

from strandline.log.filesystem import File, FileSystem, MappedBytes, read_whole
from strandline.model.failures import CorruptData, check

DEFAULT_MAX_BYTES = 10 * 2**20
WARM_BYTES = 8192
RESERVED_BYTES = 4096
RELATIVE_OFFSET_MAX = 2**31 - 1

NOTHING_MAPPED = bytearray()  # known by identity: the mapping of an index that is not open
NumberedEntries = Iterable[tuple[int, tuple[int, int]]]


class MappedIndex(ABC):
    __slots__ = (
        "_capacity",
        "_closed",
        "_count",
        "_file",
        "_file_bytes",
        "_filesystem",
        "_mapped",
        "_reserved",
        "_writable",
        "base_offset",
        "max_bytes",
        "path",
    )

    ENTRY: ClassVar[Struct]

    def __init__(
        self,
        filesystem: FileSystem,
        path: str,
        base_offset: int,
        max_bytes: int = DEFAULT_MAX_BYTES,
        *,
        writable: bool = True,
    ) -> None:
        """`writable=False` is for looking at files that are not ours: it creates and changes nothing."""
        self.path = path
        self.base_offset = base_offset
        self.max_bytes = max_bytes
        self._filesystem = filesystem
        self._writable = writable
        self._closed = False
        self._forget()

    def _forget(self) -> None:
        self._file: File | None = None
        self._mapped: MappedBytes = NOTHING_MAPPED
        self._file_bytes = 0
        self._capacity = 0  # no slot is free before the file is open: so the first append comes to open it
        self._count = 0
        self._reserved = 0  # entries from the last one up to here can be stored without fear
        self._remember_last()

    @property
    def entry_count(self) -> int:
        self._bytes()
        return self._count

    @property
    def is_full(self) -> bool:
        return self.entries_left <= 0

    @property
    def entries_left(self) -> int:
        self._bytes()
        return self._capacity - self._count

    def can_append_offset(self, offset: int) -> bool:
        return 0 <= offset - self.base_offset <= RELATIVE_OFFSET_MAX

    def clear(self) -> None:
        self._bytes()
        self._keep(0)

    def prepare_for_append(self, max_bytes: int) -> None:
        """Make room up to `max_bytes` in an index that may have been trimmed. Its entries stay."""
        self.max_bytes = max_bytes
        self._bytes()
        self._resize(max(self._whole_entries(max_bytes), self._valid_bytes))

    def forget_zeros(self) -> None:
        """Of an index that is only looked at: take the zeros at its end for what they are, room for entries."""
        check(not self._writable, f"{self.path} is open for writing and knows its entries")
        filled_bytes = len(bytes(self._bytes()[:]).rstrip(b"\0"))
        self._keep(min(self._count, -(-filled_bytes // self.ENTRY.size)))

    def trim(self) -> None:
        self._bytes()
        self._resize(self._valid_bytes)

    def sync(self) -> None:
        if self._mapped is not NOTHING_MAPPED and self._writable:
            file = self._file or self._filesystem.open(self.path)
            try:
                file.sync()
            finally:
                if file is not self._file:
                    file.close()

    def moved(self, path: str) -> None:
        """The file was renamed."""
        self.path = path

    def close(self, *, trim: bool = True) -> None:
        """`trim=False` leaves the file alone: its disk has failed, or it is about to be removed."""
        try:
            if trim and self._file is not None:
                self._resize(self._valid_bytes)
        finally:
            self._closed = True
            self._let_go_of_file()
            self._forget()

    def _check_probes(self, faults_among: Callable[[NumberedEntries], Iterator[str]]) -> None:
        """First, middle and last entry only: opening many segments must not read all their indexes."""
        self._bytes()
        probes = sorted({0, self._count // 2, self._count - 1}) if self._count else []
        entries = [(slot, self.ENTRY.unpack_from(self._mapped, slot * self.ENTRY.size)) for slot in probes]
        for fault in (*self._length_faults(), *faults_among(entries)):
            raise CorruptData(f"{self.path}: {fault}.")

    def _every_fault(self, faults_among: Callable[[NumberedEntries], Iterator[str]]) -> Iterator[str]:
        self._bytes()
        yield from self._length_faults()
        yield from faults_among(enumerate(self._stored_entries()))

    def _length_faults(self) -> Iterator[str]:
        if self._file_bytes % self.ENTRY.size != 0:
            yield f"the file's {self._file_bytes} bytes are not whole entries of {self.ENTRY.size} bytes"

    def _stored_entries(self) -> Iterator[tuple[Any, ...]]:
        self._bytes()
        return self.ENTRY.iter_unpack(bytes(self._mapped[: self._valid_bytes]))  # a copy, not a view

    def _count_at_or_below(self, field: Struct, target: int) -> int:
        """How many entries have a `field` of at most `target`; they are the first ones."""
        mapped = self._mapped
        if mapped is NOTHING_MAPPED:
            mapped = self._bytes()
        unpack_from, entry_bytes = field.unpack_from, self.ENTRY.size
        low, high = 0, self._count
        warm = high - WARM_BYTES // entry_bytes
        if warm > 0:
            if unpack_from(mapped, warm * entry_bytes)[0] <= target:
                low = warm + 1
            else:
                high = warm
        while low < high:
            middle = (low + high) >> 1
            if unpack_from(mapped, middle * entry_bytes)[0] <= target:
                low = middle + 1
            else:
                high = middle
        return low

    def _reserve(self, slot: int) -> None:
        """Room on the disk for the entry at `slot` and some more."""
        start = slot * self.ENTRY.size
        length = min(RESERVED_BYTES, self._file_bytes - start)
        file = self._file or self._filesystem.open(self.path)
        try:
            file.reserve(start, length)
        finally:
            if file is not self._file:
                file.close()
        self._reserved = (start + length) // self.ENTRY.size

    def _keep(self, count: int) -> None:
        self._count = count
        self._reserved = 0
        self._remember_last()

    @abstractmethod
    def _remember_last(self) -> None:
        """Called whenever the last entry has become another one."""

    @property
    def _valid_bytes(self) -> int:
        return self._count * self.ENTRY.size

    def _whole_entries(self, size_bytes: int) -> int:
        return size_bytes - size_bytes % self.ENTRY.size

    def _bytes(self) -> MappedBytes:
        if self._mapped is not NOTHING_MAPPED:
            return self._mapped
        check(not self._closed, f"{self.path} is used after it was closed")
        return self._open() if self._writable else self._look()

    def _open(self) -> MappedBytes:
        is_new = not self._filesystem.exists(self.path)
        self._file = self._filesystem.open(self.path, create=is_new)
        try:
            if is_new:
                self._file.truncate(self._whole_entries(self.max_bytes))
            mapped = self._adopt(self._file, self._file.size())
        except BaseException:
            self._let_go_of_file()
            raise
        self._keep(0 if is_new else self._capacity)
        if not is_new:
            self._let_go_of_file()
        return mapped

    def _let_go_of_file(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _look(self) -> MappedBytes:
        data = read_whole(self._filesystem, self.path) if self._filesystem.exists(self.path) else b""
        self._mapped = bytearray(data)
        self._file_bytes = len(data)
        self._capacity = len(data) // self.ENTRY.size
        self._keep(self._capacity)
        return self._mapped

    def _resize(self, file_bytes: int) -> None:
        check(self._writable, f"{self.path} was opened to be looked at only")
        if file_bytes == self._file_bytes:
            return
        file = self._file = self._file or self._filesystem.open(self.path)
        self._mapped = NOTHING_MAPPED  # not every file can be resized while it is mapped
        try:
            file.truncate(file_bytes)
        finally:
            self._adopt(file, file.size())
            if self._file_bytes == self._valid_bytes:
                self._let_go_of_file()

    def _adopt(self, file: File, file_bytes: int) -> MappedBytes:
        # Nothing can be mapped of an empty file.
        self._mapped = file.map(file_bytes) if file_bytes else bytearray()
        self._file_bytes = file_bytes
        self._capacity = file_bytes // self.ENTRY.size
        self._reserved = 0
        return self._mapped
