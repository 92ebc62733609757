"""What opening a log would cut, mend or replace, found without opening it (SPEC L7).

Whoever opens a log only to work on it, as a cleaning from the command line does, must not become its recovery by the
way: recovery belongs to a broker, which tells what it lost and fetches it again from others. Derived files (indexes,
snapshots, the epoch checkpoint) are made anew without loss and do not matter here. What does:

- any fault in a `.log` file, a torn tail included, wherever the recovery point lies
- a finished or unfinished replacement, `.swap` or `.cleaned`, which the next start resolves
- after an unclean stop, a hole between segments, which `recovery` takes for a loss unless the log is compacted, and a
  leap in offsets that the recovery point contradicts
- a recovery point or a log start beyond the end: opening begins such a log anew
"""

from __future__ import annotations

from collections.abc import Iterator

from strandline.log import checkpoints, names
from strandline.log.inspection import SegmentFiles, list_segments
from strandline.log.inspection_check import FolderCheck
from strandline.log.inspection_fault import Fault, readable
from strandline.log.inspection_segment import SegmentCheck
from strandline.model.lazy_dataclass import dataclass


@dataclass(slots=True)
class OpeningCheck(FolderCheck):
    recovery_point: int
    log_start_offset: int
    is_clean: bool  # the last stop was a clean one
    is_compacted: bool  # by its cleanup.policy

    def faults(self) -> Iterator[Fault]:
        return readable(self.directory, self._faults())

    def _faults(self) -> Iterator[Fault]:
        if self.is_at_rest:
            for name in self.filesystem.names(self.directory):
                if name.endswith((names.CLEANED, names.SWAP)):
                    yield Fault(self._path(name), None, "left over from unfinished work; the next start resolves it")
        end_offset, has_gaps = None, self.is_compacted
        log_end_offset = 0
        for segment in list_segments(self.filesystem, self.directory):
            if end_offset is not None and not has_gaps and end_offset < segment.base_offset:
                yield self._hole(segment, end_offset)
            check = SegmentCheck(segment, self.tally, self.advance)
            yield from self._segment_faults(check, has_gaps=has_gaps)
            if not self.is_clean and self._is_unflushed(segment):
                end_offset, has_gaps = check.next_offset, has_gaps or check.has_gaps
            if not check.is_read:
                return
            log_end_offset = check.next_offset
        if self.is_at_rest:
            yield from self._promise_faults(log_end_offset)

    def _is_unflushed(self, segment: SegmentFiles) -> bool:
        """Whether recovery reads it: the segment that holds the recovery point, and all after it."""
        return segment.next_base_offset is None or segment.next_base_offset > self.recovery_point

    def _segment_faults(self, check: SegmentCheck, *, has_gaps: bool) -> Iterator[Fault]:
        path = check.files.path(names.LOG)
        for fault in check.faults():
            if fault.path == path:
                yield fault
        if not self.is_clean and not has_gaps and self.recovery_point in check.doubtful_ends:
            yield Fault(
                path, None, f"its last batch leaps over offset {self.recovery_point}, up to which it was flushed"
            )

    def _hole(self, segment: SegmentFiles, end_offset: int) -> Fault:
        sentence = f"begins at offset {segment.base_offset}, but the one before it ends at {end_offset}"
        return Fault(segment.path(names.LOG), None, f"{sentence}; if the topic is compacted, say so with its policy")

    def _promise_faults(self, log_end_offset: int) -> Iterator[Fault]:
        """With a running broker, the checkpoints may be newer than what was read of the log."""
        for name, offset in (
            (checkpoints.RECOVERY_POINT_CHECKPOINT, self.recovery_point),
            (checkpoints.LOG_START_CHECKPOINT, self.log_start_offset),
        ):
            if offset > log_end_offset:
                yield Fault(self.directory, None, f"{name} says {offset}, but the log ends at {log_end_offset}")
