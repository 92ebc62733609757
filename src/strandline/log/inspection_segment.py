"""Everything that can be verified in one segment, one fault at a time (SPEC L11).

Batches: lengths, CRCs, offsets that ascend within the segment's range, records that fill their batch and ascend.

Offset index: an entry (offset, position) is sound if a batch begins at the position, the offset is the last of that
batch or of one after it, and entries ascend. Not always of that very batch: Kafka's followers and its cleaner write
several batches at once and index the last offset of all at the position of the first. A look-up still finds
everything, for it scans forward.

Time index: an entry (timestamp, offset) is sound if the offset lies in a batch and no batch up to there is later than
the timestamp, while one has it. The last entry of a closed segment tells its greatest timestamp, by which retention
judges.

Aborted transactions: each has its abort marker in this segment, and each that begins and is aborted here has its entry.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterator

from strandline.log import names
from strandline.log.aborted_index import AbortedTransaction
from strandline.log.filesystem import File
from strandline.log.inspection import OFFSET_MAX, Advance, SegmentFiles, what_is_left
from strandline.log.inspection_fault import Fault, Tally, readable
from strandline.log.mapped_index import RELATIVE_OFFSET_MAX
from strandline.log.scan import read_batches
from strandline.model.failures import CorruptData
from strandline.records.batch import MAGIC_V2, NO_TIMESTAMP, BatchHead
from strandline.records.control import read_marker
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
        self.has_gaps = self.has_gaps or is_leap
        without_leap = self.next_offset + head.last_offset_delta + 1
        self.doubtful_ends = range(self.next_offset + 1, min(without_leap, head.base_offset) + 1 if is_leap else 0)
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


class OffsetIndexWalk:
    suffix = names.OFFSET_INDEX

    def __init__(self, files: SegmentFiles) -> None:
        self.files = files
        self.entries: deque[tuple[int, int, int]] = deque()  # (slot, offset, position) not yet passed
        self.awaited: deque[tuple[int, int]] = deque()  # (slot, offset) whose batch is still to come

    def open(self) -> Iterator[str]:
        index = self.files.offset_index()
        has_faults = False
        for sentence in index.check_all(self.files.size_bytes):
            has_faults = True
            yield sentence
        if not has_faults:
            self.entries.extend((slot, *entry) for slot, entry in enumerate(index.entries()))

    def skip(self, position: int) -> None:
        """A batch that cannot be read is no place to compare an entry with."""
        while self.entries and self.entries[0][2] <= position:
            self.entries.popleft()

    def take(self, position: int, head: BatchHead, batch: memoryview) -> Iterator[str]:  # noqa: ARG002
        while self.entries and self.entries[0][2] < position:
            slot, offset, wrong_position = self.entries.popleft()
            yield f"entry {slot} (offset {offset}) points at position {wrong_position}, where no batch begins"
        if self.entries and self.entries[0][2] == position:
            slot, offset, _ = self.entries.popleft()
            if offset < head.base_offset:
                yield f"entry {slot} says offset {offset} for position {position}, where offset {head.base_offset} is"
            else:
                self.awaited.append((slot, offset))
        while self.awaited and self.awaited[0][1] <= head.last_offset:
            slot, offset = self.awaited.popleft()
            if offset != head.last_offset:
                yield f"entry {slot} has offset {offset}, with which no batch ends"

    def finish(self, next_offset: int) -> Iterator[str]:
        for slot, offset, position in self.entries:
            yield f"entry {slot} (offset {offset}) points at position {position}, where no batch begins"
        for slot, offset in self.awaited:
            yield f"entry {slot} has offset {offset}, but the log ends at {next_offset}"


class TimeIndexWalk:
    suffix = names.TIME_INDEX

    def __init__(self, files: SegmentFiles) -> None:
        self.files = files
        self.entries: deque[tuple[int, int, int]] = deque()  # (slot, timestamp, offset) not yet passed
        self.last_timestamp: int | None = None  # of the last entry, once the index is known to be sound
        self.max_timestamp = NO_TIMESTAMP

    def open(self) -> Iterator[str]:
        index = self.files.time_index()
        has_faults = False
        for sentence in index.check_all():
            has_faults = True
            yield sentence
        if not has_faults:
            self.entries.extend((slot, *entry) for slot, entry in enumerate(index.entries()))
            self.last_timestamp = index.last_entry[0]

    def take(self, position: int, head: BatchHead, batch: memoryview) -> Iterator[str]:  # noqa: ARG002
        self.max_timestamp = max(self.max_timestamp, head.max_timestamp)
        while self.entries and self.entries[0][2] <= head.last_offset:
            slot, timestamp, offset = self.entries.popleft()
            if offset < head.base_offset:
                yield f"entry {slot} has offset {offset}, which is in no batch"
            elif timestamp != self.max_timestamp:
                yield (
                    f"entry {slot} has timestamp {timestamp} for offset {offset},"
                    f" up to which the greatest is {self.max_timestamp}"
                )

    def finish(self, next_offset: int) -> Iterator[str]:
        for slot, _, offset in self.entries:
            yield f"entry {slot} has offset {offset}, but the log ends at {next_offset}"
        is_closed = not self.files.is_active and self.files.exists(self.suffix)
        if is_closed and self.last_timestamp is not None and self.last_timestamp < self.max_timestamp:
            yield f"the last entry has timestamp {self.last_timestamp}, the segment's greatest is {self.max_timestamp}"


class AbortedIndexWalk:
    suffix = names.ABORTED_INDEX

    def __init__(self, files: SegmentFiles) -> None:
        self.files = files
        self.entries: dict[int, AbortedTransaction] = {}
        self.has_faults = False
        self.begun: set[int] = set()  # producers with a transaction that begins here

    def open(self) -> Iterator[str]:
        index = self.files.aborted_index()
        for sentence in index.check_all():
            self.has_faults = True
            yield sentence
        if not self.has_faults:
            self.entries = {aborted.last_offset: aborted for aborted in index.all()}

    def take(self, position: int, head: BatchHead, batch: memoryview) -> Iterator[str]:  # noqa: ARG002
        if not head.is_control:
            if head.is_transactional and head.record_count:  # or compaction has left nothing to show
                self.begun.add(head.producer_id)
            return
        has_begun = head.producer_id in self.begun
        self.begun.discard(head.producer_id)
        aborted = self.entries.get(head.last_offset)
        is_entry_due = has_begun and not self.has_faults
        if aborted is None and not is_entry_due:
            return
        try:
            marker = read_marker(batch)
        except CorruptData as error:
            yield f"the marker at offset {head.last_offset} cannot be read: {error}"
            return
        if marker is None or marker.is_commit:
            return
        if aborted is not None and aborted.producer_id == head.producer_id:
            del self.entries[head.last_offset]
        elif is_entry_due:
            yield (
                f"the transaction of producer {head.producer_id} that was aborted at offset {head.last_offset} is not"
                " in the index: readers of committed records are shown it"
            )

    def finish(self, next_offset: int) -> Iterator[str]:  # noqa: ARG002
        for aborted in self.entries.values():
            yield (
                f"the transaction of producer {aborted.producer_id} from offset {aborted.first_offset} has no abort"
                f" marker at offset {aborted.last_offset}"
            )
