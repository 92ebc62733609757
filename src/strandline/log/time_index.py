"""The time index, `.timeindex`: from which offset on to look for a timestamp (SPEC L5, KIP-33).

    position  size  field
           0     8  timestamp, milliseconds since 1970
           8     4  offset, relative to the segment's base offset

An entry (t, o) says that every record later than t comes after o. In the log itself time may stand still or
run back; an entry is written only when the greatest timestamp so far has grown, so timestamps ascend. One
slot is kept free for the entry that comes last, when the segment is rolled: the greatest timestamp of all
its records.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct
from typing import ClassVar

from strandline.log.mapped_index import RELATIVE_OFFSET_MAX, MappedIndex, NumberedEntries
from strandline.model.failures import CorruptData, check
from strandline.records.batch import NO_TIMESTAMP

ENTRY = Struct(">qi")
ENTRY_BYTES = ENTRY.size  # 12
TIMESTAMP = Struct(">q")
RELATIVE_OFFSET = Struct(">8xi")

write_entry = ENTRY.pack_into


class TimeIndex(MappedIndex):
    __slots__ = ("_last_entry",)

    ENTRY: ClassVar[Struct] = ENTRY
    _last_entry: tuple[int, int]

    @property
    def entries_left(self) -> int:
        """One less than there are: the last is kept for the roll."""
        self._bytes()
        return self._capacity - 1 - self._count

    @property
    def last_entry(self) -> tuple[int, int]:
        """Timestamp and offset; (-1, base offset) if there is no entry."""
        self._bytes()
        return self._last_entry

    def maybe_append(self, timestamp: int, offset: int, *, skip_full_check: bool = False) -> None:
        """Does nothing if `timestamp` is the last entry's or the index is full: it may miss an entry.
        `skip_full_check` gives away the slot that is kept for the roll."""
        slot = self._count
        if slot >= self._capacity - 1:
            if not self._has_room(skip_full_check):
                return
            slot = self._count
        last_timestamp, last_offset = self._last_entry
        relative_offset = offset - self.base_offset
        if timestamp > last_timestamp and last_offset <= offset and relative_offset <= RELATIVE_OFFSET_MAX:
            if slot >= self._reserved:
                self._reserve(slot)
            write_entry(self._mapped, slot * ENTRY_BYTES, timestamp, relative_offset)
            self._last_entry = (timestamp, offset)
            self._count = slot + 1
        elif (slot and (timestamp != last_timestamp or offset != last_offset)) or timestamp > last_timestamp:
            self._explain(timestamp, offset)

    def _has_room(self, skip_full_check: bool) -> bool:
        self._bytes()
        return self._count < (self._capacity if skip_full_check else self._capacity - 1)

    def _explain(self, timestamp: int, offset: int) -> None:
        """Why an entry was not written, unless it is because it would be the last one again."""
        last_timestamp, last_offset = self._last_entry
        check(self.can_append_offset(offset), f"{self.path} cannot hold offset {offset} in 31 bits")
        if offset < last_offset:
            raise CorruptData(f"{self.path}: offset {offset} comes before {last_offset}, the last one.")
        check(timestamp >= last_timestamp, f"{self.path}: timestamp {timestamp} is below {last_timestamp}")

    def lookup(self, timestamp: int) -> tuple[int, int]:
        """Timestamp and offset of the last entry that is not later than `timestamp`, or (-1, base offset)."""
        count = self._count_at_or_below(TIMESTAMP, timestamp)
        return self.entry(count - 1) if count else (NO_TIMESTAMP, self.base_offset)

    def entry(self, slot: int) -> tuple[int, int]:
        mapped = self._bytes()
        check(0 <= slot < self._count, f"{self.path} has no entry {slot} among {self._count}")
        timestamp, relative_offset = ENTRY.unpack_from(mapped, slot * ENTRY_BYTES)
        return timestamp, self.base_offset + relative_offset

    def entries(self) -> Iterator[tuple[int, int]]:
        for timestamp, relative_offset in self._stored_entries():
            yield timestamp, self.base_offset + relative_offset

    def truncate_to(self, offset: int) -> None:
        """Drop the entries at or after `offset`."""
        self._keep(self._count_at_or_below(RELATIVE_OFFSET, offset - self.base_offset - 1))

    def sanity_check(self) -> None:
        self._check_probes(self._faults_among)

    def check_all(self) -> Iterator[str]:
        """Every fault, each a sentence without its full stop."""
        return self._every_fault(self._faults_among)

    def _faults_among(self, entries: NumberedEntries) -> Iterator[str]:
        previous_timestamp, previous_offset = NO_TIMESTAMP, 0
        for slot, (timestamp, relative_offset) in entries:
            if timestamp <= previous_timestamp:
                yield f"entry {slot} has timestamp {timestamp}, which is not above {previous_timestamp}"
            if relative_offset < 0:
                yield f"entry {slot} has an offset {-relative_offset} below the base, {self.base_offset}"
            elif relative_offset < previous_offset:
                yield (
                    f"entry {slot} has offset {self.base_offset + relative_offset}, "
                    f"which comes before {self.base_offset + previous_offset}"
                )
            previous_timestamp, previous_offset = timestamp, relative_offset

    def _remember_last(self) -> None:
        self._last_entry = self.entry(self._count - 1) if self._count else (NO_TIMESTAMP, self.base_offset)
