"""The index of aborted transactions, `.txnindex`: what a consumer of committed records must skip (KIP-98).

    position  size  field
           0     2  version = 0
           2     8  producer id
          10     8  first offset of the transaction
          18     8  last offset: that of its abort marker
          26     8  last stable offset when the marker was written

A transaction stands in the index of the segment that holds its marker; its first offset may lie in an
earlier one. Entries ascend by last offset. The last stable offset tells a reader when to stop: transactions
that end later than such an entry began at or after that offset, so if it reaches the end of the range they
cannot touch it.

Most segments have no aborted transaction, so the file is made when there is a first one. A look-up reads from the
first entry that may touch its range on.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct
from typing import NamedTuple

from strandline.log.filesystem import SMALL_FILE_BYTES_MAX, File, FileSystem
from strandline.model.failures import CorruptData, check

ENTRY = Struct(">hqqqq")
ENTRY_BYTES = ENTRY.size  # 34
CHUNK_BYTES = 256 * ENTRY_BYTES  # read at once; what fits one is not searched
VERSION = 0


class AbortedTransaction(NamedTuple):
    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


class AbortedIndex:
    __slots__ = (
        "_closed",
        "_file",
        "_filesystem",
        "_last_offset",
        "_opened",
        "_valid_bytes",
        "_writable",
        "base_offset",
        "is_checked",
        "path",
    )

    def __init__(self, filesystem: FileSystem, path: str, base_offset: int, *, writable: bool = True) -> None:
        """`writable=False` is for looking at files that are not ours."""
        self.path = path
        self.base_offset = base_offset
        self._filesystem = filesystem
        self._writable = writable
        self._closed = False
        self._forget()

    def _forget(self) -> None:
        self._file: File | None = None
        self._opened = False  # whether `_file` is None because there is no file
        self.is_checked = False  # the segment compares it with its batches before the first use
        self._valid_bytes = 0  # whole entries; a torn one behind them is overwritten by the next
        self._last_offset = -1

    def append(self, aborted: AbortedTransaction) -> None:
        file = self._existing() or self._create()
        if aborted.last_offset <= self._last_offset:
            raise CorruptData(
                f"{self.path}: last offset {aborted.last_offset} does not come after {self._last_offset}."
            )
        file.write(self._valid_bytes, ENTRY.pack(VERSION, *aborted))
        self._valid_bytes += ENTRY_BYTES
        self._last_offset = aborted.last_offset

    @property
    def is_empty(self) -> bool:
        return self._existing() is None or self._valid_bytes == 0

    def all(self) -> list[AbortedTransaction]:
        return list(self._read())

    def collect(self, fetch_offset: int, upper_bound_offset: int) -> tuple[list[AbortedTransaction], bool]:
        """The aborted transactions that overlap the range, its end excluded, and whether these are all: if
        not, the next segment's index may know more."""
        found = []
        for aborted in self._read(self._position_of(fetch_offset)):
            if aborted.last_offset >= fetch_offset and aborted.first_offset < upper_bound_offset:
                found.append(aborted)
            if aborted.last_stable_offset >= upper_bound_offset:
                return found, True
        return found, False

    def truncate_to(self, offset: int) -> None:
        """Drop the transactions that end at or after `offset`."""
        kept_bytes, last_offset = 0, -1
        for aborted in self._read():
            if aborted.last_offset >= offset:
                self._cut(kept_bytes, last_offset)
                return
            kept_bytes, last_offset = kept_bytes + ENTRY_BYTES, aborted.last_offset

    def clear(self) -> None:
        self._cut(0, -1)

    def sync(self) -> None:
        if self._file is not None:
            self._file.sync()

    def moved(self, path: str) -> None:
        """The file was renamed, if there is one."""
        self.path = path

    def close(self) -> None:
        file = self._file
        self._closed = True
        self._forget()
        if file is not None:
            file.close()

    def remove(self) -> None:
        self.close()
        if self._filesystem.exists(self.path):
            self._filesystem.remove(self.path)

    def sanity_check(self) -> None:
        for fault in self.check_all():
            raise CorruptData(f"{self.path}: {fault}.")

    def check_all(self) -> Iterator[str]:
        """Every fault, each a sentence without its full stop."""
        file = self._existing()
        if file is None:
            return
        if file.size() > SMALL_FILE_BYTES_MAX:
            yield f"{file.size()} bytes are more than a file of this kind can have"
            return
        if file.size() % ENTRY_BYTES:
            yield f"the file's {file.size()} bytes are not whole entries of {ENTRY_BYTES} bytes"
        previous = -1
        for number, (version, *fields) in enumerate(ENTRY.iter_unpack(file.read(0, self._valid_bytes))):
            aborted = AbortedTransaction(*fields)
            for fault in self._faults_of(version, aborted, previous):
                yield f"entry {number} {fault}"
            previous = aborted.last_offset

    def _faults_of(self, version: int, aborted: AbortedTransaction, previous_last_offset: int) -> Iterator[str]:
        if version != VERSION:
            yield f"has the unknown version {version}"
            return
        if aborted.last_offset < self.base_offset:
            yield f"has last offset {aborted.last_offset}, below the base, {self.base_offset}"
        if aborted.last_offset <= previous_last_offset:
            yield f"has last offset {aborted.last_offset}, which does not come after {previous_last_offset}"
        if not 0 <= aborted.first_offset < aborted.last_offset:
            yield f"goes from offset {aborted.first_offset} to {aborted.last_offset}"
        elif not 0 <= aborted.last_stable_offset <= aborted.last_offset + 1:
            yield f"has last stable offset {aborted.last_stable_offset} and ends at {aborted.last_offset}"

    def _position_of(self, offset: int) -> int:
        """Of the first entry that ends at or after `offset`."""
        file = self._existing()
        low, high = 0, self._valid_bytes // ENTRY_BYTES
        if file is None or self._valid_bytes <= CHUNK_BYTES:
            return 0
        while low < high:
            middle = (low + high) // 2
            entry = AbortedTransaction(*ENTRY.unpack(file.read(middle * ENTRY_BYTES, ENTRY_BYTES))[1:])
            low, high = (middle + 1, high) if entry.last_offset < offset else (low, middle)
        return low * ENTRY_BYTES

    def _read(self, position: int = 0) -> Iterator[AbortedTransaction]:
        file = self._existing()
        if file is None:
            return
        if self._valid_bytes > SMALL_FILE_BYTES_MAX:
            raise CorruptData(f"{self.path}: {self._valid_bytes} bytes are more than a file of this kind can have.")
        while position < self._valid_bytes:
            chunk = file.read(position, min(CHUNK_BYTES, self._valid_bytes - position))
            for version, *fields in ENTRY.iter_unpack(chunk):
                if version != VERSION:
                    raise CorruptData(f"{self.path}: an entry has the unknown version {version}.")
                yield AbortedTransaction(*fields)
            position += CHUNK_BYTES

    def _cut(self, valid_bytes: int, last_offset: int) -> None:
        file = self._existing()
        if file is not None:
            file.truncate(valid_bytes)
            self._valid_bytes, self._last_offset = valid_bytes, last_offset

    def _existing(self) -> File | None:
        if not self._opened:
            check(not self._closed, f"{self.path} is used after it was closed")
            if self._filesystem.exists(self.path):
                self._adopt(self._filesystem.open(self.path, writable=self._writable))
            self._opened = True
        return self._file

    def _create(self) -> File:
        check(self._writable, f"{self.path} was opened to be looked at only")
        self._file = self._filesystem.open(self.path, create=True)
        return self._file

    def _adopt(self, file: File) -> None:
        self._file = file
        self._valid_bytes = file.size() // ENTRY_BYTES * ENTRY_BYTES
        if self._valid_bytes:
            last_entry = file.read(self._valid_bytes - ENTRY_BYTES, ENTRY_BYTES)
            self._last_offset = AbortedTransaction(*ENTRY.unpack(last_entry)[1:]).last_offset
