"""What can be verified in the indexes of a segment, while its batches go by (SPEC L11).

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
from collections.abc import Iterator

from strandline.log import names
from strandline.log.aborted_index import AbortedTransaction
from strandline.log.inspection import SegmentFiles
from strandline.model.failures import CorruptData
from strandline.records.batch import NO_TIMESTAMP, BatchHead
from strandline.records.control import read_marker


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
