"""The batches of a split, one after the other, with what is wrong with them.

Damage ends nothing. A batch whose CRC, counts or offsets are wrong is told of and stepped over. Where its very length
cannot be right, the scan goes on at the next place at which, by the offset index, a batch begins: a length that leads
beyond such a place is wrong. So what is found does not depend on where the splits were cut.

The end of an active segment that is being written may lie amid a batch. That is no damage, and the scan ends before it.
A file that was removed or replaced since the query was planned, as brokers do, is told of in a row of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

from strandline.log import names
from strandline.log.filesystem import File
from strandline.log.inspection import begins_batch
from strandline.log.inspection_fault import why_unreadable
from strandline.log.offset_index import OffsetIndex
from strandline.log.scan import read_batches
from strandline.model.failures import CorruptData
from strandline.records.batch import MAGIC_POSITION, MAGIC_V2, BatchHead, batch_crc, magic_of, read_head
from strandline.records.heads import verified_head_of
from strandline.spark.segment_planning import Place, Split, next_place

LEADS_TOO_FAR = "the batch has a length that leads beyond the beginning of another"


class Found(NamedTuple):
    """A batch, or bytes that should be one. Either `fault` is None, or it says what is wrong."""

    position: int
    size_bytes: int
    batch: memoryview | None = None  # shares a chunk that was read: use it before the next is asked for
    head: BatchHead | None = None  # None where even that cannot be read
    is_crc_right: bool | None = None  # None where there is nothing to compare
    fault: str | None = None


def scan(split: Split) -> Iterator[Found]:
    try:
        log = split.files.open_log()
    except OSError as error:
        yield _nothing_of(split, error)
        return
    try:
        if not split.files.is_active and log.size() != split.files.size_bytes:
            yield _unread(split, "the file was replaced since the query was planned, as compaction does; run it again")
            return
        yield from _SplitScan(split, log).run()
    except OSError as error:
        yield _unread(split, why_unreadable(error))
    finally:
        log.close()


def _nothing_of(split: Split, error: OSError) -> Found:
    if isinstance(error, FileNotFoundError):
        return _unread(split, "the file is gone since the query was planned, as retention does; its records are lost")
    return _unread(split, why_unreadable(error))


def _unread(split: Split, fault: str) -> Found:
    return Found(split.start, split.size_bytes, fault=fault)


class _SplitScan:
    def __init__(self, split: Split, log: File) -> None:
        self._split = split
        self._log = log
        self._position = split.start
        self._next_offset = split.first_offset

    def run(self) -> Iterator[Found]:
        while self._position < self._split.end:
            try:
                yield from self._whole_batches()
            except CorruptData as error:
                yield self._lost(str(error))

    def _whole_batches(self) -> Iterator[Found]:
        """Up to the first whose length is in doubt; behind it, another walk begins."""
        for position, batch in read_batches(self._log, self._position, self._split.end):
            found = judge(position, batch)
            if found.fault is not None and self._place_within(position, position + len(batch)) is not None:
                yield self._lost(LEADS_TOO_FAR)
                return
            if found.fault is None and found.head is not None:
                self._next_offset = max(self._next_offset, found.head.next_offset)
            self._position = position + len(batch)
            yield found
        if self._position < self._split.end:
            yield from self._cut_batch()

    def _cut_batch(self) -> Iterator[Found]:
        """The bytes up to the end are too few for the batch that begins there."""
        split, files = self._split, self._split.files
        if split.end < files.size_bytes or self._place_within(self._position, split.end) is not None:
            yield self._lost(LEADS_TOO_FAR)
        elif files.is_active and self._is_being_written():
            self._position = split.end
        else:
            yield self._lost("the bytes from here to the end of the file are no whole batch")

    def _lost(self, fault: str) -> Found:
        """From the position on nothing can be read up to the next place where a batch begins."""
        start, end = self._position, self._split.end
        resume = self._place_within(start, end)
        self._position = end if resume is None else resume
        return Found(start, self._position - start, fault=fault)

    def _place_within(self, position: int, end: int) -> int | None:
        if self._index is None:
            return None
        here = Place(position, self._next_offset, self._next_offset)
        place = next_place(self._split.files, self._log, self._index, here, 1)
        return None if place is None or place.position >= end else place.position

    @cached_property
    def _index(self) -> OffsetIndex | None:
        files = self._split.files
        return files.offset_index() if files.exists(names.OFFSET_INDEX) else None

    def _is_being_written(self) -> bool:
        start = self._log.read(self._position, MAGIC_POSITION + 1)
        return begins_batch(start, self._split.files.offsets_from(self._next_offset))


def judge(position: int, batch: memoryview) -> Found:
    try:
        head = verified_head_of(batch)
    except CorruptData as error:
        return Found(position, len(batch), batch, *_what_can_be_read(batch), str(error))
    return Found(position, len(batch), batch, head, True)


def _what_can_be_read(batch: memoryview) -> tuple[BatchHead | None, bool]:
    try:
        if magic_of(batch) == MAGIC_V2:
            head = read_head(batch)
            return head, head.crc == batch_crc(batch)
    except CorruptData:
        pass
    return None, False
