"""What a snapshot of producers does not have: their batches before the last.

A producer may have five batches under way. If the broker is killed before it has answered, all of them are sent again,
and each must be found to be there, or the producer is told that its sequences are out of order, which it takes for a
lost record. Kafka's snapshots have the last batch of each producer alone. So after a crash the end of the log before
the snapshot is looked at too, as far as that is cheap.
"""

from __future__ import annotations

from strandline.log.producer_entry import BATCHES_REMEMBERED, SEQUENCE_MAX, CachedBatch, ProducerEntry
from strandline.log.producer_state import ProducerState
from strandline.log.segment import Segment
from strandline.log.segments import Segments
from strandline.model.failures import CorruptData

TAIL_BYTES = 2**20


def remember_earlier_batches(segments: Segments, producers: ProducerState, end_offset: int) -> None:
    """`producers` are as they were at `end_offset`, by a snapshot."""
    if producers.is_empty or end_offset <= segments.first.base_offset:
        return
    found = _batches_at_the_end_of(segments.holding(end_offset - 1), end_offset)
    for entry in producers.entries():
        _put_before(entry, found.get((entry.producer_id, entry.producer_epoch), []))


def _batches_at_the_end_of(segment: Segment, end_offset: int) -> dict[tuple[int, int], list[CachedBatch]]:
    found: dict[tuple[int, int], list[CachedBatch]] = {}
    try:
        for _, head in segment.heads(_tail_position(segment)):
            if head.base_offset >= end_offset:
                break
            if head.producer_id >= 0 and not head.is_control:
                batch = CachedBatch(
                    head.base_sequence, head.last_sequence, head.base_offset, head.last_offset, head.max_timestamp
                )
                found.setdefault((head.producer_id, head.producer_epoch), []).append(batch)
    except CorruptData:
        pass  # rot in what was synced: what cannot be read cannot be known
    return found


def _tail_position(segment: Segment) -> int:
    """Of a batch, not much more than `TAIL_BYTES` from the end."""
    index = segment.offset_index
    for slot in reversed(range(index.entry_count)):
        position = index.entry(slot)[1]
        if position <= segment.size_bytes - TAIL_BYTES:
            return position
    return 0


def _put_before(entry: ProducerEntry, found: list[CachedBatch]) -> None:
    """Those that lead up to the oldest it knows, without a gap."""
    while entry.batches and len(entry.batches) < BATCHES_REMEMBERED:
        oldest = entry.batches[0]
        earlier = next((batch for batch in reversed(found) if batch.last_offset < oldest.first_offset), None)
        if earlier is None or (earlier.last_sequence + 1) & SEQUENCE_MAX != oldest.first_sequence:
            return
        entry.batches.insert(0, earlier)
