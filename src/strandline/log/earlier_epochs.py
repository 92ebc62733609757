"""Leader epochs of records that were deleted and are there again.

When a log start moves up, the epochs below it are forgotten, durably; the log start itself is in a checkpoint that is
written later. Whoever dies in between begins where the log began before, with records whose epochs are forgotten. As a
leader it would tell a follower that has others in their place that those are right (KIP-101). Their batches still say
which epochs they are of.
"""

from __future__ import annotations

from strandline.log.leader_epochs import LeaderEpoch, LeaderEpochs
from strandline.log.segments import Segments
from strandline.model.failures import CorruptData
from strandline.records.batch import MAGIC_V2


def with_earlier_epochs(epochs: LeaderEpochs, segments: Segments, log_start_offset: int) -> LeaderEpochs:
    """The same, where nothing is missing or nothing can be told."""
    known = epochs.entries()
    if not known or known[0].start_offset <= log_start_offset:
        return epochs
    try:
        found = _epochs_in(segments, log_start_offset, known[0].start_offset)
    except CorruptData:
        return epochs
    earlier = [entry for entry in found if entry.epoch < known[0].epoch]
    if not found or found[-1].epoch > known[0].epoch:
        return epochs
    if found[-1].epoch == known[0].epoch:
        return LeaderEpochs.from_entries([*earlier, found[-1], *known[1:]])
    return LeaderEpochs.from_entries([*earlier, *known])


def _epochs_in(segments: Segments, start_offset: int, end_offset: int) -> list[LeaderEpoch]:
    """None, if any batch there is of the time before epochs."""
    found: list[LeaderEpoch] = []
    for segment in segments.from_offset(start_offset):
        if segment.base_offset >= end_offset:
            break
        for _, head in segment.heads():
            if head.base_offset >= end_offset:
                break
            if head.last_offset < start_offset:
                continue
            if head.magic < MAGIC_V2 or head.leader_epoch < 0:
                return []
            if not found or head.leader_epoch > found[-1].epoch:
                found.append(LeaderEpoch(head.leader_epoch, max(head.base_offset, start_offset)))
    return found
