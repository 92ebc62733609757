"""The offset index, `.index`: which byte of the `.log` file to start reading at for an offset (SPEC L4).

    position  size  field
           0     4  offset, relative to the segment's base offset
           4     4  position of its batch in the .log file

Entries ascend in both fields. One is written each `index.interval.bytes` of log, so a lookup gives a batch
at or a little before the offset asked for, and a short scan of the log goes the rest of the way. Kafka
indexes a batch by its last offset.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from struct import Struct
from typing import ClassVar

from strandline.log.mapped_index import RELATIVE_OFFSET_MAX, MappedIndex, NumberedEntries
from strandline.model.failures import CorruptData, check

ENTRY = Struct(">ii")
ENTRY_BYTES = ENTRY.size  # 8
TWO_ENTRIES = Struct(">iiii")
RELATIVE_OFFSET = Struct(">i")
POSITION = Struct(">4xi")

write_entry = ENTRY.pack_into
read_entry = ENTRY.unpack_from
read_two_entries = TWO_ENTRIES.unpack_from


class OffsetIndex(MappedIndex):
    __slots__ = ("_last_relative_offset",)

    ENTRY: ClassVar[Struct] = ENTRY
    _last_relative_offset: int  # -1 if there is no entry

    @property
    def last_offset(self) -> int:
        """The base offset if there is no entry."""
        self._bytes()
        return self.base_offset + self._last_relative_offset if self._count else self.base_offset

    def append(self, offset: int, position: int) -> None:
        """`position` must fit 31 bits, as segments do."""
        relative_offset, slot = offset - self.base_offset, self._count
        if slot >= self._reserved or not self._last_relative_offset < relative_offset <= RELATIVE_OFFSET_MAX:
            slot = self._slot_to_append(offset)
        write_entry(self._mapped, slot * ENTRY_BYTES, relative_offset, position)
        self._last_relative_offset = relative_offset
        self._count = slot + 1

    def _slot_to_append(self, offset: int) -> int:
        """The way round for the first append, which opens the file, for the first of a piece of it, and for the ones
        that cannot be."""
        self._bytes()
        check(self.can_append_offset(offset), f"{self.path} cannot hold offset {offset} in 31 bits")
        if offset - self.base_offset <= self._last_relative_offset:
            raise CorruptData(f"{self.path}: offset {offset} does not come after {self.last_offset}.")
        check(self._count < self._capacity, f"{self.path} is full with {self._count} entries")
        self._reserve(self._count)
        return self._count

    def lookup(self, offset: int) -> tuple[int, int]:
        """Offset and position of the last entry at or before `offset`, or the segment's start."""
        count = self._count_at_or_below(RELATIVE_OFFSET, offset - self.base_offset)
        if count == 0:
            return self.base_offset, 0
        relative_offset, position = read_entry(self._mapped, (count - 1) * ENTRY_BYTES)
        return self.base_offset + relative_offset, position

    def lookup_around(self, offset: int) -> tuple[int, int, int, int]:
        """As `lookup`, then the same of the entry after it; where there are not both, what is found twice."""
        count = self._count_at_or_below(RELATIVE_OFFSET, offset - self.base_offset)
        if not 0 < count < self._count:
            return self.lookup(offset) * 2
        relative_offset, position, next_offset, next_position = read_two_entries(
            self._mapped, (count - 1) * ENTRY_BYTES
        )
        return self.base_offset + relative_offset, position, self.base_offset + next_offset, next_position

    def lookup_upper_bound(self, start_position: int, length: int) -> tuple[int, int] | None:
        """Offset and position of the first entry at or after the end of a slice of the log: an offset that
        surely lies beyond the slice, though rarely the lowest such."""
        slot = self._count_at_or_below(POSITION, start_position + length - 1)
        return self.entry(slot) if slot < self._count else None

    def entry(self, slot: int) -> tuple[int, int]:
        mapped = self._bytes()
        check(0 <= slot < self._count, f"{self.path} has no entry {slot} among {self._count}")
        relative_offset, position = read_entry(mapped, slot * ENTRY_BYTES)
        return self.base_offset + relative_offset, position

    def entries(self) -> Iterator[tuple[int, int]]:
        for relative_offset, position in self._stored_entries():
            yield self.base_offset + relative_offset, position

    def truncate_to(self, offset: int) -> None:
        """Drop the entries at or after `offset`."""
        self._keep(self._count_at_or_below(RELATIVE_OFFSET, offset - self.base_offset - 1))

    def sanity_check(self, log_size: int) -> None:
        self._check_probes(partial(self._faults_among, log_size=log_size))

    def check_all(self, log_size: int) -> Iterator[str]:
        """Every fault, each a sentence without its full stop."""
        return self._every_fault(partial(self._faults_among, log_size=log_size))

    def _faults_among(self, entries: NumberedEntries, log_size: int) -> Iterator[str]:
        previous_offset, previous_position = -1, -1
        for slot, (relative_offset, position) in entries:
            if relative_offset < 0:
                yield f"entry {slot} has an offset {-relative_offset} below the base, {self.base_offset}"
            elif relative_offset <= previous_offset:
                yield (
                    f"entry {slot} has offset {self.base_offset + relative_offset}, "
                    f"which does not come after {self.base_offset + previous_offset}"
                )
            if not 0 <= position < log_size:
                yield f"entry {slot} has position {position}, outside the log of {log_size} bytes"
            elif position <= previous_position:
                yield f"entry {slot} has position {position}, which does not come after {previous_position}"
            previous_offset, previous_position = relative_offset, position

    def _remember_last(self) -> None:
        self._last_relative_offset = -1
        if self._count:
            self._last_relative_offset = RELATIVE_OFFSET.unpack_from(self._mapped, self._valid_bytes - ENTRY_BYTES)[0]
