"""Everything that can be verified in one segment, one fault at a time (SPEC L11).

Batches: lengths, CRCs, offsets that ascend within the segment's range, records that fill their batch and ascend.
The indexes are walked beside them (`inspection_indexes`).
"""

from __future__ import annotations

from collections.abc import Generator, Iterator

from strandline.log import names
from strandline.log.filesystem import File
from strandline.log.inspection import OFFSET_MAX, Advance, SegmentFiles, what_is_left
from strandline.log.inspection_fault import Fault, Tally, readable
from strandline.log.inspection_indexes import AbortedIndexWalk, OffsetIndexWalk, TimeIndexWalk
from strandline.log.mapped_index import RELATIVE_OFFSET_MAX
from strandline.log.scan import read_batches
from strandline.model.failures import CorruptData
from strandline.records.batch import MAGIC_V2, BatchHead
from strandline.records.heads import verified_head_of
from strandline.records.legacy import read_checked_records
from strandline.records.record import records_section
from strandline.records.walk import COLUMNS, OFFSET_DELTA, walk_records


class SegmentCheck:
    """Walk a segment once. Afterwards `next_offset` tells where it ends, `epochs` who wrote it."""

    def __init__(self, files: SegmentFiles, tally: Tally, advance: Advance) -> None:
        self.files = files
        self.tally = tally
        self.advance = advance
        self.next_offset = files.base_offset
        self.is_read = False  # whether the walk came to the end, or to damage behind which nothing can be read
        self.doubtful_ends = range(0)  # where the log ends instead, if the last batch's leap in offsets is damage
        self.has_gaps = False
        self.epochs: list[tuple[int, int, int]] = []  # (epoch, base offset, position) where the epoch changes
        self.offset_walk = OffsetIndexWalk(files)
        self.time_walk = TimeIndexWalk(files)
        self.aborted_walk = AbortedIndexWalk(files)

    def faults(self) -> Iterator[Fault]:
        return readable(self.files.path(names.LOG), self._faults())

    def _faults(self) -> Iterator[Fault]:
        self.tally.segments += 1
        self.tally.files += 1
        walks = (self.offset_walk, self.time_walk, self.aborted_walk)
        for walk in walks:
            path = self.files.path(walk.suffix)
            if self.files.exists(walk.suffix):
                self.tally.files += 1
                yield from readable(path, (Fault(path, None, sentence) for sentence in walk.open()))
            elif walk.suffix != names.ABORTED_INDEX:
                yield Fault(path, None, "the index is missing; a broker makes it anew when it needs it")
        is_whole = yield from self._walk_log()
        self.is_read = True
        for walk in walks if is_whole else ():
            for sentence in walk.finish(self.next_offset):
                yield Fault(self.files.path(walk.suffix), None, sentence)

    def _walk_log(self) -> Generator[Fault, None, bool]:
        """Whether the end was reached, so that index entries behind it are wrong ones."""
        log, path = self.files.open_log(), self.files.path(names.LOG)
        valid_bytes, size_bytes = 0, self.files.size_bytes
        self.tally.bytes += size_bytes
        try:
            for position, batch in read_batches(log, 0, size_bytes):
                self.tally.batches += 1
                self.advance(len(batch))
                yield from self._take(position, batch)
                valid_bytes = position + len(batch)
            left_over = what_is_left(log, valid_bytes, size_bytes, self.files.offsets_from(self.next_offset))
            if left_over is not None:
                yield Fault(path, valid_bytes, f"{left_over}; recovery cuts them off")
        except CorruptData as error:
            unread = size_bytes - valid_bytes
            yield Fault(path, valid_bytes, f"{error}; the {unread} bytes from here on cannot be read")
            return False
        finally:
            log.close()
        return True

    def _take(self, position: int, batch: memoryview) -> Iterator[Fault]:
        path = self.files.path(names.LOG)
        try:
            head = verified_head_of(batch)
        except CorruptData as error:
            yield Fault(path, position, str(error))
            self.offset_walk.skip(position)
            return
        self.tally.records += head.record_count
        for sentence in (*self._order_faults(head), *record_faults(head, batch)):
            yield Fault(path, position, sentence)
        self._note_offsets(head)
        if head.magic >= MAGIC_V2 and (not self.epochs or self.epochs[-1][0] != head.leader_epoch):
            self.epochs.append((head.leader_epoch, head.base_offset, position))
        for walk in (self.offset_walk, self.time_walk, self.aborted_walk):
            for sentence in walk.take(position, head, batch):
                yield Fault(self.files.path(walk.suffix), None, sentence)

    def _note_offsets(self, head: BatchHead) -> None:
        is_leap = head.base_offset > self.next_offset
        without_leap = self.next_offset + head.last_offset_delta + 1
        is_doubtful = is_leap and not self.has_gaps
        self.doubtful_ends = range(self.next_offset + 1, min(without_leap, head.base_offset) + 1 if is_doubtful else 0)
        self.has_gaps = self.has_gaps or is_leap
        self.next_offset = max(self.next_offset, head.next_offset)

    def _order_faults(self, head: BatchHead) -> Iterator[str]:
        limit = self.files.next_base_offset
        if head.base_offset < self.files.base_offset:
            yield f"offset {head.base_offset} lies below the segment's base offset {self.files.base_offset}"
        elif head.base_offset < self.next_offset:
            yield f"offset {head.base_offset} comes after offset {self.next_offset - 1}"
        elif limit is not None and head.last_offset >= limit:
            yield f"offset {head.last_offset} belongs to the next segment, which begins at {limit}"
        elif head.last_offset - self.files.base_offset > RELATIVE_OFFSET_MAX:
            yield f"offset {head.last_offset} is too far from the segment's base offset for its indexes"


def check_batches(file: File, size_bytes: int, tally: Tally) -> Iterator[tuple[int, str]]:
    """Position and sentence of each fault in a file of batches that has no indexes: a snapshot of KRaft's."""
    valid_bytes = 0
    tally.bytes += size_bytes
    try:
        for position, batch in read_batches(file, 0, size_bytes):
            valid_bytes = position + len(batch)
            tally.batches += 1
            try:
                head = verified_head_of(batch)
            except CorruptData as error:
                yield position, str(error)
                continue
            tally.records += head.record_count
            for sentence in record_faults(head, batch):
                yield position, sentence
    except CorruptData as error:
        yield valid_bytes, str(error)
        return
    left_over = what_is_left(file, valid_bytes, size_bytes, range(OFFSET_MAX))
    if left_over is not None:
        yield valid_bytes, left_over


def record_faults(head: BatchHead, batch: memoryview) -> Iterator[str]:
    """What is wrong among the records of a batch whose CRC holds."""
    try:
        if head.magic < MAGIC_V2:
            for checked in read_checked_records(batch):
                if not checked.is_valid:
                    yield f"CRC of the message at offset {checked.record.offset} does not match its bytes"
            return
        deltas = walk_records(records_section(batch), head.record_count)[OFFSET_DELTA::COLUMNS]
    except CorruptData as error:
        yield f"batch at offset {head.base_offset}: {error}"
        return
    previous = -1
    for delta in deltas:
        if not previous < delta <= head.last_offset_delta:
            yield (
                f"batch at offset {head.base_offset} has a record at offset {head.base_offset + delta} out of its place"
            )
            return
        previous = delta
