"""One segment read through after a crash: kept up to the first batch that is not sound, all else made anew (SPEC L7).

Sound means: whole, right CRC, offsets above those before it and below the next segment's name. The base offset is not
covered by the CRC, so a leap in offsets is believed only if the batch after it does not contradict it; at the end of a
segment, if the recovery point does not, unless the log is one that has leaps by nature.

Below the recovery point a bad batch is rot and not a torn write. It is mended as far as can be (`rot`) and kept.
"""

from __future__ import annotations

from collections.abc import Callable

from strandline.log import replay
from strandline.log.producer_state import ProducerState
from strandline.log.rot import mend_batch
from strandline.log.segment import RELATIVE_OFFSET_MAX, Segment
from strandline.model.failures import CorruptData
from strandline.records.batch import LENGTH_END, OFFSET_AND_LENGTH, BatchHead
from strandline.records.heads import head_of, verified_head_of


class SegmentRecovery:
    def __init__(
        self,
        segment: Segment,
        producers: ProducerState,
        *,
        recovery_point: int,
        end_offset_max: int | None,
        may_leap: bool,
        took: Callable[[BatchHead], None],
        findings: list[str],
    ) -> None:
        """`end_offset_max` is the next segment's base offset; `may_leap` says that the log is, or was, compacted;
        `took` hears of every sound batch."""
        self.segment = segment
        self.producers = producers
        self.recovery_point = recovery_point
        self.offsets = range(segment.base_offset, segment.base_offset + RELATIVE_OFFSET_MAX + 1)
        if end_offset_max is not None:
            self.offsets = range(segment.base_offset, min(self.offsets.stop, end_offset_max))
        self.may_leap = may_leap
        self.took = took
        self.findings = findings
        self.next_offset = segment.base_offset
        self.has_gaps = False
        self.has_rot = False  # a batch was kept that told nothing of its producer
        self.fault: str | None = None
        self.valid_bytes = 0

    def run(self) -> None:
        """Rebuild what is derived from the segment. The file is not cut here: `cut` does it, if `fault` says so."""
        segment = self.segment
        segment.clear_indexes()
        segment.aborted.clear()
        fault = self._walk()
        while fault is not None and self._keep_rotten():
            self.findings.append(f"{segment}: {fault}; kept, for it was flushed")
            fault = self._walk()
        if fault is not None:
            cut_bytes = segment.size_bytes - self.valid_bytes
            self.fault = f"{segment}: {fault}; cut {cut_bytes} bytes at {self.valid_bytes}"

    def cut(self) -> None:
        if self.valid_bytes < self.segment.size_bytes:
            self.segment.file.truncate(self.valid_bytes)
            self.segment.size_bytes = self.valid_bytes
        self.segment.finish()

    def _walk(self) -> str | None:
        """Take batches up to the end, or to one that is not sound: then what is wrong with it."""
        try:
            for position, batch in self.segment.batches(self.valid_bytes):
                self._take(position, batch)
                self.valid_bytes = position + len(batch)
        except CorruptData as error:
            return str(error)
        return None if self.valid_bytes == self.segment.size_bytes else "a batch is cut short"

    def _take(self, position: int, batch: memoryview) -> None:
        head = verified_head_of(batch)
        if head.base_offset < self.next_offset or head.last_offset not in self.offsets:
            raise CorruptData(f"offset {head.base_offset} at position {position} is out of order")
        if head.base_offset > self.next_offset:
            if self._is_contradicted(head, position + len(batch)):
                raise CorruptData(f"offset {head.base_offset} at position {position} is out of order")
            self.has_gaps = True
        completed = replay.replay_batch(self.producers, head, batch)
        self.segment.note_batches(position, [(head.size_bytes, head.last_offset, head.max_timestamp)])
        self.took(head)
        if completed is not None:
            replay.note_completed(self.segment, self.producers, completed)
        self.next_offset = head.next_offset

    def _is_contradicted(self, head: BatchHead, following: int) -> bool:
        """Whether a leap in offsets is none: the next batch, or the end of what was synced, continues without it."""
        start = self.segment.file.read(following, LENGTH_END)
        if len(start) == LENGTH_END:
            following_offset: int = OFFSET_AND_LENGTH.unpack(start)[0]
            return self.next_offset <= following_offset <= head.base_offset
        if self.may_leap or self.has_gaps:
            return False
        without_leap = range(self.next_offset + 1, self.next_offset + head.last_offset_delta + 2)
        return self.recovery_point in without_leap and head.base_offset >= self.recovery_point

    def _keep_rotten(self) -> bool:
        """Whether the bad batch at `valid_bytes` was synced and can stay. If its records are bad it is passed over."""
        if self.next_offset >= self.recovery_point:
            return False
        segment, position = self.segment, self.valid_bytes
        offsets = range(self.next_offset, self.offsets.stop)
        end = mend_batch(segment.file, position, segment.size_bytes, offsets, self.recovery_point)
        if end is None:
            return False
        batch = segment.file.read(position, end - position)
        try:
            self._take(position, memoryview(batch))
        except CorruptData:
            self.has_rot = True
            segment.bytes_since_index_entry += end - position
            self.next_offset = max(self.next_offset + 1, _next_offset_of(batch))
        self.valid_bytes = end
        return True


def _next_offset_of(rotten: bytes) -> int:
    """As its head says, if it can be read."""
    try:
        return head_of(rotten).next_offset
    except CorruptData:
        return 0
