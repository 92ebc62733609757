"""Whether what an index says is so: compared with the batches it speaks of, before it is believed.

The offset index needs no such function, since each look-up ends at a batch whose offsets tell (`scan.find_batch`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from strandline.model.failures import CorruptData
from strandline.records.batch import BatchHead

if TYPE_CHECKING:
    from strandline.log.offset_index import OffsetIndex
    from strandline.log.segment import Segment
    from strandline.log.time_index import TimeIndex


def are_indexes_sane(offsets: OffsetIndex, times: TimeIndex, log_bytes: int) -> bool:
    """As far as a look at a few of their entries can tell."""
    try:
        offsets.sanity_check(log_bytes)
        times.sanity_check()
    except CorruptData:
        return False
    return True


def are_batches_whole(segment: Segment) -> bool:
    """Whether each begins where the one before it ends, up to the end of the segment: a scan over all heads."""
    end = 0
    try:
        for position, head in segment.heads():
            end = position + head.size_bytes
    except CorruptData:
        return False
    return end == segment.size_bytes


def is_time_entry_true(segment: Segment, entry: tuple[int, int]) -> bool:
    """A batch with that timestamp holds that offset."""
    timestamp, offset = entry
    if timestamp < 0:
        return True
    head = _batch_holding(segment, offset)
    return head is not None and head.base_offset <= offset and head.max_timestamp == timestamp


def is_last_time_entry_true(segment: Segment) -> bool:
    """It is the largest timestamp, as far as the batch it names and those behind the last index entry can tell."""
    entry = segment.time_index.last_entry
    _, position = segment.offset_index.lookup(segment.offset_index.last_offset)
    try:
        later = any(head.max_timestamp > entry[0] for _, head in segment.heads(position))
        return not later and is_time_entry_true(segment, entry)
    except CorruptData:
        return False


def check_aborted_index(segment: Segment) -> None:
    """`CorruptData` where it names a transaction that did not end in this segment. It is looked at once."""
    if segment.aborted.is_checked:
        return
    segment.aborted.sanity_check()
    for aborted in segment.aborted.all():
        try:
            head = _batch_holding(segment, aborted.last_offset)
        except CorruptData:
            continue  # its marker has rotted, and no rebuilding would find it: the index is all that is left of it
        if head is None or (head.base_offset, head.producer_id) != (aborted.last_offset, aborted.producer_id):
            raise CorruptData(f"{segment.aborted.path}: no marker of producer {aborted.producer_id} is where it says.")
    segment.aborted.is_checked = True


def _batch_holding(segment: Segment, offset: int) -> BatchHead | None:
    found = segment.position_of(offset)
    if found is None:
        return None
    _, head = next(segment.heads(found[0]), (0, None))
    return head
